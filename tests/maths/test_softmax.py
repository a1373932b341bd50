from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from suffice.core.errors import InputError
from suffice.maths.linear_odd import LOSSES
from suffice.maths.minimise import minimise
from suffice.maths.softmax import SoftmaxObjective, minimise_softmax, softmax


@pytest.fixture
def data():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.standard_normal((300, 4)), np.ones(300)])
    y = np.argmax(X @ rng.standard_normal((5, 3)) + rng.gumbel(size=(300, 3)), axis=1)
    return X, y, np.stack([X[y == k].sum(axis=0) for k in range(3)]) / 300


def test_the_minimum_is_that_of_multinomial_logistic_regression(data):
    X, y, means = data
    alpha = 0.01
    found = minimise_softmax(X, means, alpha=alpha)
    theirs = LogisticRegression(C=1 / (2 * alpha * 300), fit_intercept=False, tol=1e-12, max_iter=5000).fit(
        X, y
    )
    assert found.converged
    assert found.gradient_norm <= 1e-9
    np.testing.assert_allclose(found.theta, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(found.theta.sum(axis=0), 0.0, atol=1e-8)


def test_two_classes_are_the_binary_logistic_fit(data):
    X, y, _ = data
    signs = np.where(y == 1, 1.0, -1.0)
    means = np.stack([X[signs < 0].sum(axis=0), X[signs > 0].sum(axis=0)]) / 300
    soft = minimise_softmax(X, means, alpha=0.02)
    binary = minimise(LOSSES["logistic"], X, signs @ X / 300, alpha=0.01)
    np.testing.assert_allclose(soft.theta[1] - soft.theta[0], binary.theta, atol=1e-6)


def test_gradient_and_curvature_are_those_of_the_value(data):
    X, _, means = data
    objective = SoftmaxObjective(X, means, 0.03)
    rng = np.random.default_rng(0)
    theta, along = rng.standard_normal((2, 3, 5))
    h = 1e-5
    rise = (objective.smooth(theta + h * along)[0] - objective.smooth(theta - h * along)[0]) / (2 * h)
    assert rise == pytest.approx(float((objective.smooth(theta)[1] * along).sum()), rel=1e-7)
    bend = (objective.smooth(theta + h * along)[1] - objective.smooth(theta - h * along)[1]) / (2 * h)
    np.testing.assert_allclose(objective.curvature(objective.at(theta), along), bend, atol=1e-8)


def test_weights_are_repeated_rows(data):
    X, y, _ = data
    weights = np.arange(300) % 3 + 1.0
    means = np.stack([(X * weights[:, None])[y == k].sum(axis=0) for k in range(3)])
    weighted = minimise_softmax(X, means / weights.sum(), alpha=0.01, weights=weights / weights.mean())
    again = np.repeat(np.arange(300), weights.astype(int))
    repeated = minimise_softmax(X[again], means / weights.sum(), alpha=0.01)
    np.testing.assert_allclose(weighted.theta, repeated.theta, atol=1e-7)


@pytest.mark.parametrize("ratio", [1.0, 0.4])
def test_the_lasso_minimum_satisfies_its_optimality_condition(data, ratio):
    X, _, means = data
    found = minimise_softmax(X, means, alpha=0.02, l1_ratio=ratio)
    objective = SoftmaxObjective(X, means, 0.02, ratio)
    _, slope = objective.smooth(found.theta)
    assert (found.theta == 0).any()
    zero = found.theta == 0
    assert (np.abs(slope[zero]) <= objective.lasso + 1e-7).all()
    np.testing.assert_allclose(slope[~zero], -objective.lasso * np.sign(found.theta[~zero]), atol=1e-6)


def test_means_that_no_labels_give_are_not_said_to_converge(data):
    X, _, means = data
    assert not minimise_softmax(X, means * 3, alpha=0.0, max_iterations=50).converged


def test_probabilities_survive_large_scores():
    chance, level = softmax(np.array([[1e5, 0.0, -1e5]]))
    assert chance[0, 0] == 1.0
    assert level[0] == 1e5


def test_a_negative_penalty_is_refused(data):
    X, _, means = data
    with pytest.raises(InputError, match="alpha"):
        minimise_softmax(X, means, alpha=-1.0)


def test_a_general_minimiser_finds_nothing_lower(data):
    X, _, means = data
    objective = SoftmaxObjective(X, means, 0.01)
    found = minimise_softmax(X, means, alpha=0.01)
    theirs = minimize(lambda t: objective.smooth(t.reshape(3, 5))[0], np.zeros(15), method="BFGS")
    assert found.value <= theirs.fun + 1e-9
