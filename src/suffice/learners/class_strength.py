"""What to fit for several classes at once: class means, and the strength of regularisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from suffice.learners.class_belief import ClassBelief, believe
from suffice.maths.class_projection import project_classes
from suffice.maths.softmax import SoftmaxObjective, minimise_softmax

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from suffice.learners.evidence import Evidence

__all__ = ["ClassTarget", "class_target"]

_LARGEST, _SMALLEST, _FACTOR = 10.0, 1e-8, 2.0
_PATIENCE = 4
_NEAR = (1e-7, 1e-3)
_ENOUGH = (1e-6, 1e-3)


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassTarget:
    """The class means to fit, the strength and why; `inside` is said of the release.

    `gap` is that of its projection, where that is what is fitted: a posterior mean is in Z_K already.
    """

    means: NDArray[np.float64]
    alpha: float
    reason: str
    gap: float
    inside: bool
    start: NDArray[np.float64]


def class_target(evidence: Evidence, alpha: float | None, l1_ratio: float) -> ClassTarget:
    """A strength that is given goes with the release, moved to where labels could have put it.

    Where it is ours to choose, the posterior mean takes the place of the release: it weighs the noise
    once, so that its fit needs next to no penalty. Only a lasso is still given the release, and the
    strength of least expected risk among fits of it.
    """
    rows, means = evidence.rows, evidence.mean
    if alpha is not None:
        point = project_classes(rows, means, tolerance=_tolerance(evidence, 0.1, _NEAR))
        return ClassTarget(point.point, alpha, "given", point.gap, point.inside, point.theta)
    variance = _contrast_variance(evidence)
    belief = believe(rows, means, variance, count=evidence.count, sample=evidence.sampled)
    if l1_ratio > 0:
        point = project_classes(rows, means, tolerance=_tolerance(evidence, 0.1, _NEAR))
        chosen, reason = _search(belief, point.point, _tolerance(evidence, 0.1, _NEAR))
        return ClassTarget(point.point, chosen, reason, point.gap, point.inside, np.zeros_like(means))
    theta = minimise_softmax(rows, belief.posterior, alpha=belief.light, tolerance=1e-6).theta
    near = _tolerance(evidence, 1.0, _ENOUGH)
    point = project_classes(rows, means, tolerance=near, start=theta, until_separated=True)
    reason = (
        f"fit to the posterior mean given the noise, at a signal of about {belief.signal:.2g} logits "
        f"between {len(means)} classes, judged on {len(belief.seen)} public rows; what penalty is left is "
        "for conditioning"
    )
    return ClassTarget(belief.posterior, belief.light, reason, 0.0, point.inside, theta)


def _contrast_variance(evidence: Evidence) -> float:
    """The variance of the noise in each direction in which blocks add up to zero."""
    kinds, width = evidence.mean.shape
    return float(evidence.covariance.trace() / ((kinds - 1) * width))


def _tolerance(evidence: Evidence, share: float, limits: tuple[float, float]) -> float:
    """A gap that is a share of the squared length of the noise, within limits, in squared longest rows."""
    longest = float(np.einsum("ij,ij->i", evidence.rows, evidence.rows).max()) or 1.0
    return float(np.clip(share * evidence.covariance.trace() / longest, *limits))


def _search(belief: ClassBelief, means: NDArray[np.float64], tolerance: float) -> tuple[float, str]:
    """Down from a strong penalty, each fit started from the last, until the risk has stopped falling."""
    rows = belief.seen
    point = project_classes(rows, means, tolerance=max(tolerance, 1e-4)).point
    alphas, risks = [_LARGEST], [np.inf]
    theta, alpha = np.zeros_like(point), _LARGEST
    judged = SoftmaxObjective(rows, belief.expected)
    while alpha >= _SMALLEST and len(risks) - int(np.argmin(risks)) <= _PATIENCE:
        theta = minimise_softmax(rows, point, alpha=alpha, start=theta, tolerance=1e-6).theta
        alphas.append(alpha)
        risks.append(judged.smooth(theta)[0])
        alpha /= _FACTOR
    best = int(np.argmin(risks))
    return alphas[best], (
        f"least expected softmax risk, {risks[best]:.3g}, given the noise and a signal of about "
        f"{belief.signal:.2g} logits between {len(means)} classes, judged on {len(rows)} public rows"
    )
