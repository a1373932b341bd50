"""Intervals cover what they speak of; small versions of benchmarks/papers/coverage.py."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import suffice as sf
from benchmarks.papers import coverage
from suffice.core.errors import UtilityWarning
from suffice.core.moments import Isotropic
from suffice.learners import MeanOperatorClassifier
from suffice.learners.evidence import Evidence
from suffice.learners.uncertainty import input_units, unregularised
from suffice.maths.linear_odd import LOSSES

REPEATS = 250
WIDE = 4.0  # standard errors of the share of covered coordinates that a right interval may be off


@pytest.mark.parametrize(("rows", "columns", "epsilon"), [(1_000, 3, 1.0), (2_000, 5, 4.0)])
def test_intervals_cover_the_coefficients_of_the_population(rows, columns, epsilon):
    found = coverage.coverage(coverage.Cell(rows, columns, epsilon), REPEATS, alpha=1e-4)
    assert found["nan"] < 0.05
    assert abs(found["given"] - 0.95) < WIDE * found["given_error"]
    assert 0.9 < found["deviation"] < 1.1


def test_intervals_of_shortened_rows_cover_the_minimiser_of_their_risk(monkeypatch):
    monkeypatch.setattr(coverage, "POPULATION", 400_000)
    found = coverage.coverage(coverage.Cell(3_000, 3, 4.0, "t4", 0.9), REPEATS, alpha=1e-4)
    assert found["nan"] < 0.05
    assert abs(found["given"] - 0.95) < WIDE * found["given_error"]


@pytest.mark.parametrize(("released", "seen"), [(400, 2_000), (2_000, 400), (800, 800)])
def test_intervals_from_another_sample_cover_too(released, seen):
    """And would not without what both samples add."""
    rng, truth = np.random.default_rng(0), np.array([3.5, -1.8, 0.7])
    inside, without = [], []
    for _ in range(REPEATS):
        A, X = (np.column_stack([rng.normal(size=(m, 2)), np.ones(m)]) / 1.7 for m in (released, seen))
        signs = np.where(rng.random(released) < 1 / (1 + np.exp(-A @ truth)), 1.0, -1.0)
        mean = signs @ A / released
        moments = sf.Moments(mean, Isotropic(1e-10, 3), released, ("a", "b", "one"), (0, 1))
        for rows, kept in (("sample", inside), ("same", without)):
            model = MeanOperatorClassifier(alpha=1e-4).fit(X, moments, rows=rows)
            found = model.interval()[:3]
            kept.append((found["low"] < truth) & (truth < found["high"]))
    spread = np.std(np.mean(inside, axis=1)) / np.sqrt(REPEATS)
    assert abs(np.mean(inside) - 0.95) < WIDE * spread
    assert np.mean(without) < 0.93


def test_the_centre_is_the_unpenalised_estimate_whatever_the_penalty():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(2_000, 3)), columns=["a", "b", "c"])
    y = rng.random(2_000) < 1 / (1 + np.exp(-X["a"] + 0.5 * X["b"]))
    free = MeanOperatorClassifier(alpha=0.0).fit(X, y)
    bent = MeanOperatorClassifier(alpha=0.01).fit(X, y)
    assert np.allclose(bent.interval()["estimate"], free.interval()["estimate"], rtol=1e-3, atol=1e-3)
    assert np.allclose(free.interval()["estimate"][:3], free.coef_[0])
    assert np.abs(bent.coef_).max() < 0.9 * np.abs(free.coef_).max()


def test_intervals_are_by_name_in_the_units_of_the_columns():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"age": rng.normal(40, 10, 4_000), "region": rng.choice(["n", "s"], 4_000)})
    y = rng.random(4_000) < 1 / (1 + np.exp(-(frame["age"] - 40) / 10))
    recipe = sf.Recipe.learn(sf.Table(frame), columns=["age", "region"])
    model = MeanOperatorClassifier(recipe=recipe).fit(frame, y)
    found = model.interval(0.99).set_index("name")
    assert list(found.index) == ["age", "region=n", "region=s", "intercept"]
    assert found.loc["age", "low"] < 0.1 < found.loc["age", "high"]
    assert found.loc["age", "high"] - found.loc["age", "low"] < 0.04
    wider = (
        found["high"] - found["low"] > (model.interval(0.5)["high"] - model.interval(0.5)["low"]).to_numpy()
    )
    assert wider.all()


def test_no_labels_could_give_it_so_there_is_no_interval():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=(50, 2)), np.ones(50)]) / 1.7
    moments = sf.Moments(np.array([3.0, 3.0, 3.0]), Isotropic(1.0, 3), 50, ("a", "b", "one"), (0, 1))
    model = MeanOperatorClassifier().fit(X, moments)
    assert not model.inside_
    assert np.isnan(model.coef_covariance_).all()
    with pytest.warns(UtilityWarning, match="outside what any labels could give"):
        assert model.interval()["low"].isna().all()


@pytest.mark.parametrize("level", [0.0, 1.0, 95, -0.1])
def test_a_level_is_a_probability(level):
    model = MeanOperatorClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.interval(level)


def test_input_units_turn_coefficients_of_the_vector_into_those_of_the_columns():
    recipe = sf.Recipe((sf.Numeric("a", 5.0, 2.0), sf.Categorical("r", ("n", "s")), sf.Numeric("b")))
    frame = pd.DataFrame({"a": [1.0, 7.0], "r": ["s", "n"], "b": [0.5, -2.0]})
    theta = np.array([1.0, -2.0, 0.5, 3.0, 4.0])
    plain = input_units(recipe) @ theta
    columns = np.column_stack([frame["a"], frame["r"] == "n", frame["r"] == "s", frame["b"], np.ones(2)])
    assert np.allclose(columns @ plain, recipe.apply(frame) @ theta, atol=1e-5)


def test_the_curvature_of_a_logistic_fit_gives_the_covariance_that_label_variances_give():
    rng = np.random.default_rng(5)
    X, loss = rng.normal(size=(500, 4)) / 3, LOSSES["logistic"]
    mean = np.tanh(X @ rng.normal(size=4) / 2) @ X / 500
    plain = Evidence(X, mean, Isotropic(1e-6, 4), 500)
    weighed = Evidence(X, mean, Isotropic(1e-6, 4), 500, np.ones(500))
    for ours, theirs in zip(
        unregularised(plain, loss, np.zeros(4)), unregularised(weighed, loss, np.zeros(4)), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)
