from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from suffice.core.errors import InputError
from suffice.maths.even_pass import even_pass, row_blocks
from suffice.maths.linear_odd import LOSSES
from suffice.maths.minimise import Objective, minimise

SMOOTH = ["logistic", "square", "matsushita", "modified_huber", "unhinged"]


def _problem(seed=0, m=400, d=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, d)) @ rng.standard_normal((d, d)) / d
    y = np.where(X @ rng.standard_normal(d) + 0.3 * rng.standard_normal(m) > 0, 1.0, -1.0)
    return X, y, X.T @ y / m


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("alpha", [1e-6, 1e-2, 1.0])
def test_the_gradient_at_the_minimum_is_below_a_billionth(loss, alpha):
    X, _, mean = _problem()
    found = minimise(LOSSES[loss], X, mean, alpha=alpha)
    objective = Objective(LOSSES[loss], X, mean, alpha)
    assert found.converged
    assert found.gradient_norm <= 1e-9
    assert np.linalg.norm(objective.smooth(found.theta)[1]) <= 1e-9


@pytest.mark.parametrize("loss", SMOOTH)
def test_the_objective_is_the_penalised_risk_of_the_labels(loss):
    X, y, mean = _problem(1)
    theta = np.linspace(-1.0, 1.0, X.shape[1])
    direct = LOSSES[loss].value(y * (X @ theta)).mean() + 0.3 * (
        0.8 * theta @ theta + 0.2 * np.abs(theta).sum()
    )
    assert Objective(LOSSES[loss], X, mean, 0.3, 0.2).value(theta) == pytest.approx(direct, rel=1e-12)


@pytest.mark.parametrize("loss", ["logistic", "matsushita", "modified_huber"])
def test_without_a_penalty_the_minimum_is_that_of_a_general_solver(loss):
    X, y, mean = _problem(2)
    found = minimise(LOSSES[loss], X, mean)
    other = minimize(lambda t: LOSSES[loss].value(y * (X @ t)).mean(), np.zeros(X.shape[1]), tol=1e-12)
    assert found.converged
    assert found.value <= other.fun + 1e-12


def test_the_square_loss_is_solved_in_closed_form():
    X, _, mean = _problem(3)
    found = minimise(LOSSES["square"], X, mean, alpha=0.05)
    exact = np.linalg.solve(X.T @ X / len(X) + 0.05 * np.eye(X.shape[1]), mean)
    assert found.iterations == 1
    assert np.allclose(found.theta, exact, rtol=1e-12)


def test_the_unhinged_loss_is_solved_in_closed_form():
    X, _, mean = _problem(3)
    assert np.allclose(minimise(LOSSES["unhinged"], X, mean, alpha=0.05).theta, 2.0 * mean / 0.2)


@pytest.mark.parametrize("loss", ["logistic", "square", "matsushita"])
@pytest.mark.parametrize("l1_ratio", [0.3, 1.0])
def test_with_absolute_values_the_subgradient_conditions_hold(loss, l1_ratio):
    X, _, mean = _problem(4, d=12)
    alpha = 0.03
    found = minimise(LOSSES[loss], X, mean, alpha=alpha, l1_ratio=l1_ratio)
    slope = Objective(LOSSES[loss], X, mean, alpha, l1_ratio).smooth(found.theta)[1]
    weight = alpha * l1_ratio
    zero = found.theta == 0
    assert found.converged
    assert zero.any() or l1_ratio < 1
    assert np.allclose(slope[~zero], -weight * np.sign(found.theta[~zero]), atol=1e-9)
    assert (np.abs(slope[zero]) <= weight + 1e-9).all()


def test_a_large_absolute_penalty_leaves_nothing():
    X, _, mean = _problem(4)
    found = minimise(LOSSES["logistic"], X, mean, alpha=10.0, l1_ratio=1.0)
    assert (found.theta == 0).all()
    assert found.converged


