"""Conversions are never below the true value, and hardly above it."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.accounting.composition import approx_of_zcdp, balanced_of_zcdp, zcdp_of_pure


def choice_divergence(epsilon: float, order: float) -> float:
    """Return the Rényi divergence of this order between the two answers of a fair noisy choice."""
    top, low = order * epsilon, (1 - order) * epsilon
    return (top + math.log1p(math.exp(low - top)) - epsilon - math.log1p(math.exp(-epsilon))) / (order - 1)


@given(st.floats(1e-3, 50), st.floats(1.001, 200))
def test_no_order_of_a_fair_choice_exceeds_the_rho_of_its_epsilon(epsilon, order):
    rho = float(zcdp_of_pure(Fraction(epsilon)))
    assert choice_divergence(epsilon, order) <= rho * order * (1 + 1e-9) + 1e-11


@given(st.floats(1e-3, 50))
def test_the_rho_of_an_epsilon_is_attained_at_the_lowest_orders(epsilon):
    rho = zcdp_of_pure(Fraction(epsilon))
    assert float(rho) == pytest.approx(epsilon * math.tanh(epsilon / 2), rel=1e-12)
    assert choice_divergence(epsilon, 1 + 1e-5) >= float(rho) * (1 - 1e-3)


@given(st.fractions(Fraction(1, 10**9), 2000, max_denominator=10**9))
def test_the_rho_of_an_epsilon_is_below_both_simple_bounds(epsilon):
    assert 0 < zcdp_of_pure(epsilon) <= min(epsilon, epsilon * epsilon / 2)


def gaussian_delta(sigma: float, epsilon: float) -> float:
    """Return the exact delta of normal noise at sensitivity one."""
    phi = [
        math.erfc(-x / math.sqrt(2)) / 2
        for x in (0.5 / sigma - epsilon * sigma, -0.5 / sigma - epsilon * sigma)
    ]
    return phi[0] - math.exp(epsilon) * phi[1]


@given(st.floats(1e-3, 2), st.floats(1e-10, 0.1))
def test_a_gaussian_keeps_what_its_rho_converts_to(rho, delta):
    epsilon = approx_of_zcdp(Fraction(rho), Fraction(delta))
    assert gaussian_delta(math.sqrt(1 / (2 * rho)), float(epsilon)) <= delta * (1 + 1e-9)


@given(st.floats(1e-4, 5), st.floats(1e-12, 0.3))
def test_no_order_on_a_fine_grid_gives_a_smaller_epsilon(rho, delta):
    found = float(approx_of_zcdp(Fraction(rho), Fraction(delta)))
    orders = [1 + math.exp(k / 20) for k in range(-200, 400)]
    best = min(a * rho + math.log1p(-1 / a) - (math.log(delta) + math.log(a)) / (a - 1) for a in orders)
    assert found <= max(best, 0) + 1e-9


def test_the_published_constant_of_this_route_comes_out():
    rho = Fraction(1) / (2 * Fraction("4.5309") ** 2)
    assert float(approx_of_zcdp(rho, Fraction(1, 10**6))) == pytest.approx(1, abs=1e-4)


def test_the_simple_conversion_is_never_better():
    for rho, delta in [(0.01, 1e-6), (0.5, 1e-9), (3.0, 1e-3)]:
        simple = rho + 2 * math.sqrt(rho * math.log(1 / delta))
        assert float(approx_of_zcdp(Fraction(rho), Fraction(delta))) < simple


@given(st.floats(1e-5, 0.5), st.floats(0.1, 10), st.floats(1e-9, 1e-3))
def test_a_balanced_pair_is_a_pair_that_the_mechanism_keeps(rho, epsilon, delta):
    first, part = balanced_of_zcdp(Fraction(rho), Fraction(epsilon), Fraction(delta))
    assert part <= Fraction(delta)
    assert first >= approx_of_zcdp(Fraction(rho), part)
    if part < Fraction(delta) * Fraction(999, 1000) and first > 0 and part > Fraction(delta) / 10**15:
        assert float(first / Fraction(epsilon)) == pytest.approx(float(part / Fraction(delta)), rel=1e-6)
