from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from suffice.core.errors import InputError
from suffice.core.laws import Cube, Gaussian, L2Laplace, Laplace
from suffice.core.moments import Isotropic
from suffice.maths.linear_odd import LOSSES, LinearOdd
from suffice.maths.minimise import Objective, minimise
from suffice.mechanisms.calibration import l2_laplace_scale
from suffice.planning import theory

LOSS_NAMES = ("logistic", "square", "matsushita", "modified_huber", "unhinged")
REPEATS = 20_000


def problem(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, their mean operator, and a shift of it."""
    draw = np.random.default_rng(seed)
    rows = draw.standard_normal((30, 3))
    return rows, rows.T @ draw.choice([-1.0, 1.0], 30) / 30, draw.standard_normal(3)


def moved(loss, rows, mean, shift, alpha) -> tuple[float, float, float]:
    """Return how far the minimiser moves, its excess under the exact objective, and its length."""
    true = minimise(loss, rows, mean, alpha=alpha)
    noisy = minimise(loss, rows, mean + shift, alpha=alpha)
    excess = Objective(loss, rows, mean, alpha).value(noisy.theta) - true.value
    return (
        float(np.linalg.norm(noisy.theta - true.theta)),
        float(excess),
        float(np.linalg.norm(noisy.theta)),
    )


@pytest.mark.parametrize("name", LOSS_NAMES)
@pytest.mark.parametrize("alpha", [0.01, 0.3, 4.0])
def test_a_shift_of_the_mean_costs_at_most_the_bounds(name, alpha):
    loss = LOSSES[name]
    for seed in range(8):
        rows, mean, shift = problem(seed)
        size = float(np.linalg.norm(shift))
        distance, excess, length = moved(loss, rows, mean, shift, alpha)
        assert distance <= theory.distance_bound(loss.a, alpha, size) * (1 + 1e-9) + 1e-9
        assert excess <= theory.excess_bound(loss.a, alpha, size) * (1 + 1e-9) + 1e-9
        assert length <= theory.length_bound(loss.a, alpha, mean + shift) * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("name", ["unhinged", "linear"])
def test_the_bounds_are_attained_where_the_loss_has_no_even_part(name):
    loss = LOSSES[name]
    rows, mean, shift = problem(3)
    size = float(np.linalg.norm(shift))
    distance, excess, length = moved(loss, rows, mean, shift, 0.2)
    assert distance == pytest.approx(theory.distance_bound(loss.a, 0.2, size), rel=1e-9)
    assert excess == pytest.approx(theory.excess_bound(loss.a, 0.2, size), rel=1e-9)
    assert length == pytest.approx(theory.length_bound(loss.a, 0.2, mean + shift), rel=1e-9)


def test_the_square_loss_attains_the_bound_in_a_direction_that_no_row_has():
    rows = np.array([[1.0, 0.0], [-2.0, 0.0]])
    distance, _, _ = moved(LOSSES["square"], rows, np.array([0.3, 0.0]), np.array([0.0, 0.7]), 0.2)
    assert distance == pytest.approx(theory.distance_bound(4.0, 0.2, 0.7), rel=1e-9)
    assert distance == pytest.approx(theory.printed_distance_bound(0.2, 0.7), rel=1e-9)


def test_the_printed_distance_fails_for_a_convex_differentiable_loss_of_steep_odd_part():
    steep = LinearOdd(np.ones_like, 6.0, np.zeros_like, np.zeros_like, "steep")
    rows, mean, shift = problem(4)
    size = float(np.linalg.norm(shift))
    distance, _, _ = moved(steep, rows, mean, shift, 0.5)
    assert distance > 1.49 * theory.printed_distance_bound(0.5, size)
    assert distance <= theory.distance_bound(6.0, 0.5, size) * (1 + 1e-9)


def test_the_printed_distance_fails_for_the_square_loss_under_half_the_penalty():
    """With alpha/2 for alpha, the other convention, the right constant doubles and the printed one stays."""
    rows = np.array([[1.0, 0.0], [-2.0, 0.0]])
    distance, _, _ = moved(LOSSES["square"], rows, np.array([0.3, 0.0]), np.array([0.0, 0.7]), 0.2 / 2)
    assert distance == pytest.approx(2 * theory.printed_distance_bound(0.2, 0.7), rel=1e-9)


def test_the_printed_distance_is_four_times_loose_for_the_logistic_loss():
    assert theory.printed_distance_bound(0.1, 3.0) == pytest.approx(4 * theory.distance_bound(1.0, 0.1, 3.0))


def test_the_mean_of_the_excess_bound_is_that_of_squared_noise():
    noise = np.random.default_rng(8).normal(0, 0.3, (REPEATS, 5))
    simulated = np.mean([theory.excess_bound(2.0, 0.1, float(np.linalg.norm(b))) for b in noise])
    assert theory.expected_excess_bound(2.0, 0.1, Isotropic(0.09, 5)) == pytest.approx(simulated, rel=0.02)


def test_the_risk_gap_is_attained_by_the_parameter_along_the_noise():
    rows, mean, shift = problem(5)
    size = float(np.linalg.norm(shift))
    for name in LOSS_NAMES:
        loss = LOSSES[name]
        theta = 2.5 * shift / size
        gap = Objective(loss, rows, mean).value(theta) - Objective(loss, rows, mean + shift).value(theta)
        assert abs(gap) == pytest.approx(theory.risk_gap(loss.a, 2.5, size), rel=1e-9)


def draws(law: str, dimension: int) -> np.ndarray:
    """Return lengths of noise of scale one."""
    draw = np.random.default_rng([20, dimension])
    if law == "l2":
        return draw.gamma(dimension, size=REPEATS)
    if law == "gaussian":
        return np.linalg.norm(draw.standard_normal((REPEATS, dimension)), axis=1)
    if law == "cube":
        corners = draw.uniform(-1, 1, (REPEATS, dimension))
        return draw.gamma(dimension + 1, size=REPEATS) * np.linalg.norm(corners, axis=1)
    return np.linalg.norm(draw.laplace(size=(REPEATS, dimension)), axis=1)


@pytest.mark.parametrize("dimension", [1, 2, 5, 20, 100])
@pytest.mark.parametrize("failure", [0.05, 0.3])
def test_the_uniform_bound_fails_as_often_as_it_says_for_round_noise(dimension, failure):
    """Of 20,000 draws; five standard errors of the share are 0.0077 at 0.05 and 0.0162 at 0.3."""
    for name, law in (
        ("l2", L2Laplace(Fraction(1), dimension)),
        ("gaussian", Gaussian(Fraction(1), dimension)),
    ):
        bound = theory.uniform_bound(2.0, 3.0, law, failure)
        gaps = [theory.risk_gap(2.0, 3.0, float(length)) for length in draws(name, dimension)]
        broken = float(np.mean(np.array(gaps) > bound))
        assert broken == pytest.approx(failure, abs=5 * math.sqrt(failure * (1 - failure) / REPEATS))


@pytest.mark.parametrize("dimension", [1, 2, 5, 20, 100])
def test_the_uniform_bound_fails_at_most_as_often_as_it_says_for_other_noise(dimension):
    for name, law in (("laplace", Laplace(Fraction(1), dimension)), ("cube", Cube(Fraction(1), dimension))):
        bound = theory.uniform_bound(2.0, 3.0, law, 0.05)
        assert np.mean(theory.risk_gap(2.0, 3.0, 1.0) * draws(name, dimension) > bound) <= 0.05 + 0.0077


@pytest.mark.parametrize(("dimension", "share"), [(1, 0.05), (2, 0.064), (5, 0.105), (20, 0.50), (100, 1.0)])
def test_the_printed_uniform_bound_fails_more_often_than_it_says_from_two_dimensions_on(dimension, share):
    """Product Laplace noise of scale 2/(m·epsilon), as the paper's algorithm 2 draws it, at a stated 5 %."""
    count, epsilon = 500, 0.7
    printed = theory.printed_uniform_bound(
        2.0, 3.0, dimension=dimension, count=count, epsilon=epsilon, failure=0.05
    )
    noise = 2 / (count * epsilon) * draws("laplace", dimension)
    assert np.mean(theory.risk_gap(2.0, 3.0, 1.0) * noise > printed) == pytest.approx(share, abs=0.018)


def test_one_grid_unit_is_scaled_like_the_mean_it_stands_in():
    law = L2Laplace(Fraction(2**20), 7)
    one, other = (theory.uniform_bound(1.0, 1.0, law, 0.1, unit=unit) for unit in (1.0, 2.0**-20 / 500))
    assert other == pytest.approx(one * 2.0**-20 / 500)


def test_the_covariance_of_randomised_labels_is_that_of_simulated_ones():
    draw = np.random.default_rng(11)
    rows, epsilon = draw.standard_normal((40, 2)), 0.9
    labels = draw.choice([-1.0, 1.0], 40)
    flips = draw.random((REPEATS, 40)) < 1 / (1 + math.exp(epsilon))
    answers = np.where(flips, -labels, labels) / math.tanh(epsilon / 2)
    estimates = answers @ rows / 40
    assert estimates.mean(axis=0) == pytest.approx(rows.T @ labels / 40, abs=0.02)
    expected = theory.randomised_label_covariance(rows, epsilon)
    assert np.cov(estimates.T) == pytest.approx(expected, rel=0.06, abs=0.003)


@pytest.mark.parametrize(("count", "crossing"), [(1000, 30), (10_000, 96), (100_000, 303)])
def test_randomised_labels_win_above_the_crossover_dimension(count, crossing):
    draw = np.random.default_rng(count)
    found = theory.crossover_dimension(count, 1.0)
    assert found == pytest.approx(crossing, abs=1)
    for dimension in (math.floor(found), math.ceil(found)):
        rows = draw.standard_normal((count, dimension))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        labels = theory.weighted_error(theory.randomised_label_covariance(rows, 1.0))
        noise = dimension * (dimension + 1) * (2 / count) ** 2
        assert (labels < noise) == (dimension > found)


def test_with_a_delta_the_aggregate_wins_from_far_fewer_rows_on():
    """Of 100 columns: pure round noise loses to randomised labels below 10,970 rows, else below 1,800."""
    pure = theory.crossover_count(4.0 * 100 * 101, 1.0)
    relaxed = float(l2_laplace_scale(1, 1.0, 1e-6, 100))
    assert pure == pytest.approx(10_970, rel=1e-3)
    assert theory.crossover_count(4.0 * 100 * 101 * relaxed**2, 1.0) == pytest.approx(1_800, rel=2e-3)
    assert theory.crossover_dimension(round(pure), 1.0) == pytest.approx(100, abs=0.01)


def test_a_metric_weighs_the_error_by_the_curvature():
    covariance = np.diag([3.0, 8.0])
    assert theory.weighted_error(covariance) == 11.0
    assert theory.weighted_error(covariance, np.diag([1.0, 4.0])) == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: theory.distance_bound(1.0, 0.0, 1.0), "alpha="),
        (lambda: theory.excess_bound(1.0, 0.1, -1.0), "shift="),
        (lambda: theory.uniform_bound(1.0, 1.0, L2Laplace(Fraction(1), 2), 1.0), "failure="),
        (lambda: theory.crossover_dimension(10, -1.0), "epsilon="),
    ],
)
def test_numbers_that_mean_nothing_are_refused_in_words(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_planning_imports_without_scipy():
    code = "import sys; from suffice.planning import theory; assert 'scipy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
