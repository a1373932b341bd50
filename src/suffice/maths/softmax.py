"""Minimise the multinomial logistic risk from feature rows and one mean per class.

The risk of K linear scores is (1/m) Σ log Σ_k exp<θ_k, x_i> - Σ_k <θ_k, M_k>, where M_k is the mean of
1[y = k]·x: labels enter through the class means alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from suffice.core.errors import InputError

Array: TypeAlias = NDArray[np.float64]

__all__ = ["SoftmaxMinimum", "SoftmaxObjective", "minimise_softmax", "softmax"]

_ARMIJO = 1e-4
_HALVINGS = 50
_POLISH = 30
_BLOCK = 8192


@final
@dataclass(frozen=True, slots=True)
class SoftmaxMinimum:
    """Where the objective was least: one row of coefficients per class, value and size of the gradient."""

    theta: Array
    value: float
    gradient_norm: float
    converged: bool
    iterations: int


@final
@dataclass(frozen=True, slots=True)
class SoftmaxObjective:
    """(1/m) Σ w_i log Σ_k exp<θ_k, x_i> - <θ, means> + alpha ((1 - r)‖θ‖² + r‖θ‖₁), over all classes.

    Here r is l1_ratio. Every coefficient of every class is penalised, so that the scores of a
    penalised minimum sum to zero where r = 0.
    """

    X: Array
    means: Array
    alpha: float = 0.0
    l1_ratio: float = 0.0
    weights: Array | None = None

    @property
    def ridge(self) -> float:
        """What multiplies the squared norm."""
        return self.alpha * (1.0 - self.l1_ratio)

    @property
    def lasso(self) -> float:
        """What multiplies the sum of absolute values."""
        return self.alpha * self.l1_ratio

    def smooth(self, theta: Array) -> tuple[float, Array]:
        """Value and gradient of all but the sum of absolute values, in one pass over the rows."""
        value, gradient = 0.0, np.zeros_like(theta)
        for rows, share in self._blocks():
            scores = rows @ theta.T
            chance, level = softmax(scores)
            value += float(level.sum() if share is None else level @ share)
            gradient += (chance if share is None else chance * share[:, None]).T @ rows
        m = len(self.X)
        value = value / m - float((theta * self.means).sum()) + self.ridge * float((theta * theta).sum())
        return value, gradient / m - self.means + 2 * self.ridge * theta

    def curvature(self, theta: Array, along: Array) -> Array:
        """The Hessian of the smooth part times a direction, in one pass over the rows."""
        total = np.zeros_like(theta)
        for rows, share in self._blocks():
            chance, _ = softmax(rows @ theta.T)
            moved = rows @ along.T
            bent = chance * (moved - (chance * moved).sum(axis=1, keepdims=True))
            total += (bent if share is None else bent * share[:, None]).T @ rows
        return total / len(self.X) + 2 * self.ridge * along

    def _blocks(self) -> list[tuple[Array, Array | None]]:
        cuts = range(0, len(self.X), _BLOCK)
        return [
            (self.X[at : at + _BLOCK], None if self.weights is None else self.weights[at : at + _BLOCK])
            for at in cuts
        ]


def softmax(scores: Array) -> tuple[Array, Array]:
    """Probabilities of the classes of each row, and the logarithm of their normaliser, without overflow."""
    top = scores.max(axis=1, keepdims=True)
    grown = np.exp(scores - top)
    total = grown.sum(axis=1, keepdims=True)
    return grown / total, (np.log(total) + top)[:, 0]


def minimise_softmax(
    X: Array,
    means: Array,
    *,
    alpha: float = 0.0,
    l1_ratio: float = 0.0,
    weights: Array | None = None,
    start: Array | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 200,
) -> SoftmaxMinimum:
    """Newton steps by conjugate gradients; accelerated proximal steps where l1_ratio > 0."""
    objective = SoftmaxObjective(X, np.asarray(means, dtype=np.float64), alpha, l1_ratio, weights)
    if not (np.isfinite(alpha) and alpha >= 0 and 0 <= l1_ratio <= 1 and np.isfinite(objective.means).all()):
        msg = (
            f"alpha must be finite and at least 0, l1_ratio in [0, 1]; got alpha={alpha}, l1_ratio={l1_ratio}"
        )
        raise InputError(msg)
    theta = np.zeros_like(objective.means) if start is None else np.array(start, dtype=np.float64)
    if objective.lasso > 0:
        return _accelerated(objective, theta, tolerance, 100 * max_iterations)
    return _newton(objective, theta, tolerance, max_iterations)


def _newton(objective: SoftmaxObjective, theta: Array, tolerance: float, most: int) -> SoftmaxMinimum:
    value, gradient = objective.smooth(theta)
    for done in range(most):
        norm = float(np.linalg.norm(gradient))
        if norm <= tolerance or value < -1e-6:  # below zero no labels could have given these means
            return SoftmaxMinimum(theta, value, norm, norm <= tolerance, done)
        step = _conjugate(objective, theta, gradient, min(0.1, norm**0.5) * norm)
        promised = float((gradient * step).sum())
        size = 1.0
        for _ in range(_HALVINGS):
            fresh, slope = objective.smooth(theta + size * step)
            nearer = float(np.linalg.norm(slope)) < norm and fresh <= value + 1e-12 * (1 + abs(value))
            if fresh <= value + _ARMIJO * size * promised or nearer:
                break
            size /= 2
        else:
            return SoftmaxMinimum(theta, value, norm, norm <= tolerance, done)
        theta, value, gradient = theta + size * step, fresh, slope
    norm = float(np.linalg.norm(gradient))
    return SoftmaxMinimum(theta, value, norm, norm <= tolerance, most)


def _conjugate(
    objective: SoftmaxObjective, theta: Array, gradient: Array, enough: float, active: Array | float = 1.0
) -> Array:
    """Solve Hessian · step = -gradient up to this residual, where active; stop where it is flat."""
    step, residual = np.zeros_like(theta), -gradient
    along, square = residual.copy(), float((gradient * gradient).sum())
    for _ in range(min(theta.size, 250)):
        bent = active * objective.curvature(theta, along)
        curve = float((along * bent).sum())
        if curve <= 1e-16 * float((along * along).sum()):
            break
        size = square / curve
        step, residual = step + size * along, residual - size * bent
        fresh = float((residual * residual).sum())
        if fresh**0.5 <= enough:
            break
        along, square = residual + (fresh / square) * along, fresh
    return step if step.any() else -gradient


def _accelerated(objective: SoftmaxObjective, theta: Array, tolerance: float, most: int) -> SoftmaxMinimum:
    """Proximal gradient steps with momentum, restarted where the objective rises."""
    top = float(np.linalg.eigvalsh(objective.X.T @ objective.X / len(objective.X))[-1])
    heaviest = 1.0 if objective.weights is None else float(objective.weights.max())
    size = 1.0 / (0.5 * top * heaviest + 2 * objective.ridge)
    point, momentum = theta, 1.0
    value = np.inf
    for done in range(most):
        _, slope = objective.smooth(point)
        moved = _shrunk(point - size * slope, size * objective.lasso)
        if float(np.linalg.norm(moved - point)) <= max(tolerance, 1e-6) * size:
            return _polished(objective, moved, tolerance, done)
        fresh = _whole(objective, moved)
        momentum = 1.0 if fresh > value else momentum
        later = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        point = moved + (momentum - 1) / later * (moved - theta)
        theta, momentum, value = moved, later, fresh
    return SoftmaxMinimum(theta, value, float(np.linalg.norm(moved - point)) / size, False, most)


def _polished(objective: SoftmaxObjective, theta: Array, tolerance: float, done: int) -> SoftmaxMinimum:
    """Newton steps on the coefficients that are not zero, until one would change its sign."""
    active, signs = theta != 0, np.sign(theta)
    norm = np.inf
    for _ in range(_POLISH):
        slope = np.where(active, objective.smooth(theta)[1] + objective.lasso * signs, 0.0)
        norm = float(np.linalg.norm(slope))
        if norm <= tolerance:
            break
        moved = theta + _conjugate(objective, theta, slope, 1e-3 * min(1.0, norm) * norm, active)
        if not np.array_equal(np.sign(moved), signs):
            break
        theta = moved
    return SoftmaxMinimum(theta, _whole(objective, theta), norm, norm <= max(tolerance, 1e-6), done)


def _shrunk(values: Array, by: float) -> Array:
    return np.sign(values) * np.maximum(np.abs(values) - by, 0.0)


def _whole(objective: SoftmaxObjective, theta: Array) -> float:
    return objective.smooth(theta)[0] + objective.lasso * float(np.abs(theta).sum())
