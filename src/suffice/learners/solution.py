"""From evidence to coefficients: project, choose the strength, minimise."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from suffice.core.errors import InputError
from suffice.learners.class_strength import ClassTarget, class_target
from suffice.learners.evidence import Evidence, mixed_covariance, of_other_rows
from suffice.learners.square import ridge
from suffice.learners.strength import choose
from suffice.maths.even_pass import Rows, narrowed, second_moment
from suffice.maths.minimise import minimise
from suffice.maths.softmax import minimise_softmax
from suffice.maths.zonotope import Zonotope, project

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from suffice.maths.linear_odd import LinearOdd

__all__ = ["Penalty", "Solution", "one_class", "solve"]

_LOGIT = 8.0
_RANK = 1e-10


@final
@dataclass(frozen=True, slots=True)
class Penalty:
    """How coefficients are penalised, and how far the solver goes."""

    alpha: float | Literal["noise"]
    l1_ratio: float
    tolerance: float
    iterations: int

    def __post_init__(self) -> None:
        """Refuse a strength that is neither a number nor "noise"."""
        if self.alpha != "noise" and not (isinstance(self.alpha, Real) and 0 <= self.alpha < np.inf):
            raise InputError(f"alpha is 'noise' or a finite number from 0 up, and got {self.alpha!r}.")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Coefficients of the vector (a row per class for K of them), and how they were found.

    `gap` bounds how far the projection onto the zonotope may be off; `inside` says that the noisy
    mean was in it already, so that an unregularised estimate exists.
    """

    theta: NDArray[np.float64]
    alpha: float
    reason: str
    gap: float
    inside: bool
    iterations: int


def solve(evidence: Evidence, loss: LinearOdd, penalty: Penalty) -> Solution:
    """Two classes by the loss itself; K by softmax for the logistic loss, else one against the rest."""
    if closed(evidence, loss, penalty):
        found = ridge(evidence, None)
        return Solution(found.theta, found.alpha, found.reason, 0.0, True, 1)
    if evidence.mean.ndim == 1:
        return _binary(evidence, loss, penalty)
    if loss.name == "logistic":
        return _softmax(evidence, loss, penalty)
    each = [_binary(one_class(evidence, k), loss, penalty) for k in range(len(evidence.mean))]
    reasons = "; ".join(dict.fromkeys(solution.reason for solution in each))
    return Solution(
        np.stack([solution.theta for solution in each]),
        float(np.exp(np.mean([np.log(max(solution.alpha, 1e-300)) for solution in each]))),
        f"one class against the rest, each by itself: {reasons}",
        max(solution.gap for solution in each),
        all(solution.inside for solution in each),
        max(solution.iterations for solution in each),
    )


def closed(evidence: Evidence, loss: LinearOdd, penalty: Penalty) -> bool:
    """Whether one decomposition of the rows' second moments serves all classes and every strength."""
    ours = penalty.alpha == "noise" and penalty.l1_ratio == 0
    return loss.name == "square" and ours and not evidence.exact and not evidence.sampled


def one_class(evidence: Evidence, k: int) -> Evidence:
    """The evidence for class k against the rest: signs are 2·1[y=k] - 1."""
    share, rows = evidence.weights, evidence.rows
    plain = rows.mean(axis=0) if share is None else share @ rows / len(rows)
    mean = 2.0 * evidence.mean[k] - plain
    signs = np.zeros((len(evidence.mean), 1))
    signs[k] = 2.0
    spread = mixed_covariance(evidence.covariance, signs)
    one = Evidence(rows, mean, spread, evidence.count, share, evidence.weight)
    return of_other_rows(one) if evidence.sampled else one


def _binary(evidence: Evidence, loss: LinearOdd, penalty: Penalty) -> Solution:
    rows = narrowed(evidence.block)
    mean, alpha, reason, gap, inside = _target(evidence, rows, loss, penalty)
    best = minimise(
        loss,
        rows,
        mean,
        alpha=alpha,
        l1_ratio=penalty.l1_ratio,
        weights=evidence.weights,
        tolerance=penalty.tolerance,
        max_iterations=penalty.iterations,
    )
    return Solution(best.theta, alpha, reason, gap, inside, best.iterations)


