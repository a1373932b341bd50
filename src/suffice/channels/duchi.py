"""The mechanisms of Duchi, Jordan and Wainwright: one far point on the side where the truth lies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from suffice.channels.bound import log_above, positive
from suffice.channels.dyadic import WHOLE, events
from suffice.channels.finite import ASSUMED
from suffice.channels.interval import Interval, whole
from suffice.channels.per_value import flip_count
from suffice.channels.sphere import checked, directions, mean_height, signed, towards, unit_rows
from suffice.channels.unary import all_bits
from suffice.core.errors import InputError
from suffice.core.guarantees import Guarantee, PureDP
from suffice.core.units import Answer

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DuchiL2", "DuchiLinf"]


@final
@dataclass(frozen=True, slots=True)
class DuchiL2:
    """A vector of length at most `radius`: a uniform direction, mostly turned to the truth's side.

    A draw and its opposite are as likely as each other before they are turned, so every answer has one of two
    densities, whose ratio is e^epsilon, in doubles as on paper.
    """

    dimension: int
    epsilon: float
    radius: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what has no dimension, no epsilon, or no radius."""
        whole("dimension", self.dimension)
        positive("epsilon", self.epsilon)
        positive("radius", self.radius)
        self._flip()

    @property
    def keep(self) -> float:
        """The probability that the answer lies on the truth's side."""
        return (WHOLE - self._flip()) / WHOLE

    def guarantee(self) -> Guarantee:
        """The log-odds of the truth's side, rounded up."""
        return _guarantee(self._flip())

    def randomise(self, truth: Any) -> NDArray[np.float64]:
        """A fresh unit vector for each truth."""
        rows = checked(truth, self.dimension, self.radius)
        aim = signed(rows).reshape(-1, self.dimension)
        drawn = directions(len(aim), self.dimension)
        ahead = np.einsum("ij,ij->i", aim, drawn) >= 0
        kept = ~events(np.full(len(aim), self._flip(), dtype=np.uint64))
        return np.asarray(np.where((ahead == kept)[:, None], drawn, -drawn).reshape(rows.shape))

    def log_density(self, answer: Any, truth: Any) -> NDArray[np.float64]:
        """The log-density of each answer given its truth, relative to the uniform law on the sphere."""
        aim, chance = towards(checked(truth, self.dimension, self.radius))
        ahead = (unit_rows(answer, self.dimension) * aim).sum(axis=-1) >= 0
        likely = np.where(ahead, chance, 1 - chance)
        return np.asarray(np.log(2 * (likely * self.keep + (1 - likely) * (1 - self.keep))))

    def unbias(self, answer: Any) -> NDArray[np.float64]:
        """A row per answer, whose mean given the truth is the truth."""
        return np.asarray(unit_rows(answer, self.dimension) * (self.radius / self._mean()))

    def variance(self) -> float:
        """The total variance of one unbiased answer for a truth on the sphere; for zero, radius² more."""
        return self.radius**2 * (1 / self._mean() ** 2 - 1)

    def _mean(self) -> float:
        return (2 * self.keep - 1) * mean_height(self.dimension)

    def _flip(self) -> int:
        return flip_count(Fraction(self.epsilon))


@final
@dataclass(frozen=True, slots=True)
class DuchiLinf:
    """A vector in the cube [-radius, radius]^d: uniform signs, mostly turned to the truth's side.

    The truth is rounded to a corner without bias. Signs that agree with it in exactly half the places
    stay as they are drawn. The published rule counts such ties on both sides, and spends
    log(1 + e^epsilon) in even dimensions.
    """

    dimension: int
    epsilon: float
    radius: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what has no dimension, no epsilon, or no radius."""
        whole("dimension", self.dimension)
        positive("epsilon", self.epsilon)
        positive("radius", self.radius)
        self._flip()

    @property
    def keep(self) -> float:
        """The probability that the answer lies on the truth's side, given that it is no tie."""
        return (WHOLE - self._flip()) / WHOLE

    def guarantee(self) -> Guarantee:
        """The log-odds of the truth's side, rounded up."""
        return _guarantee(self._flip())

    def randomise(self, truth: Any) -> NDArray[np.bool_]:
        """A row of fresh signs for each truth, True for plus."""
        rows = self._interval().rows(truth)
        corner = self._interval().rounded(rows)
        drawn = events(np.full(rows.shape, WHOLE // 2, dtype=np.uint64))
        agreeing = 2 * (drawn == corner).sum(axis=-1) - self.dimension
        kept = ~events(np.full(agreeing.shape, self._flip(), dtype=np.uint64))
        turned = (agreeing != 0) & ((agreeing > 0) != kept)
        return np.asarray(drawn ^ turned[..., None])

    def log_density(self, answer: Any, truth: Any) -> NDArray[np.float64]:
        """The logarithm of the probability of each row of signs given its truth."""
        up = self._interval().chances(self._interval().rows(truth))
        agree = np.where(self._signs(answer), up, 1 - up)
        law = np.ones((*agree.shape[:-1], 1))
        for at in range(self.dimension):  # the law of how many places agree with the rounded truth
            part, none = agree[..., at, None], np.zeros((*agree.shape[:-1], 1))
            law = np.concatenate([law * (1 - part), none], axis=-1) + np.concatenate(
                [none, law * part], axis=-1
            )
        places = 2 * np.arange(self.dimension + 1) - self.dimension
        level = np.where(places > 0, 2 * self.keep, np.where(places < 0, 2 * (1 - self.keep), 1.0))
        return np.asarray(np.log((law * level).sum(axis=-1)) - self.dimension * math.log(2))

    def unbias(self, answer: Any) -> NDArray[np.float64]:
        """A row per answer, whose mean given the truth is the truth."""
        return np.asarray((2.0 * self._signs(answer) - 1) * (self.radius / self._mean()))

    def variance(self) -> float:
        """The total variance of one unbiased answer at a corner (for zero it is d·radius² more)."""
        return self.dimension * self.radius**2 * (1 / self._mean() ** 2 - 1)

    def answers(self) -> NDArray[np.bool_]:
        """Every possible row of signs, for sixteen coordinates or fewer."""
        return all_bits(self.dimension)

    def _mean(self) -> float:
        below = self.dimension - 1
        share = Fraction(math.comb(below, below // 2), 2**below)
        return (2 * self.keep - 1) * float(share)

    def _signs(self, answer: Any) -> NDArray[np.bool_]:
        signs = np.asarray(answer)
        if signs.ndim == 0 or signs.shape[-1] != self.dimension or signs.dtype != np.bool_:
            raise InputError(
                f"An answer is a row of {self.dimension} booleans, True for plus, and got {signs.dtype} "
                f"of shape {signs.shape}."
            )
        return signs

    def _interval(self) -> Interval:
        return Interval(self.dimension, -self.radius, self.radius)

    def _flip(self) -> int:
        return flip_count(Fraction(self.epsilon))


def _guarantee(flip: int) -> Guarantee:
    return Guarantee(PureDP(log_above(Fraction(WHOLE - flip, flip))), Answer(), assumes=ASSUMED)
