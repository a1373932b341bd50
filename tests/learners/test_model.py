from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import suffice as sf
from suffice.core.errors import InputError, UnsupportedPair
from suffice.learners.model import TRUSTED

COLUMNS = (
    sf.Numeric("age", 40.0, 10.0, missing="indicate"),
    sf.Categorical("region", ("north", "south"), unseen="other"),
    sf.Hashed("code", 4),
    sf.Cross(
        sf.Categorical("region", ("north", "south"), unseen="other"), sf.Categorical("flag", (True, False))
    ),
)


def rows(count: int = 80) -> tuple[pd.DataFrame, np.ndarray]:
    draw = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": draw.normal(40, 10, count),
            "region": draw.choice(["north", "south"], count),
            "code": draw.choice(["a", "b", "c"], count),
            "flag": draw.random(count) < 0.5,
        }
    )
    return frame, (frame["age"].to_numpy() + draw.normal(0, 5, count) > 40).astype(int)


@pytest.mark.parametrize("bound", [None, sf.Bound(2, 1.0), sf.Bound(1, sf.Radius.public(0.9))])
@pytest.mark.parametrize("recipe", [None, sf.Recipe(COLUMNS)])
def test_a_model_comes_back_with_the_same_predictions_to_the_last_bit(tmp_path, recipe, bound):
    X, y = rows()
    X = X[["age"]] if recipe is None else X
    model = sf.learners.MeanOperatorClassifier(recipe=recipe, bound=bound).fit(X, y)
    again = sf.load_model(sf.save_model(model, tmp_path / "model.skops"))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.privacy_ == model.privacy_
    assert again.recipe_ == model.recipe_
    assert np.array_equal(again.coef_covariance_, model.coef_covariance_, equal_nan=True)


@pytest.mark.parametrize("mechanism", [sf.L2Laplace(epsilon=9.0), sf.Gaussian(epsilon=2.0, delta=1e-6)])
def test_a_model_learned_from_a_release_comes_back_with_its_guarantee(tmp_path, mechanism):
    X, y = rows()
    unit, budget = sf.LabelOf("y"), sf.ApproxDP(99.0, 1e-3)
    ledger = sf.Ledger.create(tmp_path / "owner.db", dataset="rows", unit=unit, budget=budget)
    owner = sf.Owner(sf.Table(X.assign(y=y)), ledger=ledger)
    mu = sf.MeanOperator(sf.Recipe(COLUMNS), "y", bound=sf.Bound(2, 1.0))
    model = sf.learners.MeanOperatorClassifier().fit(X, owner.release(mu, mechanism))
    again = sf.load_model(sf.save_model(model, tmp_path / "model.skops"))
    assert again.privacy_.promise == mechanism.promise()
    assert np.array_equal(again.decision_function(X), model.decision_function(X))


def test_every_class_that_is_trusted_exists_under_its_full_name():
    for name in TRUSTED:
        home, _, kind = name.rpartition(".")
        assert getattr(__import__(home, fromlist=[kind]), kind).__module__ == home


class Stranger(SVC):
    """A class that is not ours."""


def test_a_file_that_holds_more_than_a_model_of_ours_is_refused_before_it_is_opened(tmp_path):
    path = tmp_path / "stranger.skops"
    skops.io.dump(Stranger(), path)
    with pytest.raises(InputError, match="Stranger"):
        sf.load_model(path)


def test_a_loss_of_one_s_own_cannot_travel(tmp_path):
    X, y = rows()
    loss = sf.LinearOdd(even=lambda x: (np.logaddexp(0, x) + np.logaddexp(0, -x)) / 2, a=1.0)
    model = sf.learners.MeanOperatorClassifier(loss=loss, alpha=0.1).fit(X[["age"]], y)
    with pytest.raises(UnsupportedPair, match="loss that has a name"):
        sf.save_model(model, tmp_path / "model.skops")
    assert not (tmp_path / "model.skops").exists()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and no more", b"dear reader"])
def test_what_is_no_model_is_refused(tmp_path, content):
    path = tmp_path / "model.skops"
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a model"):
        sf.load_model(path)


def test_a_model_that_exists_stays_unless_it_may_go(tmp_path):
    X, y = rows()
    model = sf.learners.MeanOperatorClassifier(alpha=0.1).fit(X[["age"]], y)
    path = sf.save_model(model, tmp_path / "model.skops")
    other = sf.learners.MeanOperatorClassifier(alpha=0.2).fit(X[["age"]], y)
    with pytest.raises(InputError, match="already"):
        sf.save_model(other, path)
    assert sf.load_model(sf.save_model(other, path, overwrite=True)).alpha == 0.2


def test_a_pipeline_around_a_model_opens_too(tmp_path):
    X, y = rows()
    model = make_pipeline(StandardScaler(), sf.learners.MeanOperatorClassifier(alpha=0.1)).fit(X[["age"]], y)
    again = sf.load_model(sf.save_model(model, tmp_path / "model.skops"))
    assert np.array_equal(again.predict_proba(X[["age"]]), model.predict_proba(X[["age"]]))
