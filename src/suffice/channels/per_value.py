"""Per-value response: every coordinate is rounded to a bit, and every bit is turned with one probability."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from suffice.channels.bound import exp_below, log_above, positive
from suffice.channels.dyadic import WHOLE, events
from suffice.channels.finite import ASSUMED
from suffice.channels.interval import Interval, whole
from suffice.channels.randomized_response import Calibration
from suffice.channels.unary import all_bits, bit_rows
from suffice.core.errors import BoundsError, InputError
from suffice.core.guarantees import Guarantee, PureDP
from suffice.core.units import Answer

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PerValue", "flip_count"]


@final
@dataclass(frozen=True, slots=True)
class PerValue:
    """A vector with coordinates in [lower, upper] as noisy bits.

    Each coordinate is rounded to a bit without bias, and each bit is kept with odds e^(epsilon/H), where H
    is the largest number of bits in which two rounded truths can differ: the dimension, or less
    when at most `ones` coordinates lie above `lower` (2·ones), or always exactly that many
    (`exactly=True`, for vectors of zeros and ones). `calibration="paper"` takes the odds
    e^(epsilon/(2·ones)), which spends less than it says when the vectors are dense.
    """

    dimension: int
    epsilon: float
    lower: float = 0.0
    upper: float = 1.0
    ones: int | None = None
    exactly: bool = False
    calibration: Calibration = "tight"

    def __post_init__(self) -> None:
        """Refuse what is no interval, no epsilon, or no count of ones."""
        self._interval()
        positive("epsilon", self.epsilon)
        if self.ones is not None and whole("ones", self.ones) > self.dimension:
            raise InputError(f"ones= is at most the dimension {self.dimension}, and got {self.ones}.")
        if self.calibration not in {"tight", "paper"}:
            raise InputError(f"calibration= is 'tight' or 'paper', and got {self.calibration!r}.")
        if self.distance() == 0:
            raise InputError(f"All vectors of {self.dimension} ones are the same: there is nothing to tell.")
        self._flip()

    def distance(self) -> int:
        """H, the largest number of bits in which two rounded truths can differ."""
        ones = self.dimension if self.ones is None else self.ones
        if self.exactly and self.ones is not None:
            return 2 * min(ones, self.dimension - ones)
        return min(2 * ones, self.dimension)

    def chances(self) -> tuple[int, int]:
        """Counts over 2^53 of a noisy bit being on: where the rounded truth is on, and where it is off."""
        return WHOLE - self._flip(), self._flip()

    @property
    def keep(self) -> float:
        """The probability that a bit is kept."""
        return (WHOLE - self._flip()) / WHOLE

    def guarantee(self) -> Guarantee:
        """H times the log-odds of keeping a bit, rounded up."""
        flip = self._flip()
        epsilon = log_above(Fraction(WHOLE - flip, flip), self.distance())
        return Guarantee(PureDP(epsilon), Answer(), assumes=(*ASSUMED, *self._assumed()))

    def randomise(self, truth: Any) -> NDArray[np.bool_]:
        """A row of fresh noisy bits for each truth."""
        rows = self._rows(truth)
        flips = events(np.full(rows.shape, self._flip(), dtype=np.uint64))
        return np.asarray(self._interval().rounded(rows) ^ flips)

    def log_density(self, answer: Any, truth: Any) -> NDArray[np.float64]:
        """The logarithm of the probability of each row of bits given its truth."""
        bits, up = bit_rows(answer, self.dimension), self._interval().chances(self._rows(truth))
        on = up * self.keep + (1 - up) * (1 - self.keep)
        return np.asarray(np.where(bits, np.log(on), np.log1p(-on)).sum(axis=-1))

    def unbias(self, answer: Any) -> NDArray[np.float64]:
        """A row per answer, whose mean given the truth is the truth."""
        bits = bit_rows(answer, self.dimension)
        return np.asarray(
            (bits - 1 + self.keep) / (2 * self.keep - 1) * (self.upper - self.lower) + self.lower
        )

    def covariance(self, truth: Any) -> NDArray[np.float64]:
        """The covariance of one unbiased answer given this truth: w²·v·I + diag((x - lower)(upper - x))."""
        row, width = self._rows(truth), self.upper - self.lower
        noise = self.keep * (1 - self.keep) / (2 * self.keep - 1) ** 2
        return np.diag(width**2 * noise + (row - self.lower) * (self.upper - row))

    def variance(self) -> float:
        """The total variance of one unbiased answer at the worst truth."""
        noise = self.keep * (1 - self.keep) / (2 * self.keep - 1) ** 2
        free = self.dimension if self.ones is None else self.ones
        rounding = 0.0 if self.exactly else free / 4
        return (self.upper - self.lower) ** 2 * (self.dimension * noise + rounding)

    def answers(self) -> NDArray[np.bool_]:
        """Every possible row of bits, for sixteen coordinates or fewer."""
        return all_bits(self.dimension)

    def _interval(self) -> Interval:
        return Interval(self.dimension, self.lower, self.upper)

    def _flip(self) -> int:
        share = 2 * (self.ones or self.dimension) if self.calibration == "paper" else self.distance()
        return flip_count(Fraction(self.epsilon) / share)

    def _rows(self, truth: Any) -> NDArray[np.float64]:
        rows = self._interval().rows(truth)
        above = (rows > self.lower).sum(axis=-1)
        if self.ones is not None and (above > self.ones).any():
            raise BoundsError(
                f"At most {self.ones} coordinates lie above {self.lower:g}, and here {int(above.max())} do. "
                "State a larger ones=, which takes more noise."
            )
        if self.ones is not None and self.exactly:
            binary = ((rows == self.lower) | (rows == self.upper)).all()
            if not binary or (above != self.ones).any():
                raise BoundsError(
                    f"exactly=True promises {self.ones} coordinates at {self.upper:g}, no more or less."
                )
        return rows

    def _assumed(self) -> tuple[str, ...]:
        if self.ones is None:
            return ()
        most = "exactly" if self.exactly else "at most"
        return (f"every truth has {most} {self.ones} coordinates above {self.lower:g}",)


def flip_count(log_odds: Fraction) -> int:
    """The least count over 2^53 of turning a bit that keeps these log-odds."""
    flip = -int(-WHOLE / (1 + exp_below(log_odds)) // 1)
    if 2 * flip >= WHOLE:
        raise InputError("So small an epsilon leaves nothing of the truth. Take more.")
    return flip