def test_collinear_columns_do_not_stop_an_unpenalised_fit():
    X, y, _ = _problem(5)
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    found = minimise(LOSSES["logistic"], X, X.T @ y / len(X))
    assert found.converged


def test_a_mean_outside_the_zonotope_is_found_to_have_no_minimiser():
    X = np.ones((2, 1))
    for mean, exists in ((0.9, True), (1.1, False), (1.5, False)):
        assert minimise(LOSSES["logistic"], X, np.array([mean])).converged is exists


def test_a_mean_outside_the_span_of_the_rows_has_no_unpenalised_square_fit():
    X = np.column_stack([np.ones(4), np.ones(4)])
    assert not minimise(LOSSES["square"], X, np.array([0.5, 0.2])).converged
    assert minimise(LOSSES["square"], X, np.array([0.3, 0.3])).converged


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_of_rows_and_one_array_give_the_same_minimum(dtype):
    X, _, mean = _problem(6, m=1000)
    X = X.astype(dtype)
    whole = minimise(LOSSES["logistic"], X, mean, alpha=0.01)
    parts = minimise(LOSSES["logistic"], [X[:10], X[10:700], X[700:]], mean, alpha=0.01)
    assert np.allclose(whole.theta, parts.theta, atol=1e-9)


def test_weights_count_rows_several_times():
    X, y, _ = _problem(7, m=50)
    times = np.arange(50) % 4
    repeated = np.repeat(X, times, axis=0)
    scale = times.sum() / 50
    weighted = minimise(
        LOSSES["logistic"], X, X.T @ (times * y) / 50, alpha=0.01 * scale, weights=times * 1.0
    )
    plain = minimise(
        LOSSES["logistic"], repeated, repeated.T @ np.repeat(y, times) / len(repeated), alpha=0.01
    )
    assert np.allclose(weighted.theta, plain.theta, atol=1e-7)


def test_a_warm_start_at_the_minimum_takes_no_step():
    X, _, mean = _problem(8)
    first = minimise(LOSSES["matsushita"], X, mean, alpha=0.1)
    assert minimise(LOSSES["matsushita"], X, mean, alpha=0.1, start=first.theta).iterations == 0


def test_the_hessian_is_that_of_the_objective():
    X, _, mean = _problem(9)
    found = minimise(LOSSES["logistic"], X, mean, alpha=0.1)
    objective, h = Objective(LOSSES["logistic"], X, mean, 0.1), 1e-5
    for j, axis in enumerate(np.eye(X.shape[1])):
        slope = objective.smooth(found.theta + h * axis)[1] - objective.smooth(found.theta - h * axis)[1]
        assert np.allclose(found.hessian[j], slope / (2 * h), atol=1e-8)


def test_the_perceptron_loss_is_refused_because_its_answer_is_zero():
    with pytest.raises(InputError, match="theta = 0"):
        minimise(LOSSES["perceptron"], np.eye(2), np.zeros(2), alpha=1.0)


def test_the_unhinged_loss_without_a_squared_penalty_is_refused():
    with pytest.raises(InputError, match="squared penalty"):
        minimise(LOSSES["unhinged"], np.eye(2), np.zeros(2))


@pytest.mark.parametrize(("alpha", "l1_ratio"), [(-1.0, 0.0), (float("nan"), 0.0), (1.0, 2.0)])
def test_a_penalty_outside_its_range_is_refused(alpha, l1_ratio):
    with pytest.raises(InputError, match="alpha"):
        minimise(LOSSES["logistic"], np.eye(2), np.zeros(2), alpha=alpha, l1_ratio=l1_ratio)


def test_rows_that_can_be_read_only_once_are_refused():
    with pytest.raises(InputError, match="re-iterable"):
        list(row_blocks(iter([np.eye(2)])))


def test_no_rows_are_refused():
    with pytest.raises(InputError, match="no rows"):
        even_pass(LOSSES["logistic"], np.zeros((0, 2)), np.zeros(2))
