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
from suffice.learners.strength import believe, imagine, spread
from suffice.maths.linear_odd import loss_named
from suffice.maths.softmax import softmax
from suffice.releases.release import Release

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from suffice.learners.evidence import Evidence
    from suffice.maths.linear_odd import LinearOdd

__all__ = ["judge", "tune"]

Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]
Learner = TypeVar("Learner", bound=MeanOperatorClassifier)

_SETTINGS = frozenset({"loss", "alpha", "l1_ratio", "max_iter", "tol"})
_ROWS = 2000
_DRAWS = 200


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
    expectations given the release, over public rows. The least risk is kept. Accuracies are rarely
    told apart by a noisy release, so of all that are within their doubt of the best the most
    cautious is kept, the one of the smallest margins. Of equals it is the first.

    The estimator that was given stays as it is. What comes back is fitted, and has `tuning_`: the
    settings in columns, and beside each its predicted risk, or its predicted accuracy and the doubt
    of that: the posterior standard deviation of its difference from the best.
    """
    if scoring not in {"risk", "accuracy"}:
        raise InputError(f"scoring= is 'risk' or 'accuracy', and got {scoring!r}.")
    if not isinstance(estimator, MeanOperatorClassifier):
        raise InputError(f"tune works on a MeanOperatorClassifier, and got a {type(estimator).__name__}.")
    points = _points(grid, scoring)
    evidence = _evidence(X, release, rows)
    fits = []
    for point in points:
        candidate = clone(estimator).set_params(**point)
        loss = loss_named(candidate.loss)
        penalty = Penalty(candidate.alpha, candidate.l1_ratio, candidate.tol, candidate.max_iter)
        fits.append((solve(evidence, loss, penalty).theta, loss))
    best, told = judge(evidence, fits, scoring)
    chosen: Learner = clone(estimator).set_params(**points[best]).fit(X, release, rows=rows)
    names = sorted({name for point in points for name in point})
    chosen.tuning_ = {name: [point.get(name) for point in points] for name in names} | told
    return chosen


def judge(
    evidence: Evidence,
    fits: Sequence[tuple[NDArray[np.float64], LinearOdd]],
    scoring: Literal["risk", "accuracy"],
) -> tuple[int, dict[str, list[float]]]:
    """Which of several fits to keep, and what is predicted of each."""
    seen = spread(evidence.rows, _ROWS)
    margins = [seen @ theta.T for theta, _ in fits]
    if scoring == "risk":
        labels = _expected_labels(evidence, seen)
        risks = [_risk(each, labels, loss) for each, (_, loss) in zip(margins, fits, strict=True)]
        return int(np.argmin(risks)), {"risk": risks}
    hits = np.stack(_accuracies(evidence, seen, margins))
    means = hits.mean(axis=1)
    doubts = (hits - hits[means.argmax()]).std(axis=1)
    good = np.flatnonzero(means >= means.max() - doubts)
    sizes = [float(np.square(margins[k]).mean()) for k in good]
    return int(good[np.argmin(sizes)]), {"accuracy": means.tolist(), "doubt": doubts.tolist()}


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


def _expected_labels(evidence: Evidence, seen: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each row the expected label in [-1, 1], or for K classes the expected probability of each."""
    if evidence.mean.ndim == 1:
        return believe(seen, evidence.mean, evidence.covariance, count=evidence.count)[0]
    each = [one_class(evidence, k) for k in range(len(evidence.mean))]
    signed = [believe(seen, one.mean, one.covariance, count=one.count)[0] for one in each]
    return _chances(np.stack(signed, axis=1))


def _chances(signed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities along the second axis, from the expected sign of each class against the rest."""
    chances = np.clip((1.0 + signed) / 2.0, 1e-9, 1.0)
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def _accuracies(
    evidence: Evidence, seen: NDArray[np.float64], margins: list[NDArray[np.float64]]
) -> list[NDArray[np.float64]]:
    """For each fit the share of rows in the right class, under each of the parameters drawn."""
    if evidence.mean.ndim == 1:
        labels = imagine(seen, evidence.mean, evidence.covariance, count=evidence.count, draws=_DRAWS)
        return [(1.0 + np.sign(each) @ labels / len(seen)) / 2.0 for each in margins]
    classes = [one_class(evidence, k) for k in range(len(evidence.mean))]
    drawn = [imagine(seen, one.mean, one.covariance, count=one.count, draws=_DRAWS) for one in classes]
    chances = _chances(np.stack(drawn, axis=1))
    return [chances[np.arange(len(seen)), each.argmax(axis=1)].mean(axis=0) for each in margins]


def _risk(margins: NDArray[np.float64], labels: NDArray[np.float64], loss: LinearOdd) -> float:
    """The expected risk: softmax for the logistic loss of K classes, else one class against the rest."""
    if margins.ndim == 1:
        return float(np.mean(loss.even(margins) - loss.a / 2 * labels * margins))
    if loss.name == "logistic":
        return float(np.mean(softmax(margins)[1] - (labels * margins).sum(axis=1)))
    signed = 2.0 * labels - 1.0
    return float(np.mean((loss.even(margins) - loss.a / 2 * signed * margins).sum(axis=1)))
