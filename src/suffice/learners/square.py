"""The square loss in closed form: one Gram matrix for all classes, its strength from the release alone.

The mean of each class is what a label-free linear map of the public rows says of it plus noise whose
law is known. Turned to the eigenvectors of the public Gram matrix, coefficients and noise are
independent direction by direction, so every strength costs one division per direction
(docs/explanation/public-geometry.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from suffice.core.moments import Block

if TYPE_CHECKING:
    from suffice.learners.evidence import Evidence

__all__ = ["Explained", "Ridge", "explained", "ridge"]

Array: TypeAlias = NDArray[np.float64]

_RANK = 1e-10
_STRENGTHS = np.geomspace(1e-8, 1e6, 141)
_BLOCK = 1 << 12


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ridge:
    """Coefficients, a row per class, the strength relative to the longest direction, and why.

    `risk` is an unbiased estimate of the expected squared error of scores, less what no map changes.
    """

    theta: Array
    alpha: float
    reason: str
    risk: float


@final
@dataclass(frozen=True, slots=True)
class Explained:
    """How much of the labels' variance a family of coordinates explains, and the error of that estimate."""

    family: str
    coordinates: int
    share: float
    error: float


def ridge(evidence: Evidence, alpha: float | None) -> Ridge:
    """One class against the rest for all of them at once, as scores of ±1.

    Coefficients are taken to be drawn with one variance t. What is seen of a direction in which rows have
    the second moment g is g times its coefficient plus noise of the same variance v everywhere, so it is
    divided by g + (v/t)/g: weak directions are shrunk more than by a ridge. `alpha` is the penalty of the
    longest direction, v/(t·g); without it the most likely t given the release is taken.
    """
    kinds = len(evidence.mean)
    centre, gram = _moments(evidence.rows, evidence.weights)
    values, turn = _eigen(gram)
    signs = 2.0 * evidence.mean - centre
    balance = (2.0 / kinds - 1.0) * centre  # what scores of equal classes would average to
    seen = (signs - balance) @ turn
    energy, error = np.square(seen).sum(axis=0), 4.0 * _spread(evidence)
    if alpha is None:
        chosen = _likeliest(values, energy, error, kinds - 1)
        reason = "most likely strength, given the noisy class means and their known noise"
    else:
        chosen, reason = alpha, "given"
    shrunk = 1.0 / (values + chosen * values[0] / values)
    risk = float((energy * (values * shrunk**2 - 2 * shrunk) + 2 * shrunk * error).sum())
    theta = (seen * shrunk) @ turn.T + (2.0 / kinds - 1.0) * _constant(centre, values, turn)
    return Ridge(theta, float(chosen), f"{reason}; estimated risk {risk:.3g}", risk)


def explained(evidence: Evidence, names: tuple[str, ...]) -> tuple[Explained, ...]:
    """For each family of coordinates, how much of the labels' variance a linear map of it explains.

    Unbiased: what the noise alone would explain is taken off. Families are names without their number.
    """
    centre, gram = _moments(evidence.rows, evidence.weights)
    means = np.atleast_2d(evidence.mean)
    kinds = len(means)
    spread = _spread(evidence)
    told = means - centre / kinds if evidence.mean.ndim > 1 else means
    total = 1.0 if evidence.mean.ndim == 1 else 1.0 - 1.0 / kinds
    found = []
    for family in dict.fromkeys(map(_family, names)):
        places = np.flatnonzero([_family(name) == family for name in names])
        if family == "intercept":
            continue
        values, turn = _eigen(gram[np.ix_(places, places)])
        seen = told[:, places] @ turn
        ratio = np.square(seen).sum(axis=0) / values
        noise = spread / values
        freedom = max(1, kinds - 1)
        share = float((ratio - noise).sum()) / total
        doubt = 2 * noise * (noise + 2 * np.maximum(ratio - noise, 0.0)) / freedom
        found.append(Explained(family, len(places), share, float(np.sqrt(doubt.sum())) / total))
    return tuple(found)


def _family(name: str) -> str:
    return name.rstrip("0123456789")


def _spread(evidence: Evidence) -> float:
    """The variance of one coordinate's noise, over classes together."""
    covariance = evidence.covariance
    if isinstance(covariance, Block):
        return float(np.trace(covariance.classes))
    return float(covariance.trace() / evidence.rows.shape[1])


def _moments(rows: Array, weights: Array | None) -> tuple[Array, Array]:
    """The mean of the rows and their second moments."""
    centre, gram = np.zeros(rows.shape[1]), np.zeros((rows.shape[1], rows.shape[1]))
    for at in range(0, len(rows), _BLOCK):
        block = rows[at : at + _BLOCK]
        heavy = block if weights is None else block * weights[at : at + _BLOCK, None]
        centre += heavy.sum(axis=0)
        gram += heavy.T @ block
    return centre / len(rows), gram / len(rows)


def _eigen(gram: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of directions in which rows lie, the longest first."""
    values, turn = np.linalg.eigh(gram)
    kept = values > _RANK * max(float(values[-1]), 1e-300)
    return values[kept][::-1], turn[:, kept][:, ::-1]


def _likeliest(values: Array, energy: Array, error: float, freedom: int) -> float:
    """The alpha of greatest likelihood on a grid: energy ~ (error/freedom + value²·variance)·χ²."""
    each = error / freedom
    grid = _STRENGTHS * values[0]
    spread = each + values**2 * (each / (grid[:, None] * values[0]))
    return float(grid[np.argmin((freedom * np.log(spread) + energy / spread).sum(axis=1))])


def _constant(centre: Array, values: Array, turn: Array) -> Array:
    """The coefficients that score every row one, as far as the rows allow it."""
    return np.asarray(turn @ ((centre @ turn) / values))
