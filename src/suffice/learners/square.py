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
_DOUBT = 0.05


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
    """Scores of ±1: one class against the rest for all of them at once, or one score for two classes.

    Coefficients are taken to be drawn with one variance t. What is seen of a direction in which rows have
    the second moment g is g times its coefficient plus noise of the same variance v everywhere, so it is
    divided by g + (v/t)/g: weak directions are shrunk more than by a ridge. `alpha` is the penalty of the
    longest direction, v/(t·g); without it the most likely t given the release is taken.
    """
    several = evidence.mean.ndim > 1
    kinds = len(evidence.mean) if several else 2
    centre, gram = _moments(evidence.rows, evidence.weights)
    values, turn = _eigen(gram)
    even = 2.0 / kinds - 1.0  # what scores of equal classes average to
    signs = 2.0 * evidence.mean - (1.0 + even) * centre if several else evidence.mean[None, :]
    seen = signs @ turn
    energy, error = np.square(seen).sum(axis=0), (4.0 if several else 1.0) * _spread(evidence)
    if alpha is None:
        chosen = _likeliest(values, energy, error, kinds - 1)
        reason = "most likely strength, given the noisy class means and their known noise"
    else:
        chosen, reason = alpha, "given"
    shrunk = 1.0 / (values + chosen * values[0] / values)
    risk = float((energy * (values * shrunk**2 - 2 * shrunk) + 2 * shrunk * error).sum())
    theta = (seen * shrunk) @ turn.T + even * _constant(centre, values, turn)
    return Ridge(theta if several else theta[0], float(chosen), f"{reason}; estimated risk {risk:.3g}", risk)


def explained(evidence: Evidence, names: tuple[str, ...]) -> tuple[Explained, ...]:
    """For each family of a feature table, how much of the labels' variance it explains linearly.

    Unbiased: what noise alone would explain is taken off. Only the longest directions of a family are
    counted, as many as the noise leaves readable, which is decided without the labels. Coordinates of a
    feature table end in a number; nothing is said of a recipe with other names, or where labels are plain.
    """
    plain = [name for name in names if name != "intercept"]
    if evidence.exact or not plain or not all(name[-1].isdigit() for name in plain):
        return ()
    centre, gram = _moments(evidence.rows, evidence.weights)
    several = evidence.mean.ndim > 1
    kinds = len(evidence.mean) if several else 2
    told = evidence.mean - centre / kinds if several else evidence.mean[None, :]
    total = 1.0 - 1.0 / kinds if several else 1.0
    families = np.array([_family(name) for name in names])
    found = []
    for family in dict.fromkeys(map(_family, plain)):
        places = np.flatnonzero(families == family)
        values, turn = _eigen(gram[np.ix_(places, places)])
        ratio = np.square(told[:, places] @ turn).sum(axis=0) / values
        share, error = _readable(ratio / total, _spread(evidence) / values / total, kinds - 1)
        found.append(Explained(family, len(places), share, error))
    return tuple(found)


def _readable(ratio: Array, noise: Array, freedom: int) -> tuple[float, float]:
    """The sum of the leading ratios less their noise, and its standard error."""
    most = max(1, int(np.searchsorted(np.sqrt(np.cumsum(2 * noise**2 / freedom)), _DOUBT)))
    ratio, noise = ratio[:most], noise[:most]
    variance = 2 * noise * (noise + 2 * np.maximum(ratio - noise, 0.0)) / freedom
    return float((ratio - noise).sum()), float(np.sqrt(variance.sum()))


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
        block = rows[at : at + _BLOCK].astype(np.float64, copy=False)
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
