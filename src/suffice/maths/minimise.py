"""Minimise the risk of a linear-odd loss from feature rows and a mean operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from suffice.core.errors import InputError
from suffice.maths.even_pass import Rows, even_pass
from suffice.maths.linear_odd import LinearOdd

Array: TypeAlias = NDArray[np.float64]

_ARMIJO = 1e-4
_HALVINGS = 60
_SWEEPS = 400


@final
@dataclass(frozen=True, slots=True)
class Minimum:
    """Where the objective was least: its value, the norm of its (sub)gradient there and its Hessian.

    `hessian` is that of the smooth part, the squared norm included. `converged` is False where the
    objective has no minimiser (a mean operator outside the zonotope without a penalty) or where
    `iterations` ran out.
    """

    theta: Array
    value: float
    gradient_norm: float
    hessian: Array
    converged: bool
    iterations: int


@final
@dataclass(frozen=True, slots=True)
class Objective:
    """(1/m) sum w_i even(x_i theta) - (a/2) <theta, mean> + alpha ((1 - r) ||theta||^2 + r ||theta||_1).

    Here r is l1_ratio. The squared norm carries alpha and not alpha/2, and every coordinate is
    penalised, an intercept too.
    """

    loss: LinearOdd
    X: Rows
    mean: Array
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

    def smooth(self, theta: Array, *, want_hessian: bool = True) -> tuple[float, Array, Array | None]:
        """Value, gradient and Hessian of all but the sum of absolute values, in one pass over the rows."""
        part = even_pass(self.loss, self.X, theta, want_hessian, self.weights)
        value = part.value - self.loss.a / 2 * float(theta @ self.mean) + self.ridge * float(theta @ theta)
        gradient = part.gradient - self.loss.a / 2 * self.mean + 2 * self.ridge * theta
        if part.hessian is None:
            return value, gradient, None
        return value, gradient, part.hessian + 2 * self.ridge * np.eye(len(theta))

    def value(self, theta: Array) -> float:
        """The whole objective."""
        return self.smooth(theta, want_hessian=False)[0] + self.lasso * float(np.abs(theta).sum())


def minimise(  # noqa: PLR0913  the penalty has two numbers, the solver two limits
    loss: LinearOdd,
    X: Rows,
    mean: Array,
    *,
    alpha: float = 0.0,
    l1_ratio: float = 0.0,
    weights: Array | None = None,
    start: Array | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 200,
) -> Minimum:
    """Minimise `Objective` by Newton steps with a line search, proximal where l1_ratio > 0.

    Each iteration reads the rows once, more only where a step must be shortened. For the square and
    unhinged losses the first step is the closed form: (X'X/m + alpha I)^-1 mean, and a mean / (4 alpha).
    """
    objective = Objective(loss, X, np.asarray(mean, dtype=np.float64), alpha, l1_ratio, weights)
    _check(objective)
    theta = np.zeros(len(objective.mean)) if start is None else np.array(start, dtype=np.float64)
    value, gradient, hessian = _evaluate(objective, theta)
    lost = _lowest(loss)
    iterations = 0
    while iterations < max_iterations:
        norm = float(np.linalg.norm(_subgradient(objective, theta, gradient)))
        if norm <= tolerance or value < lost:
            break
        step = (
            _newton(hessian, gradient, objective)
            if objective.lasso == 0
            else _proximal(hessian, gradient, theta, objective.lasso)
        )
        found = _search(objective, theta, step, value, gradient)
        if found is None:
            break
        theta, value, gradient, hessian = found
        iterations += 1
    norm = float(np.linalg.norm(_subgradient(objective, theta, gradient)))
    return Minimum(theta, value, norm, hessian, norm <= tolerance and value >= lost, iterations)


def _check(objective: Objective) -> None:
    loss, alpha, ratio = objective.loss, objective.alpha, objective.l1_ratio
    if not (np.isfinite(alpha) and alpha >= 0 and 0 <= ratio <= 1):
        msg = f"alpha must be finite and at least 0, l1_ratio in [0, 1]; got alpha={alpha}, l1_ratio={ratio}"
        raise InputError(msg)
    if not np.isfinite(objective.mean).all():
        msg = "the mean operator must be finite"
        raise InputError(msg)
    if not loss.smooth:
        msg = (
            f"the loss {loss.name!r} has a corner at 0, where its penalised risk is least: theta = 0; "
            "use a smooth loss such as logistic"
        )
        raise InputError(msg)
    if not loss.convex:
        msg = f"the loss {loss.name!r} is not convex; only convex losses can be minimised"
        raise InputError(msg)
    if loss.existence == "penalty" and objective.ridge == 0:
        msg = f"the loss {loss.name!r} needs a squared penalty: give alpha > 0, l1_ratio < 1"
        raise InputError(msg)


def _lowest(loss: LinearOdd) -> float:
    """Below this the objective proves the mean to be outside the zonotope; -inf where it proves nothing."""
    if loss.existence != "zonotope":
        return -np.inf
    far = np.array([0.0, 1.0, 1e2, 1e4, 1e6])
    return float(np.min(loss.value(far))) - 1e-6


def _evaluate(objective: Objective, theta: Array) -> tuple[float, Array, Array]:
    value, gradient, hessian = objective.smooth(theta)
    if hessian is None:
        msg = "a pass with a Hessian gave none"
        raise InputError(msg)
    return value + objective.lasso * float(np.abs(theta).sum()), gradient, hessian


def _subgradient(objective: Objective, theta: Array, gradient: Array) -> Array:
    """The shortest subgradient; the gradient itself without absolute values."""
    weight = objective.lasso
    if weight == 0:
        return gradient
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - weight, 0.0)
    return np.where(theta == 0, at_zero, gradient + weight * np.sign(theta))


def _newton(hessian: Array, gradient: Array, objective: Objective) -> Array:
    """-H^-1 g; where H may be singular its small eigenvalues are lifted in proportion to the gradient."""
    if objective.ridge > 0:
        return np.asarray(-np.linalg.solve(hessian, gradient), dtype=np.float64)
    values, vectors = np.linalg.eigh(hessian)
    turned = vectors.T @ gradient
    turned[np.abs(turned) <= 1e-14 * (1.0 + np.abs(objective.mean).max())] = 0.0
    floor = max(1e-14 * len(values) * float(values[-1]), 1e-3 * float(np.linalg.norm(gradient)), 1e-300)
    return np.asarray(-vectors @ (turned / np.maximum(values, floor)), dtype=np.float64)


def _proximal(hessian: Array, gradient: Array, theta: Array, weight: float) -> Array:
    """Minimise the quadratic model plus weight * ||theta + step||_1, one coordinate at a time, then exactly
    on the coordinates that stayed away from zero.
    """
    diagonal = np.diag(hessian) + 1e-300
    point, slope = theta.copy(), gradient.copy()
    for _ in range(_SWEEPS):
        moved = 0.0
        for j in range(len(point)):
            target = point[j] - slope[j] / diagonal[j]
            fresh = np.sign(target) * max(abs(target) - weight / diagonal[j], 0.0)
            change = fresh - point[j]
            if change != 0.0:
                slope += hessian[:, j] * change
                point[j] = fresh
                moved = max(moved, abs(change) * float(np.sqrt(diagonal[j])))
        if moved <= 1e-12 * (1.0 + float(np.abs(point).max())):
            break
    return _polish(hessian, gradient, theta, weight, point) - theta


def _polish(hessian: Array, gradient: Array, theta: Array, weight: float, point: Array) -> Array:
    active = point != 0
    if not active.any():
        return point
    signs = np.sign(point[active])
    wanted = hessian[np.ix_(active, np.ones_like(active))] @ theta - gradient[active] - weight * signs
    exact = np.linalg.lstsq(hessian[np.ix_(active, active)], wanted, rcond=None)[0]
    if not (np.sign(exact) == signs).all():
        return point
    polished = np.zeros_like(point)
    polished[active] = exact
    return polished


def _search(
    objective: Objective, theta: Array, step: Array, value: float, gradient: Array
) -> tuple[Array, float, Array, Array] | None:
    """Halve the step until the objective falls enough or, at the limit of rounding, the gradient does."""
    lasso = objective.lasso
    before = float(np.linalg.norm(_subgradient(objective, theta, gradient)))
    promised = float(gradient @ step) + lasso * float(np.abs(theta + step).sum() - np.abs(theta).sum())
    size = 1.0
    for _ in range(_HALVINGS):
        trial = theta + size * step
        fresh, slope, hessian = _evaluate(objective, trial)
        rounding = 1e-12 * (1.0 + abs(value))
        nearer = float(np.linalg.norm(_subgradient(objective, trial, slope))) < before
        if fresh <= value + _ARMIJO * size * promised or (nearer and fresh <= value + rounding):
            return trial, fresh, slope, hessian
        size /= 2
    return None
