"""Linear classifiers from a mean operator: exact, noisy, or computed here from plain labels."""

from __future__ import annotations

import warnings
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from suffice.core.column import Numeric
from suffice.core.errors import InputError, UnsupportedPair, UtilityWarning
from suffice.core.guarantees import Guarantee, NotPrivate
from suffice.core.moments import Moments
from suffice.core.recipe import Recipe
from suffice.core.units import LabelOf
from suffice.learners.class_uncertainty import LARGEST, unregularised_classes
from suffice.learners.evidence import Evidence, clipped, from_labels, from_moments, from_release, vectors
from suffice.learners.export import linear_model, plain_model
from suffice.learners.solution import Penalty, solve
from suffice.learners.square import Explained, explained
from suffice.learners.uncertainty import input_units, unregularised
from suffice.learners.vector import unrounded
from suffice.maths.linear_odd import LinearOdd, loss_named
from suffice.maths.softmax import softmax
from suffice.releases.release import Release

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from suffice.core.bounds import Bound
    from suffice.core.column import Column

__all__ = ["MeanOperatorClassifier"]


class MeanOperatorClassifier(ClassifierMixin, BaseEstimator):
    """A linear classifier by a linear-odd loss, for which the mean operator says all that labels say.

    Whichever argument of `fit` is private may be a release: `fit(X, release)` trains from the
    owner's file and the public rows; `fit(X, labels)` is ordinary supervised learning with the
    same loss, the same recipe and the same bound.

    Parameters
    ----------
    loss : str or LinearOdd
        "logistic", "square", "matsushita", "modified_huber", "unhinged", "linear", or a loss of
        your own.
    alpha : "noise" or float
        Strength of regularisation: alpha·((1 - l1_ratio)·‖θ‖² + l1_ratio·‖θ‖₁), intercept
        included. "noise" chooses it from public facts: the rows, the noise law of the release
        and the noisy statistic. No privacy is spent on it.
    l1_ratio : float
        0 is ridge, 1 is lasso.
    recipe, bound : Recipe and Bound, or None
        How rows become vectors when plain labels are given. A release brings its own.
    fit_intercept : bool
        With plain labels and no recipe. A release decides this itself.
    class_weight : None, "balanced" or dict
        With plain labels only: an aggregate cannot be reweighted.
    max_iter, tol : int, float
        Limits of the solver.

    Attributes
    ----------
    theta_ : coefficients of the vector, in the units of the recipe.
    coef_, intercept_ : coefficients in the units of the input columns.
    coef_covariance_ : their covariance, intercept last, class after class for K of them; NaN where no
        unregularised estimate exists, empty for K classes of more than 2,000 coefficients.
    alpha_, strength_ : the strength used, and how it was chosen.
    projection_gap_, inside_ : how far the projection onto the zonotope may be off, and whether the
        statistic was inside it already.
    explained_ : for a release on a feature table, how much of the labels' variance each family of its
        coordinates explains, the noise taken off, with a standard error; else empty.
    privacy_ : the guarantee of what was learned from.
    """

    recipe_: Recipe | None
    privacy_: Guarantee | None
    explained_: tuple[Explained, ...]
    theta_: NDArray[np.float64]

    def __init__(  # noqa: PLR0913  an estimator's settings are its arguments
        self,
        loss: str | LinearOdd = "logistic",
        *,
        alpha: Literal["noise"] | float = "noise",
        l1_ratio: float = 0.0,
        recipe: Recipe | None = None,
        bound: Bound | None = None,
        fit_intercept: bool = True,
        class_weight: str | dict[Any, float] | None = None,
        max_iter: int = 200,
        tol: float = 1e-9,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.recipe = recipe
        self.bound = bound
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.tol = tol

    def fit(
        self,
        X: Any,
        y: ArrayLike | Release | Moments,
        *,
        rows: Literal["same", "sample"] = "same",
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from public rows X, and from labels, a release or moments in y's place.

        `rows="sample"` says that X is another sample of the population that the release is of.
        """
        if rows not in {"same", "sample"}:
            raise InputError(f"rows= is 'same' or 'sample', and got {rows!r}.")
        if isinstance(y, Release | Moments):
            self._refuse_weights(sample_weight)
            evidence = (
                self._from_release(X, y, rows) if isinstance(y, Release) else self._from_moments(X, y, rows)
            )
        else:
            evidence = self._from_labels(X, y, sample_weight)
        return self._solve(evidence)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The margin of each row, or one score per class for K of them. Rows are not shortened."""
        check_is_fitted(self)
        return np.asarray(self._vectors(X) @ self.theta_.T)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        scores = self.decision_function(X)
        best = scores.argmax(axis=1) if scores.ndim > 1 else (scores > 0).astype(np.intp)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class, as the loss understands its margin."""
        check_is_fitted(self)
        loss, scores = loss_named(self.loss), self.decision_function(X)
        if scores.ndim > 1 and loss.name == "logistic":
            return softmax(scores)[0]
        chance = loss.probability(scores)
        if scores.ndim == 1:
            return np.column_stack([1.0 - chance, chance])
        total = chance.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, chance / np.maximum(total, 1e-300), 1.0 / chance.shape[1]))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def interval(self, level: float = 0.95) -> Any:
        """Confidence intervals of the coefficients in input units, by name, intercept last.

        They speak of the minimiser of the population risk of shortened rows, and are centred on
        the unregularised estimate. Where the noisy statistic lies outside the zonotope there is
        no such estimate, and they are NaN. For K classes there is a row for each class and name: of
        softmax the coefficients that add up to zero over the classes. A pandas or polars frame
        where one is installed, else a dictionary of columns.
        """
        check_is_fitted(self)
        if not 0 < level < 1:
            raise InputError(f"level= is a probability between 0 and 1, and got {level!r}.")
        if np.isnan(self._centre).any():
            reason = (
                f"There are more than {LARGEST} coefficients, too many for a covariance of all of them"
                if self.coef_covariance_.size == 0
                else "The statistic lies outside what any labels could give, or on its border, so the "
                "unregularised estimate does not exist"
            )
            warnings.warn(
                f"{reason}: the intervals are NaN.",
                UtilityWarning,
                stacklevel=2,
            )
        error = np.full(self._centre.size, np.nan)
        if self.coef_covariance_.size:
            error = np.sqrt(np.diag(self.coef_covariance_))
        half = NormalDist().inv_cdf(0.5 + level / 2) * error
        named = list(self.coef_names_) * len(self.coef_)
        classes = {"class": np.repeat(self.classes_, len(self.coef_names_))} if len(self.coef_) > 1 else {}
        return _frame(
            classes
            | {
                "name": named,
                "estimate": self._centre,
                "error": error,
                "low": self._centre - half,
                "high": self._centre + half,
            }
        )

    def to_sklearn(self) -> Any:
        """The same classifier in scikit-learn's own words: a fitted model that needs no suffice.

        Where every column is a number that may not be missing it is a LogisticRegression in the units
        of the input columns; else a Pipeline that encodes a frame first. Predictions agree, and
        probabilities for the logistic loss. For other losses the model is a LinearSVC, which has no
        `predict_proba`: the one of a LogisticRegression would not be that of the loss.
        """
        check_is_fitted(self)
        chances = loss_named(self.loss).name == "logistic"
        recipe = self.recipe_
        if recipe is None or all(_is_plain(column) for column in recipe.columns):
            names = getattr(self, "feature_names_in_", None)
            return linear_model(
                self.coef_, self.intercept_, self.classes_, probabilities=chances, names=names
            )
        return plain_model(recipe, self.theta_, self.classes_, probabilities=chances)

    def _from_release(self, X: Any, release: Release, rows: Literal["same", "sample"]) -> Evidence:
        evidence = from_release(X, release, rows)
        self._bring(release)
        return evidence

    def _bring(self, release: Release) -> None:
        recipe, grid = release.recipe, release.grid
        if recipe is None or grid is None:
            raise UnsupportedPair(f"A release of kind {release.kind} brings no recipe to learn with.")
        if not self.fit_intercept and recipe.intercept:
            raise InputError(
                "The release has an intercept among its coordinates, and fit_intercept=False contradicts it. "
                "Leave fit_intercept at True, or ask for a release with intercept=False."
            )
        self.recipe_, self._bits, self._encoded = recipe, grid.bits, True
        self.classes_ = np.array(release.about["classes"])
        self.privacy_ = release.guarantee
        self.n_features_in_ = len(recipe.reads())
        self.feature_names_in_ = np.array(recipe.reads(), dtype=object)

    def _from_moments(self, X: Any, moments: Moments, rows: Literal["same", "sample"]) -> Evidence:
        matrix = validate_data(self, X, dtype=np.float64)
        self.recipe_ = None
        self.classes_ = np.array(moments.classes)
        self.privacy_ = moments.guarantee
        return from_moments(matrix, moments, rows)

    def _from_labels(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Evidence:
        if self.recipe is None:
            matrix, y = validate_data(self, X, y, dtype=np.float64)
            root = np.sqrt(matrix.shape[1] + bool(self.fit_intercept))
            rows = _with_intercept(matrix, self.fit_intercept) / root
            names = getattr(self, "feature_names_in_", [f"x{place}" for place in range(matrix.shape[1])])
            self.recipe_ = Recipe.of(tuple(map(str, names)), intercept=bool(self.fit_intercept))
        else:
            rows = vectors(X, self.recipe)
            y = check_array(y, ensure_2d=False, dtype=None)
            check_consistent_length(rows, y)
            self.recipe_ = self.recipe
            self.n_features_in_ = len(self.recipe.reads())
            self.feature_names_in_ = np.array(self.recipe.reads(), dtype=object)
        self._bits, self._encoded = 20, self.recipe is not None
        self.privacy_ = Guarantee(NotPrivate("learned from the labels themselves"), LabelOf("y"))
        codes = self._codes(y)
        weights = self._weights(codes, sample_weight)
        if self.bound is not None:
            rows = clipped(rows, self.bound)
        return from_labels(rows, codes, len(self.classes_), weights)

    def _codes(self, y: Any) -> NDArray[np.intp]:
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) == 1:
            raise ValueError(
                f"{type(self).__name__} needs two classes to tell apart, and the data holds one class only: "
                f"{self.classes_[0]!r}"
            )
        return codes

    def _weights(
        self, codes: NDArray[np.intp], sample_weight: ArrayLike | None
    ) -> NDArray[np.float64] | None:
        if sample_weight is None and self.class_weight is None:
            return None
        weights = np.ones(len(codes))
        if sample_weight is not None:
            weights = check_array(
                sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
            )
            if weights.ndim != 1:
                raise ValueError("Sample weights must be 1D array or scalar")
            check_consistent_length(codes, weights)
            if not weights.sum() > 0:
                raise ValueError("The sum of the sample weights is zero: no row has any weight. Give some.")
        if self.class_weight is not None:
            given = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_[codes])
            weights = weights * given[codes]
        return weights

    def _refuse_weights(self, sample_weight: ArrayLike | None) -> None:
        if sample_weight is None and self.class_weight is None:
            return
        raise InputError(
            "A release is one sum over all rows, so rows and classes cannot be weighted any more. Leave out "
            "sample_weight and class_weight, or ask the owner for a release of the rows that matter."
        )

    def _solve(self, evidence: Evidence) -> Self:
        loss = loss_named(self.loss)
        found = solve(evidence, loss, Penalty(self.alpha, self.l1_ratio, self.tol, self.max_iter))
        self.theta_, self.n_iter_ = found.theta, max(1, found.iterations)
        self.alpha_, self.strength_ = found.alpha, found.reason
        self.projection_gap_, self.inside_ = found.gap, found.inside
        self._warn(evidence, loss)
        self._report(evidence, loss)
        self._tell_families(evidence)
        return self

    def _tell_families(self, evidence: Evidence) -> None:
        """What each family of a feature table explains, and a warning where noise hides all of it."""
        self.explained_ = explained(evidence, () if self.recipe_ is None else self.recipe_.names)
        if self.explained_ and all(one.share < 2.0 * one.error for one in self.explained_):
            names = ", ".join(one.family for one in self.explained_)
            warnings.warn(
                f"No family of features ({names}) explains the labels by more than the noise could. Ask for "
                "a larger epsilon, or for other features.",
                UtilityWarning,
                stacklevel=4,
            )

    def _warn(self, evidence: Evidence, loss: LinearOdd) -> None:
        """Say so where the solver stopped early, or was sent after a minimiser that is not there."""
        if (
            self.alpha_ == 0
            and loss.existence == "zonotope"
            and not (self.inside_ and self._bounded(evidence))
        ):
            warnings.warn(
                "With alpha=0 the objective has no minimiser here: the mean operator is on the border of "
                "what labels could give, or beyond. What was fitted is where the solver stopped. "
                "Give a penalty, or alpha='noise'.",
                UtilityWarning,
                stacklevel=4,
            )
        elif self.theta_.ndim == 1 and self.n_iter_ >= self.max_iter:
            warnings.warn(
                f"The solver stopped at max_iter={self.max_iter} before it converged. Allow more iterations, "
                "or a stronger penalty.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _bounded(self, evidence: Evidence) -> bool:
        """Whether the fit does not separate the classes: no margin could grow for ever at no cost."""
        if evidence.mean.ndim > 1:
            return True
        margins = np.abs(evidence.block @ self.theta_)
        farthest = float(
            margins.mean() if evidence.weights is None else margins @ evidence.weights / len(margins)
        )
        return farthest - float(self.theta_ @ evidence.mean) > 1e-9 * farthest

    def _report(self, evidence: Evidence, loss: LinearOdd) -> None:
        """Coefficients and their covariance in the units of the input columns."""
        plain_names = [f"x{place}" for place in range(evidence.block.shape[1])]
        names = plain_names if self.recipe_ is None else self.recipe_.names
        turn = np.eye(len(names) + 1, len(names)) if self.recipe_ is None else input_units(self.recipe_)
        plain = np.atleast_2d(self.theta_) @ turn.T
        self.coef_, self.intercept_ = plain[:, :-1], plain[:, -1]
        self.coef_names_ = (*[name for name in names if name != "intercept"], "intercept")
        found = self._unregularised(evidence, loss)
        size = plain.size if found is not None or plain.size <= LARGEST else 0
        self._centre = np.full(plain.size, np.nan)
        self.coef_covariance_ = np.full((size, size), np.nan)
        if found is not None:
            centre, covariance = found
            self._centre = (np.atleast_2d(centre) @ turn.T).ravel()
            every = np.kron(np.eye(len(plain)), turn)
            self.coef_covariance_ = every @ covariance @ every.T

    def _unregularised(
        self, evidence: Evidence, loss: LinearOdd
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        if not self.inside_ or loss.existence == "penalty":
            return None
        if self.theta_.ndim > 1:
            return unregularised_classes(evidence, loss, self.theta_)
        return unregularised(evidence, loss, self.theta_)

    def _vectors(self, X: Any) -> NDArray[np.float64]:
        if self.recipe_ is None:
            return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))
        if self._encoded:
            return unrounded(X, self.recipe_)
        matrix = validate_data(self, X, dtype=np.float64, reset=False)
        rows = _with_intercept(matrix, self.recipe_.intercept)
        return np.asarray(rows / np.sqrt(rows.shape[1]))


def _is_plain(column: Column) -> bool:
    return isinstance(column, Numeric) and column.missing == "refuse"


def _with_intercept(matrix: NDArray[np.float64], intercept: bool) -> NDArray[np.float64]:  # noqa: FBT001
    return np.column_stack([matrix, np.ones(len(matrix), matrix.dtype)]) if intercept else matrix


def _frame(columns: dict[str, Any]) -> Any:
    """A data frame of whichever library is loaded or installed, pandas first, else the columns."""
    for library in ("pandas", "polars"):
        try:
            return __import__(library).DataFrame(columns)
        except ImportError:
            continue
    return columns
