"""Theorems 6 and 10 of the mean-operator paper (P0): the recorded numbers of the corrected statements."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from suffice.core.laws import L2Laplace, Laplace
from suffice.maths.linear_odd import LOSSES
from suffice.maths.minimise import minimise
from suffice.planning import theory

X = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -2.0]])
MEAN = X.T @ np.array([1.0, -1.0, 1.0]) / 3
SHIFT = np.array([0.05, -0.02])
ALPHA = 0.1


@pytest.mark.parametrize(
    ("name", "moved", "bound"),
    [
        ("logistic", 0.0807953276611455, 0.13462912017836262),
        ("unhinged", 0.26925824035672524, 0.26925824035672524),
    ],
)
def test_theorem_6_on_the_recorded_sample(name, moved, bound):
    loss = LOSSES[name]
    fits = [minimise(loss, X, mean, alpha=ALPHA).theta for mean in (MEAN, MEAN + SHIFT)]
    assert np.linalg.norm(fits[1] - fits[0]) == pytest.approx(moved, abs=1e-6)
    assert theory.distance_bound(loss.a, ALPHA, float(np.linalg.norm(SHIFT))) == pytest.approx(
        bound, abs=1e-12
    )


THEOREM_10 = {
    1: (2.995732273553991, 2.995732273553991, 2.9957322735539895),
    5: (4.605170185988092, 10.297473583824724, 9.153519026637573),
    20: (5.991464547107982, 26.794644024226876, 27.87923963944351),
    100: (7.600902459542082, 76.00902459542083, 116.99713444616246),
}


@pytest.mark.parametrize("dimension", sorted(THEOREM_10))
def test_theorem_10_in_units_of_two_over_rows_times_epsilon(dimension):
    """|a| = 2, radius 1 and scale 1 make the bound the quantile of the length itself."""
    printed, product, exact = THEOREM_10[dimension]
    one = Fraction(1)
    assert theory.printed_uniform_bound(
        1.0, 1.0, dimension=dimension, count=1, epsilon=1.0, failure=0.05
    ) == pytest.approx(printed, abs=1e-9)
    assert theory.uniform_bound(2.0, 1.0, Laplace(one, dimension), 0.05) == pytest.approx(product, abs=1e-9)
    assert theory.uniform_bound(2.0, 1.0, L2Laplace(one, dimension), 0.05) == pytest.approx(exact, abs=1e-9)
    assert exact == pytest.approx(stats.gamma.ppf(0.95, dimension), abs=1e-9)
