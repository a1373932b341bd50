"""A finite channel as it is sampled: whole-number probabilities of every answer given every truth."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Self, final

import numpy as np

from suffice.channels.bound import log_above
from suffice.channels.dyadic import BITS, WHOLE, counts, words
from suffice.core.errors import InputError
from suffice.core.guarantees import NotPrivate, PureDP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Table"]

_BLOCK = 1 << 18
_MOST_TRUTHS = 1 << (63 - BITS)  # truths whose thresholds fit one ordered list of 64-bit numbers
_NEAR = 1e-9
_LOSSY = 1e-9  # a singular value below this share of the largest cannot be told from rounding


@final
@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Counts over 2^53, a row per truth and a column per answer; every row adds up to 2^53."""

    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        """Refuse what is not a table of probabilities."""
        table = np.array(self.counts, dtype=np.int64)
        if table.ndim != 2 or not table.size or table.min() < 0 or (table.sum(axis=1) != WHOLE).any():
            raise InputError(f"A table of counts has rows that add up to 2^{BITS}.")
        table.flags.writeable = False
        object.__setattr__(self, "counts", table)

    @classmethod
    def of(cls, rows: Sequence[Sequence[Fraction]]) -> Self:
        """The table nearest to these probabilities."""
        return cls(np.array([counts(row) for row in rows], dtype=np.int64))

    def matrix(self) -> NDArray[np.float64]:
        """The probabilities, exactly: a row per truth and a column per answer."""
        return self.counts / WHOLE

    def promise(self) -> PureDP | NotPrivate:
        """The largest logarithm of a ratio between two truths, rounded up."""
        table = self.counts[:, self.counts.any(axis=0)]
        if not table.all():
            return NotPrivate("some answer is impossible under one truth and possible under another")
        most, least = table.max(axis=0), table.min(axis=0)
        ratios = most / least
        near = np.flatnonzero(ratios >= ratios.max() * (1 - _NEAR))
        widest = max(Fraction(int(most[at]), int(least[at])) for at in near)
        if widest == 1:
            return NotPrivate("every answer is as likely under one truth as under another: it says nothing")
        return PureDP(log_above(widest))

    def draw(self, truths: NDArray[np.intp]) -> NDArray[np.intp]:
        """A fresh answer's column for each truth's row."""
        drawn = np.empty(truths.size, dtype=np.intp)
        for at in range(0, truths.size, _BLOCK):
            drawn[at : at + _BLOCK] = self._draw(truths[at : at + _BLOCK])
        return drawn

    def unbias(self) -> NDArray[np.float64]:
        """A row per answer, whose mean given a truth is 1 at that truth and 0 elsewhere.

        Of all such rows these have the least variance when every truth is as likely.
        """
        law = self.matrix()
        mean = law.mean(axis=0)
        weights = np.divide(1.0, mean, out=np.zeros_like(mean), where=mean > 0)
        return np.asarray(np.linalg.solve((law * weights) @ law.T, law * weights).T)

    def condition(self) -> float:
        """The largest singular value over the least: how much of the truth's differences the noise eats."""
        values = np.linalg.svd(self.matrix(), compute_uv=False)
        rank_lost = values.size < self.counts.shape[0] or values[-1] <= _LOSSY * values[0]
        return float("inf") if rank_lost else float(values[0] / values[-1])

    def check_rank(self) -> None:
        """Refuse a table from whose answers the frequencies of the truths cannot be estimated."""
        if self.condition() == float("inf"):
            rows, columns = self.counts.shape
            raise InputError(
                f"The {rows} by {columns} matrix of this channel has linearly dependent rows, so some truths "
                "cannot be told apart however many answers there are. Change its probabilities."
            )

    def _draw(self, truths: NDArray[np.intp]) -> NDArray[np.intp]:
        fresh = words(truths.size)
        rows, columns = self.counts.shape
        if columns == 2:
            return np.asarray(fresh >= self.counts[truths, 0].astype(np.uint64), dtype=np.intp)
        if rows > _MOST_TRUTHS:
            edges = np.cumsum(self.counts, axis=1).astype(np.uint64)
            return np.asarray((fresh[:, None] >= edges[truths]).sum(axis=1))
        starts = np.arange(rows, dtype=np.uint64)[:, None] << np.uint64(BITS)
        ends = (np.cumsum(self.counts, axis=1).astype(np.uint64) + starts).ravel()
        places = np.searchsorted(ends, fresh + (truths.astype(np.uint64) << np.uint64(BITS)), side="right")
        return np.asarray(places - truths * columns, dtype=np.intp)
