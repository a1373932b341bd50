"""Laws of the noise in a release, in grid units: what a learner must know to weigh it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

if TYPE_CHECKING:
    from suffice.core.moments import Covariance

from suffice.core.moments import Block, Isotropic

__all__ = ["LAWS", "Cube", "Gaussian", "L2Laplace", "Laplace", "Law", "NoLaw"]


class Law(Protocol):
    """The distribution of the noise that was added, before rounding to the grid."""

    def covariance(self) -> Covariance:
        """Covariance of the noise, in squared grid units, rounding included."""
        ...

    def quantile(self, probability: float) -> float:
        """The Euclidean length, in grid units, that the noise stays under with this probability."""
        ...


_ROUNDING = 1.0 / 12.0


@final
@dataclass(frozen=True, slots=True)
class Laplace:
    """Independent two-sided exponential noise of this scale on every coordinate."""

    scale: Fraction
    dimension: int

    def covariance(self) -> Isotropic:
        """Twice the squared scale on every coordinate."""
        return Isotropic(2.0 * float(self.scale) ** 2 + _ROUNDING, self.dimension)

    def quantile(self, probability: float) -> float:
        """A bound on the Euclidean length: union bound over coordinates, exact for one."""
        one = -math.log1p(-(1 - (1 - probability) / self.dimension))
        return float(self.scale) * one * math.sqrt(self.dimension)


@final
@dataclass(frozen=True, slots=True)
class L2Laplace:
    """Noise with density proportional to exp(-‖b‖₂ / scale).

    With `classes` = K it lives on K blocks of `dimension` coordinates that sum to zero over the
    blocks, and the last block is left out.
    """

    scale: Fraction
    dimension: int
    classes: int = 2

    @property
    def freedom(self) -> int:
        """The dimension of the space in which the noise is round."""
        return self.dimension * (self.classes - 1)

    def covariance(self) -> Isotropic | Block:
        """(n+1)·scale² per direction in n dimensions, the length being Gamma(n)."""
        return _contrast((self.freedom + 1) * float(self.scale) ** 2, self.dimension, self.classes)

    def quantile(self, probability: float) -> float:
        """The exact quantile of the length, which is Gamma with shape n."""
        return float(self.scale) * _gamma_quantile(probability, self.freedom)


@final
@dataclass(frozen=True, slots=True)
class Gaussian:
    """Independent normal noise on every coordinate; with `classes` = K, on the contrast space."""

    stddev: Fraction
    dimension: int
    classes: int = 2

    @property
    def freedom(self) -> int:
        """The dimension of the space in which the noise is round."""
        return self.dimension * (self.classes - 1)

    def covariance(self) -> Isotropic | Block:
        """The squared standard deviation in every direction."""
        return _contrast(float(self.stddev) ** 2, self.dimension, self.classes)

    def quantile(self, probability: float) -> float:
        """The exact quantile of the length, whose square is chi-squared."""
        half = _gamma_quantile(probability, self.freedom / 2.0)
        return float(self.stddev) * math.sqrt(2.0 * half)


@final
@dataclass(frozen=True, slots=True)
class Cube:
    """Noise with density proportional to exp(-max|b| / scale)."""

    scale: Fraction
    dimension: int

    def covariance(self) -> Isotropic:
        """(d+1)(d+2)/3 squared scales on every coordinate."""
        per_axis = (self.dimension + 1) * (self.dimension + 2) / 3.0
        return Isotropic(per_axis * float(self.scale) ** 2 + _ROUNDING, self.dimension)

    def quantile(self, probability: float) -> float:
        """A bound on the Euclidean length: √d times the exact quantile of the largest coordinate."""
        return float(self.scale) * _gamma_quantile(probability, self.dimension) * math.sqrt(self.dimension)


@final
@dataclass(frozen=True, slots=True)
class NoLaw:
    """No noise at all."""

    dimension: int

    def covariance(self) -> Isotropic:
        """Zero: an exact statistic."""
        return Isotropic(0.0, self.dimension)

    def quantile(self, probability: float) -> float:
        """Zero at every level."""
        return 0.0


LAWS = (Laplace, L2Laplace, Gaussian, Cube, NoLaw)


def _contrast(variance: float, dimension: int, classes: int) -> Isotropic | Block:
    """Covariance of the first K-1 of K blocks that sum to zero, round in that space."""
    if classes == 2:
        return Isotropic(variance + _ROUNDING, dimension)
    kept = classes - 1
    blocks = variance * (np.eye(kept) - 1.0 / classes) + _ROUNDING * np.eye(kept)
    return Block(blocks, dimension)


def _gamma_quantile(probability: float, shape: float) -> float:
    """Quantile of the standard gamma law, by bisection on its regularised lower integral."""
    low, high = 0.0, shape + 20.0 * math.sqrt(shape) + 50.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if _gamma_below(middle, shape) < probability:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def _gamma_below(x: float, shape: float) -> float:
    if x <= 0.0:
        return 0.0
    front = math.exp(shape * math.log(x) - x - math.lgamma(shape + 1.0))
    steps = np.arange(1, int(4 * (shape + x)) + 200)
    terms = np.cumprod(x / (shape + steps))
    return min(1.0, front * (1.0 + float(terms.sum())))
