"""PrivUnit: a direction inside a cap around the truth, or outside of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, final

import numpy as np

from suffice.channels.bound import exp_below, log_above, positive
from suffice.channels.dyadic import WHOLE, events
from suffice.channels.finite import ASSUMED
from suffice.channels.interval import whole
from suffice.channels.sphere import checked, directions, signed, towards, unit_rows
from suffice.core.guarantees import Guarantee, PureDP
from suffice.core.units import Answer

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Cap", "PrivUnit"]

_LEAST_CAP = 2.0**-10  # a smaller cap would take more than a thousand proposals per answer
_ERROR = 2.0**-32  # per coordinate: how far the caps of drawn doubles may be from those of the sphere
_BLOCK = 1 << 20


@final
@dataclass(frozen=True, slots=True)
class Cap:
    """A cap {z : <z, v> >= height} of the sphere, its area, and the count over 2^53 of landing in it."""

    height: float
    area: float
    inside: int


@final
@dataclass(frozen=True, slots=True)
class PrivUnit:
    """A vector of length at most `radius`: a direction in a cap around it, or at times outside of the cap.

    The height of the cap is the one of least variance, and equals the mean of <answer, truth>. Directions
    are proposed whatever the truth is, and taken or not by the side that is wanted.
    """

    dimension: int
    epsilon: float
    radius: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what has no sphere, no epsilon, or no radius."""
        whole("dimension", self.dimension, 2)
        positive("epsilon", self.epsilon)
        positive("radius", self.radius)
        self.cap()

    def cap(self) -> Cap:
        """The cap of least variance, and how often an answer lies in it."""
        return _best_cap(self.dimension, Fraction(self.epsilon))

    def guarantee(self) -> Guarantee:
        """The largest log-ratio of densities, every cap being as improbable as the proof allows."""
        cap = self.cap()
        odds = Fraction(cap.inside, WHOLE - cap.inside)
        low, high = _caps(cap.area, self.dimension)
        promise = PureDP(log_above(odds * (1 - low) / low))
        told = (
            f"a cap has the probability {cap.area:.6g} within {float(high - low) / 2:.1g} in double precision"
        )
        return Guarantee(promise, Answer(), assumes=(*ASSUMED, told))

    def randomise(self, truth: Any) -> NDArray[np.float64]:
        """A fresh unit vector for each truth."""
        rows = checked(truth, self.dimension, self.radius)
        aim = signed(rows).reshape(-1, self.dimension)
        inside = events(np.full(len(aim), self.cap().inside, dtype=np.uint64))
        answers = np.empty_like(aim)
        step = max(1, _BLOCK // self.dimension)
        for at in range(0, len(aim), step):
            part = slice(at, at + step)
            answers[part] = _land(aim[part], inside[part], self.cap().height)
        return answers.reshape(rows.shape)

    def log_density(self, answer: Any, truth: Any) -> NDArray[np.float64]:
        """The log-density of each answer given its truth, relative to the uniform law on the sphere."""
        aim, chance = towards(checked(truth, self.dimension, self.radius))
        height = (unit_rows(answer, self.dimension) * aim).sum(axis=-1)
        return np.asarray(np.log(chance * self._level(height) + (1 - chance) * self._level(-height)))

    def unbias(self, answer: Any) -> NDArray[np.float64]:
        """A row per answer, whose mean given the truth is the truth."""
        return np.asarray(unit_rows(answer, self.dimension) * (self.radius / self.mean()))

    def mean(self) -> float:
        """The mean of <answer, truth> for a truth of length `radius`, in units of it."""
        cap = self.cap()
        return _mean(self.dimension, cap.height, cap.area, cap.inside / WHOLE)

    def variance(self) -> float:
        """The total variance of one unbiased answer for a truth on the sphere; for zero, radius² more."""
        return self.radius**2 * (1 / self.mean() ** 2 - 1)

    def _level(self, height: NDArray[np.float64]) -> NDArray[np.float64]:
        cap = self.cap()
        into = cap.inside / WHOLE
        return np.where(height >= cap.height, into / cap.area, (1 - into) / (1 - cap.area))


def _land(aim: NDArray[np.float64], inside: NDArray[np.bool_], height: float) -> NDArray[np.float64]:
    """Propose directions for all until each lies on the side that is wanted."""
    answers = np.empty_like(aim)
    left = np.arange(len(aim))
    while left.size:
        drawn = directions(left.size, aim.shape[1])
        landed = (np.einsum("ij,ij->i", aim[left], drawn) >= height) == inside[left]
        answers[left[landed]] = drawn[landed]
        left = left[~landed]
    return answers


@lru_cache(maxsize=256)
def _best_cap(dimension: int, epsilon: Fraction) -> Cap:
    """The height at which it equals the mean, by bisection; no higher than the least cap allows."""
    odds = exp_below(epsilon)
    low, high = 0.0, 1.0
    for _ in range(100):
        height = (low + high) / 2
        area = _area(dimension, height)
        wide = area >= _LEAST_CAP
        higher = wide and _mean(dimension, height, area, _inside(dimension, area, odds) / WHOLE) > height
        low, high = (height, high) if higher else (low, height)
    area = _area(dimension, low)
    return Cap(low, area, _inside(dimension, area, odds))


def _inside(dimension: int, area: float, odds: Fraction) -> int:
    """The largest count whose densities stay within the odds, were every cap as small as the proof allows."""
    least, _ = _caps(area, dimension)
    weight = odds * least / (1 - least)
    return int(weight / (1 + weight) * WHOLE)


def _caps(area: float, dimension: int) -> tuple[Fraction, Fraction]:
    error = Fraction(dimension * _ERROR)
    return Fraction(area) - error, Fraction(area) + error


def _area(dimension: int, height: float) -> float:
    """The probability of a cap, by Simpson's rule over its angle."""
    steps = np.linspace(0.0, math.acos(height), 4001)
    return _scale(dimension) * _simpson(np.sin(steps) ** (dimension - 2), float(steps[1]))


def _mean(dimension: int, height: float, area: float, inside: float) -> float:
    moment = _scale(dimension) * math.pow(1 - height * height, (dimension - 1) / 2) / (dimension - 1)
    return float(inside * moment / area - (1 - inside) * moment / (1 - area))


def _scale(dimension: int) -> float:
    half = dimension / 2
    return math.exp(math.lgamma(half) - math.lgamma(half - 0.5)) / math.sqrt(math.pi)


def _simpson(values: NDArray[np.float64], step: float) -> float:
    return float((values[0] + 4 * values[1::2].sum() + 2 * values[2:-1:2].sum() + values[-1]) * step / 3)
