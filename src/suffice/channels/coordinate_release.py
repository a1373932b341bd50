"""Coordinate release: one coordinate, or one block of them, is drawn, rounded to bits, and made noisy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from suffice.channels.bound import log_above, positive, share
from suffice.channels.dyadic import WHOLE, counts, events
from suffice.channels.finite import ASSUMED
from suffice.channels.interval import Interval, whole
from suffice.channels.per_value import flip_count
from suffice.channels.randomized_response import Calibration
from suffice.channels.table import Table
from suffice.core.errors import InputError
from suffice.core.guarantees import Guarantee, PureDP
from suffice.core.units import Answer

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CoordinateRelease"]


@final
@dataclass(frozen=True, slots=True)
class CoordinateRelease:
    """A vector with coordinates in [lower, upper]: one block of `block` coordinates as noisy bits.

    The block is drawn by `probabilities`, uniform without them, whatever the truth is. Its coordinates are
    rounded to bits without bias, and each bit is kept with odds e^(epsilon/block). An answer is the number of
    the block and its bits, -1 for bits beyond the last coordinate. `calibration="paper"` takes
    the odds e^(epsilon/(2·block)), which spends half of epsilon.
    """

    dimension: int
    epsilon: float
    lower: float = 0.0
    upper: float = 1.0
    probabilities: tuple[float, ...] | None = None
    block: int = 1
    calibration: Calibration = "tight"

    def __post_init__(self) -> None:
        """Refuse what is no interval, no epsilon, or no law over the blocks."""
        self._interval()
        positive("epsilon", self.epsilon)
        if whole("block", self.block) > self.dimension:
            raise InputError(f"block= is at most the dimension {self.dimension}, and got {self.block}.")
        if self.calibration not in {"tight", "paper"}:
            raise InputError(f"calibration= is 'tight' or 'paper', and got {self.calibration!r}.")
        if self.probabilities is not None:
            object.__setattr__(self, "probabilities", tuple(self.probabilities))
        self._law()
        self._flip()

    @property
    def blocks(self) -> int:
        """How many blocks there are; the last may be shorter."""
        return -(-self.dimension // self.block)

    @property
    def keep(self) -> float:
        """The probability that a bit is kept."""
        return (WHOLE - self._flip()) / WHOLE

    def chances(self) -> NDArray[np.float64]:
        """The probability that each coordinate is among the released ones."""
        return np.repeat(self._law().counts[0] / WHOLE, self.block)[: self.dimension]

    def guarantee(self) -> Guarantee:
        """The log-odds of keeping a bit, times the bits that are released, rounded up."""
        flip = self._flip()
        epsilon = log_above(Fraction(WHOLE - flip, flip), self.block)
        return Guarantee(PureDP(epsilon), Answer(), assumes=ASSUMED)

    def randomise(self, truth: Any) -> NDArray[np.int64]:
        """A fresh block number and its noisy bits for each truth."""
        rows = self._interval().rows(truth)
        flat = rows.reshape(-1, self.dimension)
        drawn = self._law().draw(np.zeros(len(flat), dtype=np.intp))
        places = drawn[:, None] * self.block + np.arange(self.block)
        there = places < self.dimension
        values = np.take_along_axis(flat, np.minimum(places, self.dimension - 1), axis=1)
        flips = events(np.full(places.shape, self._flip(), dtype=np.uint64))
        bits = (self._interval().rounded(values) ^ flips).astype(np.int64)
        answers = np.column_stack([drawn, np.where(there, bits, -1)])
        return answers.reshape(*rows.shape[:-1], self.block + 1)

    def log_density(self, answer: Any, truth: Any) -> NDArray[np.float64]:
        """The logarithm of the probability of each answer given its truth."""
        drawn, places, there, bits = self._parts(answer)
        up = self._interval().chances(self._interval().rows(truth))
        up = np.broadcast_to(up, (*drawn.shape, self.dimension))
        picked = np.take_along_axis(up, places, axis=-1)
        on = picked * self.keep + (1 - picked) * (1 - self.keep)
        terms = np.where(there, np.where(bits, np.log(on), np.log1p(-on)), 0.0).sum(axis=-1)
        return np.asarray(np.log(self._law().counts[0][drawn] / WHOLE) + terms)

    def unbias(self, answer: Any) -> NDArray[np.float64]:
        """A row per answer, whose mean given the truth is the truth."""
        drawn, places, there, bits = self._parts(answer)
        told = (bits - 1 + self.keep) / (2 * self.keep - 1) * self._interval().width + self.lower
        estimates = np.zeros((*drawn.shape, self.dimension + 1))
        at = np.where(there, places, self.dimension)
        chances = (self._law().counts[0] / WHOLE)[drawn][..., None]
        np.put_along_axis(estimates, at, told / chances, axis=-1)
        return estimates[..., :-1]

    def covariance(self, truth: Any) -> NDArray[np.float64]:
        """The covariance of one unbiased answer given this truth.

        With zero as `lower`, single coordinates and a uniform draw: c²·d·v·I + c·d·diag(x) - x xᵀ.
        """
        row = self._interval().rows(truth)
        width, up = self._interval().width, (row - self.lower) / self._interval().width
        noise = self.keep * (1 - self.keep) / (2 * self.keep - 1) ** 2
        spread = width**2 * (noise + up * (1 - up))
        together = np.arange(self.dimension)[:, None] // self.block == np.arange(self.dimension) // self.block
        second = np.outer(row, row) * together + np.diag(spread)
        return np.asarray(second / self.chances() - np.outer(row, row))

    def variance(self) -> float:
        """The total variance of one unbiased answer at the worst truth."""
        # per coordinate E[value²]/p - x² is a parabola in x; its largest value is at an end or its top
        low, high, width = self.lower, self.upper, self._interval().width
        noise = width**2 * self.keep * (1 - self.keep) / (2 * self.keep - 1) ** 2

        def at(x: Any) -> NDArray[np.float64]:
            return np.asarray((noise + (x - low) * (high - x) + x * x) / self.chances() - x * x)

        top = np.clip((low + high) / (2 * self.chances()), low, high)
        return float(np.maximum(np.maximum(at(low), at(high)), at(top)).sum())

    def answers(self) -> NDArray[np.int64]:
        """Every possible answer, for blocks of sixteen or fewer."""
        if self.block > 16:
            raise InputError(f"2^{self.block} answers are too many to list.")
        bits = np.arange(1 << self.block)[:, None] >> np.arange(self.block) & 1
        rows = [np.column_stack([np.full(len(bits), at), bits]) for at in range(self.blocks)]
        short = self.dimension - (self.blocks - 1) * self.block
        rows[-1] = rows[-1][: 1 << short]
        rows[-1][:, 1 + short :] = -1
        return np.concatenate(rows)

    def _interval(self) -> Interval:
        return Interval(self.dimension, self.lower, self.upper)

    def _flip(self) -> int:
        halves = 2 if self.calibration == "paper" else 1
        return flip_count(Fraction(self.epsilon) / (halves * self.block))

    def _law(self) -> Table:
        """The law over the blocks, as a table of one row."""
        if self.probabilities is None:
            each, left = divmod(WHOLE, self.blocks)
            return Table(each + (np.arange(self.blocks) < left).astype(np.int64)[None, :])
        parts = [share("probabilities", part) for part in self.probabilities]
        if len(parts) != self.blocks or abs(sum(parts, start=Fraction(0)) - 1) > Fraction(1, 10**9):
            raise InputError(f"probabilities= are {self.blocks}, one per block, and add up to 1.")
        if min(parts) == 0:
            raise InputError(
                "A block of probability 0 is never released, so its mean could not be estimated."
            )
        return Table(np.array([counts(parts)], dtype=np.int64))

    def _parts(self, answer: Any) -> tuple[Any, Any, Any, Any]:
        """Block, places of its coordinates, which of them exist, and their bits."""
        rows = np.asarray(answer)
        if rows.ndim == 0 or rows.shape[-1] != self.block + 1 or rows.dtype.kind not in "iu":
            raise InputError(
                f"An answer is a block's number and {self.block} bits, and got shape {rows.shape}."
            )
        drawn, bits = rows[..., 0], rows[..., 1:]
        places = drawn[..., None] * self.block + np.arange(self.block)
        there = places < self.dimension
        fits = (drawn >= 0).all() and (drawn < self.blocks).all()
        if not fits or not np.where(there, (bits == 0) | (bits == 1), bits == -1).all():
            raise InputError(f"An answer names one of {self.blocks} blocks and its bits, and one does not.")
        return drawn, np.minimum(places, self.dimension - 1), there, bits == 1
