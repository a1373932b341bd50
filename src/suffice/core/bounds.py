"""Bounds on the rows, in a stated norm, and the sensitivities that follow from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self, final

import numpy as np

from suffice.core.errors import BoundsError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Bound", "Norm", "Radius", "Sensitivity", "ceil_sqrt", "clip", "integer_norm", "least_root"]

Norm = Literal[1, 2, "inf"]


@final
@dataclass(frozen=True, slots=True)
class Radius:
    """A radius to be read off the public rows: a quantile of their norms, 1.0 being the largest."""

    quantile: float

    @classmethod
    def public(cls, quantile: float | Literal["max"] = "max") -> Self:
        """The ⌈quantile·n⌉-th smallest norm over the public rows; "max" is the largest."""
        return cls(1.0 if quantile == "max" else quantile)

    def __post_init__(self) -> None:
        """Refuse what is not a quantile."""
        if not isinstance(self.quantile, float | int) or not 0 < self.quantile <= 1:
            raise BoundsError(
                f"Radius.public takes a quantile in (0, 1] or 'max', and got {self.quantile!r}. "
                "Write Radius.public(0.95), say."
            )


@final
@dataclass(frozen=True, slots=True)
class Bound:
    """Every row lies within `radius` of the origin in this norm; longer rows are shortened to it.

    A bound carries its norm, because a sensitivity computed in one norm and noise calibrated
    in another is how the published version of this mechanism goes wrong
    (docs/proofs/laplace.md). A radius given as a number is in units of the recipe's vectors.
    """

    norm: Norm
    radius: float | Radius

    def __post_init__(self) -> None:
        """Refuse unknown norms and radii that are not positive and finite."""
        norm = "inf" if self.norm == math.inf else self.norm
        if norm not in {1, 2, "inf"}:
            raise BoundsError(f"A bound is in norm 1, 2 or 'inf', and got {self.norm!r}.")
        object.__setattr__(self, "norm", norm)
        if isinstance(self.radius, Radius):
            return
        if not isinstance(self.radius, int | float) or not math.isfinite(self.radius) or self.radius <= 0:
            raise BoundsError(f"A radius is a finite number above 0, and got {self.radius!r}.")


@final
@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The furthest that one neighbour moves a sum, in grid units, in three norms; whole numbers."""

    l1: int
    l2: int
    linf: int

    def times(self, factor: int) -> Sensitivity:
        """The sensitivity when one person may change `factor` rows."""
        return Sensitivity(self.l1 * factor, self.l2 * factor, self.linf * factor)

    @classmethod
    def of_row(cls, norm: Norm, radius: int, dimension: int) -> Self:
        """The largest 1-, 2- and max-norm of one whole-number row within the radius of its bound."""
        if norm == 1:
            return cls(radius, radius, radius)
        if norm == 2:
            return cls(least_root(dimension * radius * radius), radius, radius)
        return cls(dimension * radius, least_root(dimension * radius * radius), radius)


def least_root(value: int) -> int:
    """⌈√value⌉ of any whole number, exactly."""
    return math.isqrt(value - 1) + 1 if value > 0 else 0


def clip(rows: NDArray[np.int64], norm: Norm, radius: int) -> NDArray[np.int64]:
    """Shorten whole-number rows to the radius: q becomes sign(q)·⌊|q|·R / max(R, ‖q‖)⌋, on integers."""
    length = integer_norm(rows, norm)
    long = length > radius
    if not long.any():
        return rows
    clipped = rows.copy()
    part = rows[long]
    clipped[long] = np.sign(part) * (np.abs(part) * radius // length[long][:, None])
    return clipped


def integer_norm(rows: NDArray[np.int64], norm: Norm) -> NDArray[np.int64]:
    """The norm of each whole-number row, rounded up to a whole number."""
    if norm == 1:
        return np.asarray(np.abs(rows).sum(axis=1))
    if norm == 2:
        return ceil_sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.asarray(np.abs(rows).max(axis=1, initial=0))


def ceil_sqrt(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """⌈√n⌉ of whole numbers below 2**62, exactly."""
    root = np.ceil(np.sqrt(values.astype(np.float64))).astype(np.int64)
    root -= (root - 1) * (root - 1) >= values
    root += root * root < values
    return np.where(values == 0, 0, root)
