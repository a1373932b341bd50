"""Standard errors of coefficients of K classes: softmax, or one class against the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suffice.learners.solution import one_class
from suffice.learners.uncertainty import pseudo_inverse, unregularised
from suffice.maths.class_projection import free_fit
from suffice.maths.conjugate import class_hessian
from suffice.maths.even_pass import even_pass, second_moment
from suffice.maths.softmax import softmax

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from suffice.learners.evidence import Evidence
    from suffice.maths.linear_odd import LinearOdd

    Array = NDArray[np.float64]

__all__ = ["LARGEST", "unregularised_classes"]

LARGEST = 2000
_STEPS = 2
_RANK = 1e-10


def unregularised_classes(evidence: Evidence, loss: LinearOdd, theta: Array) -> tuple[Array, Array] | None:
    """Coefficients without a penalty, a row per class, and the covariance of all of them, class outermost.

    None where they do not exist or cannot be proven to, and above 2,000 coefficients.
    """
    if theta.size > LARGEST:
        return None
    if loss.name == "logistic":
        start = free_fit(evidence.rows, evidence.mean, theta, evidence.weights)
        return None if start is None else _softmax(evidence, start)
    return _each(evidence, loss, theta)


def _softmax(evidence: Evidence, theta: Array) -> tuple[Array, Array]:
    """Two Newton steps where blocks add up to zero, and the covariance of where they lead."""
    rows, share = evidence.rows, evidence.weights
    scaled = rows if share is None else rows * np.sqrt(share)[:, None]
    for _ in range(_STEPS):
        chance = softmax(rows @ theta.T)[0].T
        inverse = _contrast_inverse(class_hessian(scaled, chance), evidence)
        slope = (chance if share is None else chance * share) @ rows / len(rows) - evidence.mean
        theta = theta - (inverse @ slope.ravel()).reshape(theta.shape)
    chance = softmax(rows @ theta.T)[0].T
    inverse = _contrast_inverse(class_hessian(scaled, chance), evidence)
    error = evidence.covariance.dense() + _strays(evidence, chance)
    return theta, inverse @ error @ inverse


def _strays(evidence: Evidence, chance: Array) -> Array:
    """Covariance of exact class means given the rows, by the fitted probabilities; of other rows, in all.

    Labels drawn at random stray by Σ (diag p - p p') ⊗ x x' / m². Other rows stray by the covariance of
    p(x) ⊗ x too, once for each of the two samples, the completion of the blocks taken off p.
    """
    rows, share = evidence.rows, evidence.weights
    weighted = rows if share is None else rows * share[:, None]
    labels = class_hessian(weighted, chance) / evidence.count
    if not evidence.sampled or evidence.completion is None:
        return labels
    offset = chance - evidence.completion[:, None]
    kinds, width = len(chance), rows.shape[1]
    moments = np.zeros((kinds, width, kinds, width))
    for k in range(kinds):
        for other in range(k + 1):
            moments[k, :, other] = (rows.T * (offset[k] * offset[other])) @ rows / len(rows)
            moments[other, :, k] = moments[k, :, other]
    mean = (offset @ rows / len(rows)).ravel()
    spread = moments.reshape(kinds * width, kinds * width) - np.outer(mean, mean)
    return labels + spread * (1.0 / evidence.count + 1.0 / len(rows))


def _contrast_inverse(hessian: Array, evidence: Evidence) -> Array:
    """The inverse where blocks add up to zero and rows vary; nothing elsewhere."""
    kinds, width = evidence.mean.shape
    values, axes = np.linalg.eigh(second_moment(evidence.rows, width, evidence.weights))
    axes = axes[:, values > _RANK * values[-1]]
    contrast = np.linalg.qr(np.eye(kinds)[:, :-1] - 1.0 / kinds)[0]
    basis = np.kron(contrast, axes)
    return np.asarray(basis @ np.linalg.inv(basis.T @ hessian @ basis) @ basis.T)


def _each(evidence: Evidence, loss: LinearOdd, theta: Array) -> tuple[Array, Array]:
    """Every class by itself; between two of them the covariance of what errors they share."""
    kinds, width = theta.shape
    ones = [one_class(evidence, k) for k in range(kinds)]
    found = [unregularised(one, loss, start) for one, start in zip(ones, theta, strict=True)]
    fitted = np.stack([centre for centre, _ in found])
    inverses = []
    for centre in fitted:
        hessian = even_pass(loss, evidence.rows, centre, True, evidence.weights).hessian
        inverses.append(pseudo_inverse(hessian))
    chance = np.full((kinds, len(evidence.rows)), 1.0 / kinds)
    if loss.link is not None:
        chance = loss.probability(evidence.rows @ fitted.T).T
    error = evidence.covariance.dense() + _strays(evidence, chance)
    shared = loss.a**2 * error.reshape(kinds, width, kinds, width)
    whole = np.zeros((kinds, width, kinds, width))
    for k in range(kinds):
        whole[k, :, k] = found[k][1]
        for other in range(k):
            whole[k, :, other] = inverses[k] @ shared[k, :, other] @ inverses[other]
            whole[other, :, k] = whole[k, :, other].T
    return fitted, whole.reshape(kinds * width, kinds * width)
