"""A fitted classifier in scikit-learn's own words, for those who have scikit-learn and not suffice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures
from sklearn.svm import LinearSVC

from suffice.core.column import Categorical, Cross, Hashed, Numeric
from suffice.core.errors import MissingExtra, UnsupportedPair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from suffice.core.column import Column
    from suffice.core.recipe import Recipe

__all__ = ["linear_model", "plain_model"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """What one column of a recipe becomes: a transformer, the coefficients of what it puts out, a constant.

    `sample` has rows to fit the transformer on; it learns its levels from its settings and not from them.
    """

    transformer: Any
    coefficients: NDArray[np.float64]
    constant: NDArray[np.float64]
    sample: dict[str, list[Any]]


def linear_model(
    coefficients: NDArray[np.float64],
    constants: NDArray[np.float64],
    classes: NDArray[Any],
    *,
    probabilities: bool,
    names: NDArray[Any] | None = None,
) -> LogisticRegression | LinearSVC:
    """A linear model of scikit-learn with these coefficients, as if it had been fitted.

    One that estimates probabilities is a LogisticRegression; a LinearSVC has none to get wrong.
    """
    model = LogisticRegression() if probabilities else LinearSVC()
    model.coef_ = np.atleast_2d(coefficients).astype(np.float64)
    model.intercept_ = np.atleast_1d(constants).astype(np.float64)
    model.classes_ = np.asarray(classes)
    model.n_features_in_ = model.coef_.shape[1]
    model.n_iter_ = np.array([1], dtype=np.int32)
    if names is not None:
        model.feature_names_in_ = np.asarray(names, dtype=object)
    return model


def plain_model(
    recipe: Recipe, theta: NDArray[np.float64], classes: NDArray[Any], *, probabilities: bool
) -> Pipeline:
    """A pipeline from a frame of the recipe's input columns, found by name, to classes.

    `theta` are the coefficients of the vector, a row for each score.
    """
    scores = np.atleast_2d(theta) / np.sqrt(recipe.dimension)
    pieces, offset = [], 0
    for column in recipe.columns:
        width = len(column.names())
        pieces.append(_piece(column, scores[:, offset : offset + width]))
        offset += width
    constant = scores[:, -1] if recipe.intercept else np.zeros(len(scores))
    constant = constant + sum(piece.constant for piece in pieces)
    steps = [
        (f"{place}-{'-'.join(column.reads())}", piece.transformer, list(column.reads()))
        for place, (column, piece) in enumerate(zip(recipe.columns, pieces, strict=True))
    ]
    encoder = ColumnTransformer(steps, sparse_threshold=0.0)
    encoder.fit(_sample(recipe, pieces))
    coefficients = np.concatenate([piece.coefficients for piece in pieces], axis=1)
    model = linear_model(coefficients, constant, classes, probabilities=probabilities)
    return Pipeline([("encode", encoder), ("classify", model)])


def _piece(column: Column, scores: NDArray[np.float64]) -> _Piece:
    if isinstance(column, Numeric):
        return _numeric(column, scores)
    if isinstance(column, Categorical):
        return _categorical(column, scores)
    if isinstance(column, Cross):
        return _cross(column, scores)
    raise UnsupportedPair(
        f"The column {column.name!r} is Hashed with a salt, for which scikit-learn has no transformer. "
        "Keep the model with sf.save_model, or use a recipe that lists the levels."
        if isinstance(column, Hashed)
        else f"There is no transformer of scikit-learn for {column!r}."
    )


def _numeric(column: Numeric, scores: NDArray[np.float64]) -> _Piece:
    slope = scores[:, :1] / column.scale
    constant, sample = -column.centre * slope[:, 0], {column.name: [0.0, 1.0]}
    if column.missing == "refuse":
        return _Piece("passthrough", slope, constant, sample)
    fill = column.centre if column.missing == "indicate" else float(column.missing)
    imputer = SimpleImputer(strategy="constant", fill_value=fill)
    if column.missing != "indicate":
        return _Piece(imputer, slope, constant, sample)
    both = FeatureUnion([("value", imputer), ("missing", MissingIndicator(features="all"))])
    return _Piece(both, np.column_stack([slope, scores[:, 1]]), constant, sample)


def _categorical(column: Categorical, scores: NDArray[np.float64]) -> _Piece:
    """One column per level; what is none of them counts as "other", which then is the baseline."""
    encoder, places, sample = _levels(column)
    rest = scores[:, -1] if _has_other(column) else np.zeros(len(scores))
    return _Piece(encoder, scores[:, places] - rest[:, None], rest, {column.name: sample})


def _cross(column: Cross, scores: NDArray[np.float64]) -> _Piece:
    """Products of the levels of both, again with "other" as the baseline of each."""
    one, two = column.first, column.second
    (left, places, first), (right, others, second) = _levels(one), _levels(two)
    table = scores.reshape(len(scores), len(one.names()), len(two.names()))
    up = table[:, -1:, :] if _has_other(one) else np.zeros_like(table[:, :1, :])
    beside = table[:, :, -1:] if _has_other(two) else np.zeros_like(table[:, :, :1])
    corner = table[:, -1:, -1:] * (_has_other(one) and _has_other(two))
    pairs = table[:, places][:, :, others] - up[:, :, others] - beside[:, places] + corner
    singles = [(beside[:, places] - corner)[:, :, 0], (up[:, :, others] - corner)[:, 0, :]]
    both = ColumnTransformer([("first", left, [0]), ("second", right, [1])], sparse_threshold=0.0)
    products = PolynomialFeatures(degree=2, interaction_only=True, include_bias=False)
    count = max(len(first), len(second))
    sample = {one.name: np.resize(np.array(first, object), count).tolist()}
    sample[two.name] = np.resize(np.array(second, object), count).tolist()
    coefficients = np.concatenate([*singles, _interactions(pairs)], axis=1)
    return _Piece(make_pipeline(both, products), coefficients, corner[:, 0, 0], sample)


def _interactions(pairs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients in the order of PolynomialFeatures: all products i < j, zero within a block."""
    scores, left, right = pairs.shape
    table = np.zeros((scores, left + right, left + right))
    table[:, :left, left:] = pairs
    above = np.triu_indices(left + right, 1)
    return np.asarray(table[:, above[0], above[1]])


