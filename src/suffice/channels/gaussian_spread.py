"""Normal noise on every coordinate: concentrated or approximate privacy, and never a pure one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from suffice.channels.bound import above, positive
from suffice.channels.finite import ASSUMED
from suffice.channels.interval import Interval
from suffice.core.errors import InputError
from suffice.core.guarantees import ApproxDP, Guarantee, ZeroConcentratedDP
from suffice.core.randomness import octets
from suffice.core.units import Answer

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GaussianSpread", "gaussian_epsilon"]

_GRID = 2.0**-20  # in standard deviations: answers are rounded to it, so that low bits tell nothing
_UP = 1 + 1e-9


@final
@dataclass(frozen=True, slots=True)
class GaussianSpread:
    """A vector with coordinates in [lower, upper], plus normal noise of this standard deviation on each.

    Two truths are at most √dimension times the interval apart. The promise is concentrated; `also` gives an
    epsilon at `delta`. It is no pure promise: a normal tail tells any two truths apart.
    """

    dimension: int
    stddev: float
    lower: float = 0.0
    upper: float = 1.0
    delta: float = 1e-5

    def __post_init__(self) -> None:
        """Refuse what is no interval, no noise, or no delta."""
        self._interval()
        positive("stddev", self.stddev)
        if not 0 < self.delta < 1:
            raise InputError(f"delta= is a probability between 0 and 1, and got {self.delta!r}.")

    def coordinate(self) -> ApproxDP:
        """The promise for one coordinate at `delta`."""
        return ApproxDP(gaussian_epsilon((self.upper - self.lower) / self.stddev, self.delta), self.delta)

    def guarantee(self) -> Guarantee:
        """Rho = dimension (upper - lower)² / (2 stddev²), and epsilon at `delta`."""
        width = Fraction(self.upper) - Fraction(self.lower)
        rho = above(self.dimension * width**2 / (2 * Fraction(self.stddev) ** 2))
        epsilon = gaussian_epsilon(math.sqrt(self.dimension) * float(width) / self.stddev, self.delta)
        told = "noise is normal up to the precision of doubles, rounded to 2^-20 standard deviations"
        also = (ApproxDP(epsilon, self.delta),)
        return Guarantee(ZeroConcentratedDP(rho), Answer(), also, (*ASSUMED, told))

    def randomise(self, truth: Any) -> NDArray[np.float64]:
        """Each truth plus fresh noise, rounded to the grid."""
        rows = self._interval().rows(truth)
        step = self.stddev * _GRID
        return np.asarray(np.round((rows + self.stddev * _normal(rows.shape)) / step) * step)

    def log_density(self, answer: Any, truth: Any) -> NDArray[np.float64]:
        """The log-density of each answer given its truth."""
        away = (np.asarray(answer, dtype=np.float64) - self._interval().rows(truth)) / self.stddev
        constant = self.dimension * math.log(self.stddev * math.sqrt(2 * math.pi))
        return np.asarray(-0.5 * (away**2).sum(axis=-1) - constant)

    def unbias(self, answer: Any) -> NDArray[np.float64]:
        """The answer itself: the noise has mean zero."""
        return np.asarray(answer, dtype=np.float64)

    def fourier(self, frequency: Any) -> NDArray[np.float64]:
        """The Fourier transform of the kernel: exp(-stddev² frequency² / 2), positive everywhere."""
        return np.asarray(np.exp(-0.5 * (self.stddev * np.asarray(frequency, dtype=np.float64)) ** 2))

    def variance(self) -> float:
        """The total variance of one answer."""
        return self.dimension * self.stddev**2 * (1 + _GRID**2 / 12)

    def _interval(self) -> Interval:
        return Interval(self.dimension, self.lower, self.upper)


def gaussian_epsilon(ratio: float, delta: float) -> float:
    """The epsilon at `delta` of normal noise for a move of `ratio` standard deviations; rounded up."""
    low, high = 0.0, ratio * ratio / 2 + ratio * math.sqrt(2 * math.log(1 / delta)) + 1
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _delta(ratio, middle) > delta else (low, middle)
    return high * _UP


def _delta(ratio: float, epsilon: float) -> float:
    """Φ(ratio/2 - ε/ratio) - e^ε Φ(-ratio/2 - ε/ratio), by logarithms of tails."""
    near = _log_tail(epsilon / ratio - ratio / 2)
    far = epsilon + _log_tail(epsilon / ratio + ratio / 2)
    return math.exp(near) * -math.expm1(min(far - near, 0.0))


def _log_tail(x: float) -> float:
    """The logarithm of the probability that a standard normal number exceeds x."""
    if x < 25:
        return math.log(math.erfc(x / math.sqrt(2)) / 2)
    square = x * x
    series = -1 / square + 3 / square**2 - 15 / square**3 + 105 / square**4
    return -square / 2 - math.log(x * math.sqrt(2 * math.pi)) + math.log1p(series)


def _normal(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Independent standard normal numbers by Box and Muller, from 64 fresh bits for each uniform."""
    count = math.prod(shape)
    pairs = (count + 1) // 2
    fresh = np.frombuffer(octets(16 * pairs), dtype=np.uint64).reshape(2, pairs)
    uniform = (fresh.astype(np.float64) + 0.5) * 2.0**-64
    radius, angle = np.sqrt(-2 * np.log(uniform[0])), 2 * math.pi * uniform[1]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count].reshape(shape)
