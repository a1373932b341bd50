"""Standard errors of coefficients, from the noise law and the label variance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suffice.core.column import Numeric
from suffice.core.errors import InputError
from suffice.maths.even_pass import even_pass, second_moment
from suffice.maths.linear_odd import LOSSES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from suffice.core.recipe import Recipe
    from suffice.learners.evidence import Evidence
    from suffice.maths.linear_odd import LinearOdd

__all__ = ["input_units", "pseudo_inverse", "unregularised"]

_STEPS = 2
_RANK = 1e-10
_LOGISTIC = LOSSES["logistic"]


def unregularised(
    evidence: Evidence, loss: LinearOdd, theta: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two Newton steps on the unpenalised objective, and the covariance of where they lead.

    Directions in which the public rows do not vary are left out: the estimate is the shortest one.
    """
    half = loss.a / 2
    for _ in range(_STEPS):
        part = even_pass(loss, evidence.block, theta, True, evidence.weights)
        inverse = pseudo_inverse(part.hessian)
        theta = theta - inverse @ (part.gradient - half * evidence.mean)
    part = even_pass(loss, evidence.block, theta, True, evidence.weights)
    inverse = pseudo_inverse(part.hessian)
    if loss == _LOGISTIC and evidence.weights is None and not evidence.sampled and part.hessian is not None:
        labels = 4.0 * part.hessian / evidence.count  # Var(y|x) = 4p(1 - p), four times the curvature
    else:
        labels = label_covariance(evidence, loss, theta)
    error = evidence.covariance.dense() + labels
    return theta, half**2 * inverse @ error @ inverse


def label_covariance(evidence: Evidence, loss: LinearOdd, theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Covariance of the exact mean operator given the rows: XᵀVar(y|x)X/m², by the fitted model.

    Where the mean is over other rows, what the covariance of the evidence has too much is taken off:
    it bounds E[y|x]² by one and the mean operator's outer square by zero.
    """
    variance = np.ones(len(evidence.block))
    if loss.link is not None:
        variance = 1.0 - (2.0 * loss.probability(evidence.block @ theta) - 1.0) ** 2
    rows, count, width = evidence.block, evidence.count, evidence.block.shape[1]
    if evidence.sampled:
        mean = even_pass(loss, rows, theta, False).gradient * 2.0 / loss.a
        share = 1.0 / count + 1.0 / len(rows)
        return -second_moment(rows, width, variance) / len(rows) - np.outer(mean, mean) * share
    if evidence.weights is not None:
        variance = variance * evidence.weights**2
    return second_moment(rows, width, variance) / count


def input_units(recipe: Recipe) -> NDArray[np.float64]:
    """The matrix that turns coefficients of the vector into coefficients of the input columns.

    The last row is the intercept, whether the recipe has one or not.
    """
    dimension, root = recipe.dimension, np.sqrt(recipe.dimension)
    width = dimension - recipe.intercept
    matrix = np.zeros((width + 1, dimension))
    offset = 0
    for column in recipe.columns:
        names = column.names()
        for place in range(offset, offset + len(names)):
            matrix[place, place] = 1.0 / root
        if isinstance(column, Numeric):
            matrix[offset, offset] /= column.scale
            matrix[width, offset] = -column.centre / column.scale / root
        offset += len(names)
    if recipe.intercept:
        matrix[width, width] = 1.0 / root
    return matrix


def pseudo_inverse(hessian: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """The inverse where the rows vary; nothing elsewhere."""
    if hessian is None:
        raise InputError("A pass with a Hessian gave none.")
    values, directions = np.linalg.eigh(hessian)
    kept = values > _RANK * values[-1]
    turned = directions[:, kept]
    return np.asarray((turned / values[kept]) @ turned.T)
