"""The radius that is read off the public rows: an order statistic of their norms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from suffice.core.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from suffice.core.bounds import Norm
    from suffice.statistics.encoder import Encoder

__all__ = ["PublicNorms", "Sample"]

SAMPLE = 1_000_000


@final
@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Norms and hashes of the rows that the threshold keeps, the number of all rows, and the largest norm."""

    count: int
    largest: int
    norms: NDArray[np.int64]
    hashes: NDArray[np.uint64]

    def thinned(self) -> Sample:
        """Only the rows whose hash lies under the threshold for this many rows."""
        halvings = max(0, math.ceil(math.log2(self.count / SAMPLE))) if self.count > SAMPLE else 0
        if not halvings:
            return self
        kept = self.hashes < np.uint64(2 ** (64 - halvings))
        return Sample(self.count, self.largest, self.norms[kept], self.hashes[kept])


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
        return Sample(0, 0, np.zeros(0, np.int64), np.zeros(0, np.uint64))

    def update(self, state: Sample, batch: pa.RecordBatch) -> Sample:
        """These rows too."""
        norms, hashes = self.encoder.norms(batch, self.norm)
        return self.merge(state, Sample(len(norms), int(norms.max(initial=0)), norms, hashes))

    def merge(self, one: Sample, two: Sample) -> Sample:
        """The rows of both."""
        return Sample(
            one.count + two.count,
            max(one.largest, two.largest),
            np.concatenate([one.norms, two.norms]),
            np.concatenate([one.hashes, two.hashes]),
        ).thinned()

    def quantile(self, state: Sample, level: float) -> int:
        """The ⌈level·n⌉-th smallest norm, at least one grid unit."""
        if state.count == 0:
            raise InputError("The source has no rows, so there is no radius to read off them.")
        if level >= 1:
            return max(1, state.largest)
        kept = state.norms
        place = max(1, math.ceil(level * len(kept)))
        return max(1, int(np.partition(kept, place - 1)[place - 1]))
