"""Minimise the multinomial logistic risk from feature rows and one mean per class.

The risk of K linear scores is (1/m) Σ log Σ_k exp<θ_k, x_i> - Σ_k <θ_k, M_k>, where M_k is the mean of
1[y = k]·x: labels enter through the class means alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from suffice.core.errors import InputError
from suffice.maths.conjugate import Product, class_preconditioner, conjugate, sampled

Array: TypeAlias = NDArray[np.float64]

__all__ = ["Place", "SoftmaxMinimum", "SoftmaxObjective", "minimise_softmax", "softmax"]

_ARMIJO = 1e-4
_HALVINGS = 50
_POLISH = 30
_PRODUCTS = 250
_REUSED = 3
_BLOCK = 8192
_KEPT = 1 << 24


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
        place = self.at(theta)
        return place.value, place.gradient

    def at(self, theta: Array) -> Place:
        """The same, with the probabilities of every row, so that products with the Hessian are cheap."""
        value, gradient = 0.0, np.zeros_like(theta)
        kept: list[Array] | None = [] if theta.shape[0] * len(self.X) <= _KEPT else None
        for rows, share in self._blocks():
            chance, level = _by_class(theta, rows)
            value += float(level.sum() if share is None else level @ share)
            gradient += (chance if share is None else chance * share) @ rows
            if kept is not None:
                kept.append(chance)
        m = len(self.X)
        value = value / m - float((theta * self.means).sum()) + self.ridge * float((theta * theta).sum())
        return Place(theta, value, gradient / m - self.means + 2 * self.ridge * theta, kept)

    def curvature(self, place: Place, along: Array) -> Array:
        """The Hessian of the smooth part times a direction, in one pass over the rows."""
        total = np.zeros_like(along)
        for at, (rows, share) in enumerate(self._blocks()):
            chance = _by_class(place.theta, rows)[0] if place.chance is None else place.chance[at]
            bent = along @ rows.T
            bent -= np.einsum("kb,kb->b", chance, bent)
            bent *= chance
            total += (bent if share is None else bent * share) @ rows
        return total / len(self.X) + 2 * self.ridge * along

    def preconditioner(self, place: Place) -> Product:
        """A near inverse of the Hessian, from evenly placed rows."""
        every = sampled(len(self.X), *place.theta.shape)
        rows = self.X[every]
        if self.weights is not None:
            rows = rows * np.sqrt(self.weights[every])[:, None]
        return class_preconditioner(rows, _by_class(place.theta, self.X[every])[0], 2 * self.ridge)

    def _blocks(self) -> list[tuple[Array, Array | None]]:
        cuts = range(0, len(self.X), _BLOCK)
        return [
            (self.X[at : at + _BLOCK], None if self.weights is None else self.weights[at : at + _BLOCK])
            for at in cuts
        ]


@final
@dataclass(frozen=True, slots=True)
class Place:
    """A parameter with the value and gradient there; probabilities are kept, a block of rows each, if few."""

    theta: Array
    value: float
    gradient: Array
    chance: list[Array] | None


def _by_class(theta: Array, rows: Array) -> tuple[Array, Array]:
    """Probabilities, a row per class, and the logarithm of their normaliser."""
    grown = theta @ rows.T
    top = grown.max(axis=0)
    grown -= top
    np.exp(grown, out=grown)
    total = grown.sum(axis=0)
    grown /= total
    return grown, np.log(total) + top


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
    """Newton steps by conjugate gradients, preconditioned; accelerated proximal steps where l1_ratio > 0."""
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
    near: Product = _same
    place = objective.at(theta)
    lost = -np.inf if objective.ridge > 0 else -1e-6  # below zero no labels could have given these means
    for done in range(most):
        norm = float(np.linalg.norm(place.gradient))
        if norm <= tolerance or place.value < lost:
            return SoftmaxMinimum(place.theta, place.value, norm, norm <= tolerance, done)
        near = objective.preconditioner(place) if done % _REUSED == 0 else near
        fresh = _searched(objective, place, _step(objective, place, max(tolerance / 2, _forced(norm)), near))
        if fresh is None:
            return SoftmaxMinimum(place.theta, place.value, norm, norm <= tolerance, done)
        place = fresh
    norm = float(np.linalg.norm(place.gradient))
    return SoftmaxMinimum(place.theta, place.value, norm, norm <= tolerance, most)


def _forced(norm: float) -> float:
    """How far a Newton step is solved: nearer as the gradient shrinks."""
    return float(min(0.1, norm**0.5) * norm)


def _same(block: Array) -> Array:
    return block


def _step(
    objective: SoftmaxObjective,
    place: Place,
    enough: float,
    near: Product = _same,
    active: Array | float = 1.0,
) -> Array:
    """The Newton step on the active coefficients, solved until this is left of the gradient."""
    return conjugate(
        lambda along: active * objective.curvature(place, along),
        place.gradient * active,
        near,
        enough,
        min(place.theta.size, _PRODUCTS),
    )


def _searched(objective: SoftmaxObjective, place: Place, step: Array) -> Place | None:
    """Halve the step until the value falls enough or, at the limit of rounding, the gradient does."""
    norm = float(np.linalg.norm(place.gradient))
    promised = float((place.gradient * step).sum())
    size = 1.0
    for _ in range(_HALVINGS):
        fresh = objective.at(place.theta + size * step)
        nearer = float(np.linalg.norm(fresh.gradient)) < norm
        if fresh.value <= place.value + _ARMIJO * size * promised:
            return fresh
        if nearer and fresh.value <= place.value + 1e-12 * (1 + abs(place.value)):
            return fresh
        size /= 2
    return None


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
        place = objective.at(theta)
        slope = np.where(active, place.gradient + objective.lasso * signs, 0.0)
        norm = float(np.linalg.norm(slope))
        if norm <= tolerance:
            break
        moved = theta + _step(
            objective,
            replace(place, gradient=slope),
            1e-3 * min(1.0, norm) * norm,
            active=active.astype(np.float64),
        )
        if not np.array_equal(np.sign(moved), signs):
            break
        theta = moved
    return SoftmaxMinimum(theta, _whole(objective, theta), norm, norm <= max(tolerance, 1e-6), done)


def _shrunk(values: Array, by: float) -> Array:
    return np.sign(values) * np.maximum(np.abs(values) - by, 0.0)


def _whole(objective: SoftmaxObjective, theta: Array) -> float:
    return objective.smooth(theta)[0] + objective.lasso * float(np.abs(theta).sum())
