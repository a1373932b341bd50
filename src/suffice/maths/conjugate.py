"""Linear systems known by their products alone: conjugate gradients, and what makes them short."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Product: TypeAlias = Callable[[Array], Array]

__all__ = ["class_hessian", "class_preconditioner", "conjugate", "sampled"]

_WHOLE = 1500
_SAMPLED = 20_000


def conjugate(product: Product, gradient: Array, precondition: Product, enough: float, most: int) -> Array:
    """Solve A·step = -gradient up to this length of the residual; stop where A is flat."""
    step, residual = np.zeros_like(gradient), -gradient
    turned = precondition(residual)
    along, square = turned, float((residual * turned).sum())
    for _ in range(most):
        bent = product(along)
        curve = float((along * bent).sum())
        if curve <= 1e-16 * float((along * along).sum()):
            break
        step = step + (square / curve) * along
        residual = residual - (square / curve) * bent
        if float(np.linalg.norm(residual)) <= enough:
            break
        turned = precondition(residual)
        fresh = float((residual * turned).sum())
        along, square = turned + (fresh / square) * along, fresh
    return step if step.any() else -gradient


def class_preconditioner(rows: Array, chance: Array, ridge: float) -> Product:
    """A near inverse of the softmax Hessian, (K, d) to (K, d), from evenly placed rows.

    `chance` has the probabilities of those rows, K of them for each. Up to 1,500 coefficients it is
    the inverse of their Hessian; beyond, of the matrix ½ XᵀX/m for every class, which bounds it.
    """
    kinds, width = len(chance), rows.shape[1]
    tiny = 1e-10 * float(np.einsum("ij,ij->", rows, rows)) / len(rows)
    lift = ridge + tiny
    if kinds * width > _WHOLE:
        inverse = np.linalg.inv(rows.T @ rows / (2.0 * len(rows)) + lift * np.eye(width))
        return lambda block: np.asarray(block @ inverse)
    inverse = np.linalg.inv(class_hessian(rows, chance) + lift * np.eye(kinds * width))
    return lambda block: (inverse @ block.ravel()).reshape(block.shape)


def class_hessian(rows: Array, chance: Array) -> Array:
    """The Hessian of mean log Σ exp over rows with these probabilities, class blocks outermost."""
    kinds, width = len(chance), rows.shape[1]
    whole = np.zeros((kinds, width, kinds, width))
    for k in range(kinds):
        for other in range(k + 1):
            bend = chance[k] * ((k == other) - chance[other])
            block = (rows.T * bend) @ rows / len(rows)
            whole[k, :, other] = block
            whole[other, :, k] = block
    return whole.reshape(kinds * width, kinds * width)


def sampled(count: int, kinds: int, width: int) -> slice:
    """Evenly placed rows, enough of them for a near Hessian."""
    wanted = min(_SAMPLED, max(2000, 10 * kinds * width))
    return slice(None, None, max(1, count // wanted))
