"""Golden values, theorems and the table of the mean-operator paper (P0), with its errata applied.

The values were computed from the formulas in two independent ways before this code existed.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.core.errors import InputError
from suffice.maths.linear_odd import LOSSES, LinearOdd, perceptron
from suffice.maths.minimise import Objective, minimise
from suffice.maths.zonotope import Zonotope, project

X = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -2.0]])
Y = np.array([1.0, -1.0, 1.0])
THETA = np.array([0.7, -0.4])
MEAN = X.T @ Y / 3

A = {
    "logistic": 1.0,
    "square": 4.0,
    "matsushita": 2.0,
    "linear": 2.0,
    "unhinged": 2.0,
    "perceptron": 2.0,
    "modified_huber": 4.0,
}
RISK = {
    "logistic": 0.4653775411830899,
    "square": 0.40670000000000006,
    "matsushita": 0.6538840622055008,
    "linear": -0.6033333333333333,
    "unhinged": 0.3966666666666667,
    "perceptron": 1.0666666666666667,
    "modified_huber": 0.40666666666666673,
}
FIT = {
    "logistic": [1.099237598394684, -0.19266765473533612],
    "square": [1.024994267369869, -0.16637366557109734],
    "matsushita": [1.1875235209086143, -0.203487803809365],
    "modified_huber": [1.126657617207998, -0.19003863422786574],
    "unhinged": [3.833333333333333, -0.8333333333333333],
}


@pytest.mark.parametrize("name", sorted(A))
def test_a_of_table_1_is_the_slope_of_the_odd_part(name):
    loss = LOSSES[name]
    for z in (0.3, 2.0, 17.0):
        there, back = loss.value(np.array([z, -z]))
        assert -(there - back) / z == pytest.approx(A[name], rel=1e-12)
    assert loss.a == A[name]


@pytest.mark.parametrize("rho", [0.5, 1.0, 3.0])
def test_the_generic_loss_of_table_1_has_a_of_two_rho(rho):
    loss = perceptron(rho)
    z = np.array([-2.0, 0.0, 0.7])
    assert np.allclose(loss.value(z), rho * np.abs(z) - rho * z + 1.0)
    assert loss.a == 2 * rho


def test_a_symmetric_proper_loss_of_table_1_has_a_of_one_over_b():
    made = LinearOdd.from_generator(lambda p: -3.0 * p * (1 - p), lambda p: 3.0 * (2 * p - 1))
    assert made.a == pytest.approx(1 / 0.75)


@pytest.mark.parametrize("name", sorted(RISK))
def test_the_risk_is_the_same_from_labels_and_from_the_mean_operator(name):
    direct = LOSSES[name].value(Y * (X @ THETA)).mean()
    factored = Objective(LOSSES[name], X, MEAN).value(THETA)
    assert direct == pytest.approx(RISK[name], abs=1e-12)
    assert factored == pytest.approx(RISK[name], abs=1e-12)


def test_the_mean_operator_is_a_mean():
    assert pytest.approx([0.7666666666666666, -0.16666666666666666], abs=1e-15) == MEAN


@pytest.mark.parametrize("name", sorted(FIT))
def test_the_penalised_fit_is_the_recorded_one(name):
    found = minimise(LOSSES[name], X, MEAN, alpha=0.1)
    assert found.converged
    assert found.theta == pytest.approx(FIT[name], abs=1e-6)


def test_the_conditional_exponential_family_is_logistic_at_half_the_parameter():
    """P(y|x) proportional to exp(y <theta, x>) with lam_cef, against logistic with lam_cef / 4."""
    family = LinearOdd.from_function(lambda z: np.log1p(np.exp(-2 * np.abs(z))) + np.abs(z) - z, name="cef")
    lam = 0.2
    cef = minimise(family, X, MEAN, alpha=lam).theta
    assert minimise(LOSSES["logistic"], X, MEAN, alpha=lam / 4).theta / cef == pytest.approx(2.0, abs=1e-8)


def test_a_shift_of_the_mean_moves_the_fit_by_at_most_a_over_four_lambda():
    b = np.array([0.05, -0.02])
    moved = {
        name: np.linalg.norm(
            minimise(LOSSES[name], X, MEAN + b, alpha=0.1).theta
            - minimise(LOSSES[name], X, MEAN, alpha=0.1).theta
        )
        for name in ("logistic", "unhinged")
    }
    assert moved["logistic"] == pytest.approx(0.0807953276611455, abs=1e-6)
    assert 1.0 / 0.4 * np.linalg.norm(b) == pytest.approx(0.13462912017836262, abs=1e-12)
    assert moved["unhinged"] == pytest.approx(0.26925824035672524, abs=1e-9)


@given(seed=st.integers(0, 10**6), alpha=st.floats(1e-3, 10.0), name=st.sampled_from(sorted(FIT)))
@settings(max_examples=60, deadline=None)
def test_theorem_6_corrected_bounds_the_fit_and_its_excess_objective(seed, alpha, name):
    rng = np.random.default_rng(seed)
    rows, loss = rng.standard_normal((20, 3)), LOSSES[name]
    mean, b = rows.T @ rng.choice([-1.0, 1.0], 20) / 20, rng.standard_normal(3)
    true = minimise(loss, rows, mean, alpha=alpha)
    noisy = minimise(loss, rows, mean + b, alpha=alpha)
    bound = loss.a / (4 * alpha) * np.linalg.norm(b)
    assert np.linalg.norm(true.theta - noisy.theta) <= bound * (1 + 1e-9) + 1e-6
    excess = Objective(loss, rows, mean, alpha).value(noisy.theta) - true.value
    assert excess <= loss.a**2 * (b @ b) / (16 * alpha) * (1 + 1e-9) + 1e-9
    assert np.linalg.norm(noisy.theta) <= loss.a * np.linalg.norm(mean + b) / (4 * alpha) + 1e-6


@pytest.mark.parametrize(
    ("target", "nearest"),
    [
        ((1.0, 1.0), (2 / 3, 2 / 3)),
        ((0.2, 0.1), (0.2, 0.1)),
        ((-0.9, 0.5), (-0.5333333333333323, 0.13333333333334352)),
    ],
)
def test_the_projection_onto_a_small_zonotope_is_the_recorded_one(target, nearest):
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert project(np.array(target), Zonotope(rows), tolerance=1e-14).point == pytest.approx(
        nearest, abs=1e-6
    )


@pytest.mark.parametrize(("mean", "value"), [(0.9, 50.0), (1.0, 0.0), (1.1, -50.0)])
def test_outside_the_zonotope_the_objective_falls_without_end(mean, value):
    rows = np.ones((2, 1))
    there = Objective(LOSSES["logistic"], rows, np.array([mean])).value(np.array([1000.0]))
    assert there == pytest.approx(value, abs=1e-6)


def test_after_projection_a_little_inside_every_zonotope_loss_has_a_minimiser():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((200, 4))
    target = rng.standard_normal(4) * 3
    inner = 0.9 * project(target, Zonotope(rows)).point
    for name in ("logistic", "matsushita", "modified_huber"):
        assert not minimise(LOSSES[name], rows, target).converged
        assert minimise(LOSSES[name], rows, inner).converged


def test_the_rho_loss_is_least_at_zero_under_every_penalty_and_is_refused():
    objective = Objective(LOSSES["perceptron"], X, MEAN, 0.1)
    around = [objective.value(0.1 * np.array([np.cos(t), np.sin(t)])) for t in np.linspace(0, 6.2, 50)]
    assert min(around) > objective.value(np.zeros(2)) == 1.0
    with pytest.raises(InputError, match="theta = 0"):
        minimise(LOSSES["perceptron"], X, MEAN, alpha=0.1)


def _samples_with_one_mean():
    """Two samples with the same rows, other labels and one mean operator: opposite rows swap labels."""
    rng = np.random.default_rng(5)
    half = rng.standard_normal((6, 3))
    rows = np.vstack([half, half])
    labels = np.r_[np.ones(6), -np.ones(6)]
    return rows, labels, -labels


@pytest.mark.parametrize("name", sorted(A))
def test_corollary_4_equal_mean_operators_give_equal_risks_for_every_parameter(name):
    rows, first, second = _samples_with_one_mean()
    assert not (first == second).any()
    assert np.allclose(rows.T @ first, rows.T @ second)
    for theta in np.random.default_rng(6).standard_normal((20, 3)):
        margins = rows @ theta
        risks = [LOSSES[name].value(labels * margins).mean() for labels in (first, second)]
        assert risks[0] == pytest.approx(risks[1], rel=1e-12)


@pytest.mark.parametrize("name", sorted(A))
def test_definition_2_the_risk_difference_depends_on_labels_iff_the_mean_operators_differ(name):
    rng = np.random.default_rng(7)
    rows, theta = rng.standard_normal((9, 3)), rng.standard_normal(3)
    first, second = rng.choice([-1.0, 1.0], (2, 9))
    margins, loss = rows @ theta, LOSSES[name]
    difference = loss.value(first * margins).mean() - loss.value(second * margins).mean()
    gap = rows.T @ (first - second) / 9
    assert np.linalg.norm(gap) > 0.1
    assert difference == pytest.approx(-loss.a / 2 * theta @ gap, rel=1e-9)
    assert abs(difference) > 1e-3


def test_the_hinge_risk_is_not_determined_by_the_mean_operator():
    rows, first, second = (
        np.array([[0.2], [2.0], [2.2]]),
        np.array([1.0, 1.0, -1.0]),
        np.array([-1.0, -1.0, 1.0]),
    )
    assert rows.T @ first == pytest.approx(rows.T @ second, abs=1e-12)
    risks = [np.maximum(0.0, 1 - labels * rows[:, 0]).mean() for labels in (first, second)]
    assert abs(risks[0] - risks[1]) > 0.05


@given(seed=st.integers(0, 10**6), name=st.sampled_from(sorted(A)))
@settings(max_examples=40, deadline=None)
def test_theorem_3_the_factorisation_is_unique(seed, name):
    """Any split of f into an even function minus c z must have c = a/2, and then the same even function."""
    loss = LOSSES[name]
    z = np.random.default_rng(seed).uniform(0.1, 5.0, 7)
    for c in (loss.a / 2, loss.a / 2 + 0.25, loss.a / 2 - 1.0):
        rest, mirrored = loss.value(z) + c * z, loss.value(-z) - c * z
        assert np.allclose(rest, mirrored) == (c == loss.a / 2)
    assert np.allclose(loss.value(z) + loss.a / 2 * z, loss.even(z))


@given(seed=st.integers(0, 10**6), name=st.sampled_from(sorted(FIT)))
@settings(max_examples=30, deadline=None)
def test_theorem_3_the_fit_from_the_mean_is_the_fit_from_the_labels(seed, name):
    rng = np.random.default_rng(seed)
    rows, labels = rng.standard_normal((30, 3)), rng.choice([-1.0, 1.0], 30)
    found = minimise(LOSSES[name], rows, rows.T @ labels / 30, alpha=0.05).theta
    risk = lambda t: LOSSES[name].value(labels * (rows @ t)).mean() + 0.05 * t @ t  # noqa: E731
    for step in rng.standard_normal((10, 3)) * 1e-2:
        assert risk(found) <= risk(found + step)


@given(coefficients=st.lists(st.floats(-3, 3), min_size=3, max_size=3), a=st.floats(0.1, 8.0))
def test_lemma_5_every_even_function_gives_one_linear_odd_loss(coefficients, a):
    def even(z):
        return coefficients[0] + coefficients[1] * z * z + coefficients[2] * np.cos(z)

    made = LinearOdd(even, a)
    split = LinearOdd.from_function(made.value)
    z = np.linspace(-4, 4, 33)
    assert split.a == pytest.approx(a, rel=1e-6)
    assert np.allclose(split.even(z), even(z), atol=1e-8)


@pytest.mark.parametrize("name", sorted(A))
def test_lemma_5_every_linear_odd_loss_gives_one_even_function(name):
    loss = LOSSES[name]
    z = np.linspace(-6, 6, 49)
    shifted = loss.value(z) + loss.a / 2 * z
    assert np.allclose(shifted, shifted[::-1])
    assert np.allclose(LinearOdd(loss.even, loss.a).value(z), loss.value(z))


def test_lemma_5_over_all_a_one_even_function_gives_many_losses():
    z = np.array([0.5, 1.0])
    assert not np.allclose(LinearOdd(np.square, 1.0).value(z), LinearOdd(np.square, 2.0).value(z))
