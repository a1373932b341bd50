"""The radius that is read off the public rows: an order statistic of their norms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np

from suffice.core.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from suffice.core.bounds import Norm
    from suffice.statistics.encoder import Encoder

__all__ = ["PublicNorms", "Sample"]

SAMPLE = 1_000_000

Piece: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.uint64]]"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Norms and hashes, in pieces, of the rows that the threshold keeps; how many rows; the largest norm.

    `halvings` says how often the threshold was halved: what is kept has a hash below 2^(64 - halvings).
    """

    count: int
    largest: int
    pieces: tuple[Piece, ...] = ()
    halvings: int = 0

    def norms(self) -> NDArray[np.int64]:
        """The norms that were kept."""
        return np.concatenate([np.zeros(0, np.int64), *(norms for norms, _ in self.pieces)])

    def thinned(self, halvings: int) -> tuple[Piece, ...]:
        """Only the rows whose hash lies under the threshold; one piece of them, where it was raised."""
        if halvings == self.halvings:
            return self.pieces
        limit = np.uint64(2 ** (64 - halvings))
        below = [np.flatnonzero(hashes < limit) for _, hashes in self.pieces]
        kept = [(n[at], hashes[at]) for at, (n, hashes) in zip(below, self.pieces, strict=True)]
        if not kept:
            return ()
        norms, hashes = zip(*kept, strict=True)
        return ((np.concatenate(norms), np.concatenate(hashes)),)


@final
@dataclass(frozen=True, slots=True)
class PublicNorms:
    """Row norms over public columns; its quantile is a function of the multiset of rows alone.

    Up to a million rows it is exact. Beyond, it is taken over the rows whose public hash falls
    under a threshold that depends on nothing but their number.
    """

    encoder: Encoder
    norm: Norm

    def reads(self) -> tuple[str, ...]:
        """The feature columns."""
        return self.encoder.recipe.reads()

    def init(self) -> Sample:
        """No rows."""
        return Sample(0, 0)

    def update(self, state: Sample, batch: pa.RecordBatch) -> Sample:
        """These rows too."""
        norms, hashes = self.encoder.norms(batch, self.norm)
        return self.merge(state, Sample(len(norms), int(norms.max(initial=0)), ((norms, hashes),)))

    def merge(self, one: Sample, two: Sample) -> Sample:
        """The rows of both."""
        count = one.count + two.count
        halvings = math.ceil(math.log2(count / SAMPLE)) if count > SAMPLE else 0
        pieces = one.thinned(halvings) + two.thinned(halvings)
        return Sample(count, max(one.largest, two.largest), pieces, halvings)

    def quantile(self, state: Sample, level: float) -> int:
        """The ⌈level·n⌉-th smallest norm, at least one grid unit."""
        if state.count == 0:
            raise InputError("The source has no rows, so there is no radius to read off them.")
        if level >= 1:
            return max(1, state.largest)
        kept = state.norms()
        place = max(1, math.ceil(level * len(kept)))
        return max(1, int(np.partition(kept, place - 1)[place - 1]))
