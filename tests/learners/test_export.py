from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

import suffice as sf
from suffice.core.errors import UnsupportedPair
from suffice.core.moments import Isotropic
from suffice.learners import MeanOperatorClassifier

AGE = sf.Numeric("age", 40.0, 12.0)
FILLED = sf.Numeric("income", 20.0, 7.0, missing=3.0)
SHOWN = sf.Numeric("income", 20.0, 7.0, missing="indicate")
REGION = sf.Categorical("region", ("south", "east", "north"))
LOOSE = sf.Categorical("region", ("south", "east"), unseen="other")
GAPS = sf.Categorical("town", ("a", "b", "c"), missing="indicate")
GAPS_OTHER = sf.Categorical("town", ("a", "b"), missing="indicate", unseen="other")
OTHER = sf.Categorical("town", ("a", "b"), missing="other", unseen="other")
RANK = sf.Categorical("rank", (3, 1, 2))
FLAG = sf.Categorical("flag", (True, False))

RECIPES = {
    "filled": (AGE, FILLED),
    "shown": (AGE, SHOWN),
    "levels": (AGE, REGION, RANK, FLAG),
    "unseen": (LOOSE, AGE),
    "missing": (AGE, GAPS),
    "missing and unseen": (GAPS_OTHER, AGE),
    "missing as other": (OTHER, AGE),
    "cross": (AGE, sf.Cross(REGION, FLAG)),
    "cross with other": (sf.Cross(LOOSE, OTHER), LOOSE, AGE),
    "cross half": (sf.Cross(RANK, OTHER), RANK),
}


def rows(count=500, seed=2):
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "income": draw.normal(20, 7, count),
            "age": draw.normal(40, 12, count),
            "region": draw.choice(["north", "south", "east"], count),
            "town": draw.choice(["a", "b", "c"], count),
            "rank": draw.integers(1, 4, count),
            "flag": draw.random(count) < 0.4,
        }
    )
    frame["income"] = frame["income"].mask(draw.random(count) < 0.2)
    frame["town"] = frame["town"].astype(object).where(draw.random(count) > 0.2, None)
    score = frame["age"] / 6 - 7 + (frame["region"] == "north") - (frame["rank"] == 2)
    score += 2 * frame["town"].isna() - 2 * frame["flag"] * (frame["region"] == "east")
    return frame, np.where(score + draw.normal(size=count) > 0, "yes", "no")


def agree(plain, model, X):
    assert np.abs(plain.predict_proba(X) - model.predict_proba(X)).max() < 1e-6
    assert (plain.predict(X) == model.predict(X)).all()


@pytest.mark.parametrize("alpha", ["noise", 1e-6])
def test_numbers_alone_become_a_logistic_regression_in_the_units_of_the_columns(alpha):
    X, y = rows()
    recipe = sf.Recipe((AGE, sf.Numeric("rank", 2.0, 0.8)))
    model = MeanOperatorClassifier(alpha=alpha, recipe=recipe).fit(X, y)
    plain = model.to_sklearn()
    assert isinstance(plain, LogisticRegression)
    assert np.array_equal(plain.coef_, model.coef_)
    assert np.array_equal(plain.intercept_, model.intercept_)
    assert list(plain.classes_) == ["no", "yes"]
    assert plain.n_features_in_ == 2
    agree(plain, _Reads(model), X[["age", "rank"]])


class _Reads:
    """A model and the columns that it reads."""

    def __init__(self, model):
        self.predict, self.predict_proba = model.predict, model.predict_proba


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_that_encodes_becomes_a_pipeline_that_does_the_same(name, intercept):
    X, y = rows()
    recipe = sf.Recipe(RECIPES[name], intercept=intercept)
    model = MeanOperatorClassifier(alpha=1e-4, recipe=recipe).fit(X, y)
    plain = model.to_sklearn()
    assert isinstance(plain, Pipeline)
    fresh, _ = rows(300, seed=9)
    for frame in (X, fresh, fresh[list(fresh)[::-1]], fresh.iloc[:1]):
        agree(plain, model, frame)
    agree(pickle.loads(pickle.dumps(plain)), model, fresh)


def test_missing_values_of_every_spelling_are_the_same_level():
    X, y = rows()
    model = MeanOperatorClassifier(recipe=sf.Recipe((AGE, GAPS))).fit(X, y)
    plain = model.to_sklearn()
    for absent in (None, np.nan):
        frame = X.assign(town=X["town"].where(X["town"].notna(), absent))
        assert np.abs(plain.predict_proba(frame) - model.predict_proba(X)).max() < 1e-6


def test_what_the_recipe_refuses_the_pipeline_refuses():
    X, y = rows()
    plain = MeanOperatorClassifier(recipe=sf.Recipe((AGE, REGION))).fit(X, y).to_sklearn()
    with pytest.raises(ValueError, match="unknown categories"):
        plain.predict(X.assign(region="west"))
    with pytest.raises(ValueError, match="NaN"):
        plain.predict(X.assign(age=np.nan))


@pytest.mark.parametrize("loss", ["square", "matsushita", "modified_huber", "unhinged"])
def test_other_losses_predict_the_same_and_offer_no_wrong_probability(loss):
    X, y = rows()
    for columns in ((AGE,), (AGE, REGION)):
        model = MeanOperatorClassifier(loss, recipe=sf.Recipe(columns)).fit(X, y)
        plain = model.to_sklearn()
        frame = X[[name for column in columns for name in column.reads()]]
        assert (plain.predict(frame) == model.predict(frame)).all()
        assert np.allclose(plain.decision_function(frame), model.decision_function(frame))
        assert not hasattr(plain, "predict_proba")


def test_several_classes_travel_too():
    X, _ = rows()
    y = np.digitize(X["age"] + 8 * (X["region"] == "north"), [35, 50])
    for columns in ((AGE,), (AGE, REGION)):
        model = MeanOperatorClassifier(recipe=sf.Recipe(columns)).fit(X, y)
        agree(model.to_sklearn(), model, X[[name for column in columns for name in column.reads()]])


def test_plain_labels_and_moments_give_plain_models():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(200, 3))
    y = (X[:, 0] + 0.3 * draw.normal(size=200) > 0).astype(int)
    model = MeanOperatorClassifier(alpha=0.01).fit(X, y)
    agree(model.to_sklearn(), model, X)
    given = sf.Moments((2 * y - 1) @ X / 200, Isotropic(1e-6, 3), 200, ("a", "b", "c"), (0, 1))
    model = MeanOperatorClassifier(alpha=0.01).fit(X, given)
    agree(model.to_sklearn(), model, X)


def test_a_hashed_column_stays_at_home():
    X, y = rows()
    model = MeanOperatorClassifier(recipe=sf.Recipe((AGE, sf.Hashed("town", 8)))).fit(X, y)
    with pytest.raises(UnsupportedPair, match="'town' is Hashed"):
        model.to_sklearn()


def test_a_prediction_is_made_from_the_numbers_as_they_are_and_however_large():
    X, y = rows()
    model = MeanOperatorClassifier(alpha=1e-4, recipe=sf.Recipe((AGE,))).fit(X, y)
    assert model.predict(pd.DataFrame({"age": [1e9, -1e9]})).tolist() == ["yes", "no"]
    steep = model.decision_function(pd.DataFrame({"age": [40.0, 40.0 + 1e-9]}))
    assert steep[1] > steep[0]
