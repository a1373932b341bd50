"""What every moment learner takes: an estimate of a mean, and the covariance of its error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from suffice.core.guarantees import Guarantee

__all__ = ["Block", "Covariance", "Dense", "Diagonal", "Isotropic", "Moments"]


@final
@dataclass(frozen=True, slots=True)
class Isotropic:
    """The same variance in every direction, and no correlation."""

    variance: float
    dimension: int

    def dense(self) -> NDArray[np.float64]:
        """The whole matrix."""
        return np.diag(np.full(self.dimension, self.variance, dtype=np.float64))

    def trace(self) -> float:
        """The expected squared length of the error."""
        return self.variance * self.dimension

    def times(self, factor: float) -> Isotropic:
        """The covariance of the error multiplied by √factor."""
        return Isotropic(self.variance * factor, self.dimension)


@final
@dataclass(frozen=True, slots=True)
class Diagonal:
    """A variance of its own for every coordinate, and no correlation."""

    variances: NDArray[np.float64]

    def dense(self) -> NDArray[np.float64]:
        """The whole matrix."""
        return np.diag(self.variances)

    def trace(self) -> float:
        """The expected squared length of the error."""
        return float(self.variances.sum())

    def times(self, factor: float) -> Diagonal:
        """The covariance of the error multiplied by √factor."""
        return Diagonal(self.variances * factor)


@final
@dataclass(frozen=True, slots=True)
class Block:
    """The same small matrix over classes, for every coordinate: kron(classes, I)."""

    classes: NDArray[np.float64]
    dimension: int

    def dense(self) -> NDArray[np.float64]:
        """The whole matrix, class blocks outermost."""
        return np.asarray(np.kron(self.classes, np.eye(self.dimension)), dtype=np.float64)

    def trace(self) -> float:
        """The expected squared length of the error."""
        return float(np.trace(self.classes)) * self.dimension

    def times(self, factor: float) -> Block:
        """The covariance of the error multiplied by √factor."""
        return Block(self.classes * factor, self.dimension)


@final
@dataclass(frozen=True, slots=True)
class Dense:
    """Any covariance matrix."""

    matrix: NDArray[np.float64]

    def dense(self) -> NDArray[np.float64]:
        """The whole matrix."""
        return self.matrix

    def trace(self) -> float:
        """The expected squared length of the error."""
        return float(np.trace(self.matrix))

    def times(self, factor: float) -> Dense:
        """The covariance of the error multiplied by √factor."""
        return Dense(self.matrix * factor)


Covariance = Isotropic | Diagonal | Block | Dense


@final
@dataclass(frozen=True, slots=True)
class Moments:
    """An estimated mean, the covariance of its error, and how many rows it is a mean of.

    A name may be a pair of names: second moments are moments of products. For two classes the
    mean is that of ±1 times the row; for K classes `mean` has one row per class.
    """

    mean: NDArray[np.float64]
    covariance: Covariance
    count: int
    names: tuple[str | tuple[str, str], ...]
    classes: tuple[object, ...]
    guarantee: Guarantee | None = None