def _has_other(column: Categorical) -> bool:
    return "other" in {column.missing, column.unseen}


def _levels(column: Categorical) -> tuple[OneHotEncoder, list[int], list[Any]]:
    """An encoder of the levels, the coordinate that each of its outputs stands for, and the levels."""
    order = list(range(len(column.levels)))
    if not isinstance(column.levels[0], str):
        order.sort(key=lambda at: column.levels[at])
    levels: list[Any] = [column.levels[at] for at in order]
    if column.missing == "indicate":
        absent = [None, np.nan] if isinstance(levels[0], str) else [np.nan]
        order += [len(column.levels)] * len(absent)
        levels += absent
    known = "ignore" if _has_other(column) else "error"
    encoder = OneHotEncoder(categories=[levels], handle_unknown=known, sparse_output=False)
    return encoder, order, levels


def _sample(recipe: Recipe, pieces: list[_Piece]) -> Any:
    """A small frame of the input columns, for transformers to find their columns in."""
    columns: dict[str, list[Any]] = {}
    for piece in pieces:
        for name, values in piece.sample.items():
            columns[name] = max(columns.get(name, []), values, key=len)
    count = max(map(len, columns.values()))
    filled = {name: (columns[name] * count)[:count] for name in recipe.reads()}
    try:
        import pandas as pd  # noqa: PLC0415  only who exports a recipe that encodes needs it
    except ImportError:
        raise MissingExtra(
            "A pipeline finds its columns by name in a pandas frame, and pandas is not installed. "
            "Run: pip install pandas"
        ) from None
    return pd.DataFrame(filled)