def _target(
    evidence: Evidence, rows: NDArray[np.floating[Any]], loss: LinearOdd, penalty: Penalty
) -> tuple[NDArray[np.float64], float, str, float, bool]:
    """The mean to fit, the strength, why, and whether the noisy mean was one that labels could give.

    A noisy mean is moved into the zonotope. Where the strength is ours to choose, the posterior mean
    takes its place: it weighs the noise once, so that its fit needs next to no penalty.
    """
    given = None if penalty.alpha == "noise" else float(penalty.alpha)
    if evidence.exact:
        alpha, reason = _weak_prior(evidence, loss) if given is None else (given, "given")
        return evidence.mean, alpha, reason, 0.0, True
    if loss.existence == "penalty":
        chosen = choose(rows, evidence.mean, evidence.covariance, loss, count=evidence.count)
        alpha, reason = (chosen.alpha, chosen.reason) if given is None else (given, "given")
        return evidence.mean, alpha, reason, 0.0, True
    zonotope, radius = Zonotope(rows), _longest(rows)
    replaced = given is None and penalty.l1_ratio == 0
    raw = project(on_span(rows, evidence.mean), zonotope, radius=radius, until_separated=replaced)
    inside = raw.inside or loss.existence == "span"
    if given is not None:
        return raw.point, given, "given", raw.gap, inside
    chosen = choose(rows, evidence.mean, evidence.covariance, loss, count=evidence.count)
    if not replaced:
        return raw.point, chosen.alpha, chosen.reason, raw.gap, inside
    found = project(chosen.posterior, zonotope, radius=radius)
    return found.point, chosen.light, chosen.reason, found.gap, inside


def on_span(rows: Rows, mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean without its part in directions in which no row lies; noise alone can have put it there."""
    values, directions = np.linalg.eigh(second_moment(rows, len(mean)))
    kept = directions[:, values > _RANK * values[-1]]
    return np.asarray(kept @ (kept.T @ mean))


def _longest(rows: NDArray[np.floating[Any]]) -> float:
    return float(np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64).max()))


def _weak_prior(evidence: Evidence, loss: LinearOdd) -> tuple[float, str]:
    """The penalty of a prior under which logits have a standard deviation of eight; no noise to weigh."""
    if loss.existence == "penalty":
        length = float(np.linalg.norm(evidence.mean)) or 1.0
        return abs(loss.a) * length / 4.0, "the mean is exact; set to give theta unit length"
    weight = evidence.count if evidence.weight is None else evidence.weight
    prior = _LOGIT**2 / max(evidence.second_moment(), 1e-300)
    return 2.0 * loss.curvature_at_zero / (weight * prior), (
        f"the mean is exact; a weak prior, under which logits have a standard deviation of {_LOGIT:g}"
    )


def _softmax(evidence: Evidence, loss: LinearOdd, penalty: Penalty) -> Solution:
    given = None if penalty.alpha == "noise" else float(penalty.alpha)
    if evidence.exact:
        alpha, reason = _weak_prior(evidence, loss) if given is None else (given, "given")
        target = ClassTarget(evidence.mean, alpha, reason, 0.0, True, np.zeros_like(evidence.mean))
    else:
        target = class_target(evidence, given, penalty.l1_ratio)
    best = minimise_softmax(
        evidence.rows,
        target.means,
        alpha=target.alpha,
        l1_ratio=penalty.l1_ratio,
        weights=evidence.weights,
        start=target.start if penalty.l1_ratio == 0 else None,
        tolerance=penalty.tolerance,
        max_iterations=penalty.iterations,
    )
    return Solution(best.theta, target.alpha, target.reason, target.gap, target.inside, best.iterations)
