from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import suffice as sf
from suffice.core.errors import InputError, ReleaseMismatch
from suffice.core.moments import Block, Isotropic
from suffice.learners import MeanOperatorClassifier, tune

ALPHAS = [10.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-6]


def people(seed, m=1500, d=8, signal=4.0):
    """Rows, the true chance of a one, and a generator."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, d)) * np.geomspace(1.0, 0.2, d)
    X /= np.quantile(np.linalg.norm(X, axis=1), 0.95)
    margins = X @ rng.standard_normal(d)
    return X, 1 / (1 + np.exp(-signal * margins / margins.std())), rng


def noisy(X, signs, epsilon, rng):
    m, d = X.shape
    scale = 2.0 / (m * epsilon)
    direction = rng.standard_normal(d)
    noise = direction / np.linalg.norm(direction) * rng.gamma(d) * scale
    names = tuple(f"x{at}" for at in range(d))
    return sf.Moments(X.T @ signs / m + noise, Isotropic((d + 1) * scale**2, d), m, names, ("no", "yes"))


def drawn(seed, epsilon, **people_):
    X, chance, rng = people(seed, **people_)
    signs = np.where(rng.random(len(X)) < chance, 1.0, -1.0)
    return X, chance, noisy(X, signs, epsilon, rng)


def accuracy(model, X, chance):
    return float(np.where(model.predict(X) == "yes", chance, 1 - chance).mean())


def risk(model, X, chance):
    z = model.decision_function(X)
    return float((np.logaddexp(0, z) - chance * z).mean())


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0])
def test_the_setting_kept_is_near_the_one_that_true_labels_would_choose(epsilon):
    kept, best = [], []
    for seed in range(6):
        X, chance, release = drawn(seed, epsilon)
        fits = [MeanOperatorClassifier(alpha=alpha).fit(X, release) for alpha in ALPHAS]
        kept.append(risk(tune(MeanOperatorClassifier(), X, release, {"alpha": ALPHAS}), X, chance))
        best.append([risk(model, X, chance) for model in fits])
    assert np.mean(kept) <= 1.1 * np.mean(best, axis=0).min()


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_predicted_accuracy_and_risk_are_near_what_they_predict(epsilon):
    off = []
    for seed in range(8):
        X, chance, release = drawn(seed, epsilon)
        by_risk = tune(MeanOperatorClassifier(), X, release, {"alpha": ALPHAS})
        by_hits = tune(MeanOperatorClassifier(), X, release, {"alpha": ALPHAS}, scoring="accuracy")
        off.append(
            [
                min(by_risk.tuning_["risk"]) - risk(by_risk, X, chance),
                max(by_hits.tuning_["accuracy"]) - accuracy(by_hits, X, chance),
            ]
        )
    assert (np.abs(np.mean(off, axis=0)) < 0.05).all()


def test_the_noise_is_not_mistaken_for_signal():
    """Judged by the released mean itself, the weakest penalty would always look best."""
    strengths = []
    for seed in range(5):
        X, _, release = drawn(seed, 0.03, m=400)
        strengths.append(tune(MeanOperatorClassifier(), X, release, {"alpha": ALPHAS}).alpha)
    assert np.median(strengths) > 1e-3


def test_the_estimator_stays_as_it_was_and_the_table_says_what_was_tried():
    X, _, release = drawn(0, 1.0)
    given = MeanOperatorClassifier(l1_ratio=0.25)
    before = given.get_params()
    grid = [{"alpha": [0.1, 0.01]}, {"alpha": ["noise"], "l1_ratio": [0.0]}]
    model = tune(given, X, release, grid, scoring="accuracy")
    assert given.get_params() == before
    assert not hasattr(given, "theta_")
    table = pd.DataFrame(model.tuning_)
    assert list(table) == ["alpha", "l1_ratio", "accuracy", "doubt"]
    assert len(table) == 3
    kept = table[table["alpha"] == model.alpha].iloc[0]
    assert kept["accuracy"] >= table["accuracy"].max() - kept["doubt"]
    again = clone(model).fit(X, release)
    assert np.array_equal(again.theta_, model.theta_)


def test_of_accuracies_that_the_noise_hides_the_most_cautious_fit_is_kept():
    X, _, release = drawn(3, 0.05, m=300)
    model = tune(MeanOperatorClassifier(), X, release, {"alpha": ALPHAS}, scoring="accuracy")
    table = pd.DataFrame(model.tuning_)
    near = table[table["accuracy"] >= table["accuracy"].max() - table["doubt"]]
    assert len(near) > 1
    assert model.alpha == near["alpha"].max()


def test_losses_are_compared_by_accuracy_and_not_by_risk():
    X, _, release = drawn(1, 1.0)
    grid = {"loss": ["logistic", "square"], "alpha": [0.01]}
    assert tune(MeanOperatorClassifier(), X, release, grid, scoring="accuracy").loss in grid["loss"]
    with pytest.raises(InputError, match="different losses"):
        tune(MeanOperatorClassifier(), X, release, grid)


def test_of_equals_the_first_is_kept():
    X, _, release = drawn(2, 1.0)
    model = tune(MeanOperatorClassifier(), X, release, {"tol": [1e-9, 1e-9], "alpha": [0.1]})
    assert model.tuning_["risk"][0] == model.tuning_["risk"][1]
    assert model.tol == 1e-9


@pytest.mark.parametrize("scoring", ["risk", "accuracy"])
@pytest.mark.parametrize("loss", ["logistic", "square"])
def test_several_classes_are_tuned_too(loss, scoring):
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=(900, 3)), np.ones(900)]) / 2.0
    scores = 6.0 * X @ rng.normal(size=(4, 3))
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    means = (y == np.arange(3)[:, None]) @ X / 900
    law = Block(1e-6 * (np.eye(3) - 1 / 3), 4)
    release = sf.Moments(means, law, 900, ("a", "b", "c", "one"), (0, 1, 2))
    model = tune(MeanOperatorClassifier(loss), X, release, {"alpha": [10.0, 1e-3]}, scoring=scoring)
    assert model.alpha == 1e-3
    predicted = max(model.tuning_[scoring]) if scoring == "accuracy" else None
    assert predicted is None or predicted == pytest.approx((model.predict(X) == y).mean(), abs=0.05)


@pytest.fixture
def released(tmp_path):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"age": rng.normal(40, 12, 300), "region": rng.choice(["n", "s"], 300)})
    y = frame["age"] + rng.normal(0, 6, 300) > 40
    ledger = sf.Ledger.create(
        tmp_path / "owner.db", dataset="people", unit=sf.LabelOf("y"), budget=sf.PureDP(5.0)
    )
    recipe = sf.Recipe.learn(sf.Table(frame), columns=["age", "region"])
    statistic = sf.MeanOperator(recipe, "y", bound=sf.Bound(2, sf.Radius.public(0.95)))
    release = sf.Owner(sf.Table(frame.assign(y=y)), ledger=ledger).release(
        statistic, sf.L2Laplace(epsilon=2.0)
    )
    return frame, release


def test_a_release_is_tuned_with_its_rows_and_nothing_else(released, tmp_path):
    frame, release = released
    model = sf.tune(MeanOperatorClassifier(), frame, release, {"alpha": [1.0, 0.01, "noise"]})
    assert model.privacy_ == release.guarantee
    with pytest.raises(ReleaseMismatch, match="rows='sample'"):
        tune(MeanOperatorClassifier(), frame.iloc[:200], release, {"alpha": [1.0]})
    tune(MeanOperatorClassifier(), frame.iloc[:200], release, {"alpha": [1.0]}, rows="sample")
    opened = sf.load_model(sf.save_model(model, tmp_path / "model.skops"))
    assert opened.tuning_ == model.tuning_


def test_what_cannot_be_tuned_is_refused_with_the_reason(released):
    frame, release = released
    model = MeanOperatorClassifier()
    with pytest.raises(InputError, match="'fit_intercept' cannot be tuned on a release"):
        tune(model, frame, release, {"fit_intercept": [True, False]})
    with pytest.raises(InputError, match="use scikit-learn's GridSearchCV"):
        tune(model, frame, np.ones(300), {"alpha": [1.0]})
    with pytest.raises(InputError, match="'risk' or 'accuracy', and got 'f1'"):
        tune(model, frame, release, {"alpha": [1.0]}, scoring="f1")
    with pytest.raises(InputError, match="got a LogisticRegression"):
        tune(LogisticRegression(), frame, release, {"C": [1.0]})
    with pytest.raises(InputError, match="no setting"):
        tune(model, frame, release, {"alpha": []})
