"""Settings compared on a release: nothing is spent, no label is read.

The risk of a linear-odd loss and the accuracy of a classifier are both linear in the labels, given
the rows. So their expectation given the release is what the same formulas say of the expected labels,
which the posterior of `suffice.learners.strength` holds, the noise law accounted for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from suffice.core.errors import InputError
from suffice.core.moments import Moments
from suffice.learners.evidence import from_moments, from_release
from suffice.learners.mean_operator import MeanOperatorClassifier
from suffice.learners.solution import Penalty, one_class, solve
from suffice.learners.strength import believe, spread
from suffice.maths.linear_odd import loss_named
from suffice.maths.softmax import softmax
from suffice.releases.release import Release

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from suffice.learners.evidence import Evidence
    from suffice.maths.linear_odd import LinearOdd

__all__ = ["expected_labels", "predicted", "tune"]

Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]
Learner = TypeVar("Learner", bound=MeanOperatorClassifier)

_SETTINGS = frozenset({"loss", "alpha", "l1_ratio", "max_iter", "tol"})
_ROWS = 4000


def tune(
    estimator: Learner,
    X: Any,
    release: Release | Moments,
    grid: Grid,
    *,
    scoring: Literal["risk", "accuracy"] = "risk",
    rows: Literal["same", "sample"] = "same",
) -> Learner:
    """Fit every setting of a grid to one release and keep the one that is predicted to do best.

    `grid` maps names of settings to the values to try, as for scikit-learn's grid search; of "loss",
    "alpha", "l1_ratio", "max_iter" and "tol". `scoring` is "risk", the expected risk in the
    estimator's own loss, or "accuracy", the expected share of rows put in the right class; both are
    expectations given the release, over public rows. Of equals the first is kept.

    The estimator that was given stays as it is. What comes back is fitted, and has `tuning_`: the
    settings in columns, and beside each its predicted risk or accuracy.
    """
    if scoring not in {"risk", "accuracy"}:
        raise InputError(f"scoring= is 'risk' or 'accuracy', and got {scoring!r}.")
    if not isinstance(estimator, MeanOperatorClassifier):
        raise InputError(f"tune works on a MeanOperatorClassifier, and got a {type(estimator).__name__}.")
    points = _points(grid, scoring)
    evidence = _evidence(X, release, rows)
    seen, labels = expected_labels(evidence)
    scores = []
    for point in points:
        candidate = clone(estimator).set_params(**point)
        loss = loss_named(candidate.loss)
        penalty = Penalty(candidate.alpha, candidate.l1_ratio, candidate.tol, candidate.max_iter)
        margins = seen @ solve(evidence, loss, penalty).theta.T
        scores.append(predicted(margins, labels, loss, scoring))
    best = int(np.argmax(scores) if scoring == "accuracy" else np.argmin(scores))
    chosen: Learner = clone(estimator).set_params(**points[best]).fit(X, release, rows=rows)
    names = sorted({name for point in points for name in point})
    chosen.tuning_ = {name: [point.get(name) for point in points] for name in names} | {scoring: scores}
    return chosen


def _points(grid: Grid, scoring: str) -> list[dict[str, Any]]:
    """The settings to try, of which there is one at least, and all of which a release leaves open."""
    try:
        points = list(ParameterGrid(grid))
    except (TypeError, ValueError) as error:
        raise InputError(f"grid= has no setting to try, or is none: {error}") from error
    strange = sorted({name for point in points for name in point} - _SETTINGS)
    if strange:
        raise InputError(
            f"{strange[0]!r} cannot be tuned on a release, which brings its recipe, bound and intercept and "
            f"takes no weights. What can be: {', '.join(sorted(_SETTINGS))}."
        )
    losses = {
        point["loss"] if isinstance(point.get("loss"), str) else id(point.get("loss")) for point in points
    }
    if scoring == "risk" and len(losses) > 1:
        raise InputError(
            "Risks in different losses are in different units and cannot be compared. Compare losses with "
            "scoring='accuracy', or tune each loss by itself."
        )
    return points


def _evidence(X: Any, release: Release | Moments, rows: Literal["same", "sample"]) -> Evidence:
    if isinstance(release, Release):
        return from_release(X, release, rows)
    if isinstance(release, Moments):
        return from_moments(np.asarray(X, dtype=np.float64), release, rows)
    raise InputError(
        f"tune judges settings by a release, and got a {type(release).__name__} in its place. "
        "With plain labels use scikit-learn's GridSearchCV."
    )


def expected_labels(evidence: Evidence) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Some of the rows, and for each its expected label in [-1, 1], or for K classes their probabilities."""
    seen = spread(evidence.rows, _ROWS)
    if evidence.mean.ndim == 1:
        return seen, believe(seen, evidence.mean, evidence.covariance, count=evidence.count)[0]
    each = [one_class(evidence, k) for k in range(len(evidence.mean))]
    signed = [believe(seen, one.mean, one.covariance, count=one.count)[0] for one in each]
    chances = np.clip((1.0 + np.stack(signed, axis=1)) / 2.0, 1e-9, 1.0)
    return seen, np.asarray(chances / chances.sum(axis=1, keepdims=True))


def predicted(
    margins: NDArray[np.float64],
    labels: NDArray[np.float64],
    loss: LinearOdd,
    scoring: Literal["risk", "accuracy"],
) -> float:
    """The expected risk or accuracy of these margins, given the expected labels of their rows."""
    return _accuracy(margins, labels) if scoring == "accuracy" else _risk(margins, labels, loss)


def _accuracy(margins: NDArray[np.float64], labels: NDArray[np.float64]) -> float:
    """The expected share of rows in the right class."""
    if margins.ndim == 1:
        return float(np.mean((1.0 + np.where(margins > 0, labels, -labels)) / 2.0))
    return float(np.take_along_axis(labels, margins.argmax(axis=1)[:, None], axis=1).mean())


def _risk(margins: NDArray[np.float64], labels: NDArray[np.float64], loss: LinearOdd) -> float:
    """The expected risk: softmax for the logistic loss of K classes, else one class against the rest."""
    if margins.ndim == 1:
        return float(np.mean(loss.even(margins) - loss.a / 2 * labels * margins))
    if loss.name == "logistic":
        return float(np.mean(softmax(margins)[1] - (labels * margins).sum(axis=1)))
    signed = 2.0 * labels - 1.0
    return float(np.mean((loss.even(margins) - loss.a / 2 * signed * margins).sum(axis=1)))
