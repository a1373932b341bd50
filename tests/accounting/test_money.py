"""Money is whole numbers, rounded up, and a float is the number that was typed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.accounting.money import Amount, cost, reading
from suffice.core.errors import InputError, UnsupportedPair
from suffice.core.guarantees import ApproxDP, NotPrivate, PureDP, ZeroConcentratedDP

PURE = Amount.of(PureDP(1.0))
RHO = Amount.of(ZeroConcentratedDP(1.0))
PAIR = Amount.of(ApproxDP(1.0, 1e-6))


def test_a_tenth_and_two_tenths_are_three_tenths_to_the_unit():
    parts = Amount.of(PureDP(0.1)).units, Amount.of(PureDP(0.2)).units
    assert 0.1 + 0.2 > 0.3
    assert sum(parts) == Amount.of(PureDP(0.3)).units == 300_000_000


@pytest.mark.parametrize(
    ("tenth", "whole"),
    [
        (PureDP(0.1), PureDP(1.0)),
        (ZeroConcentratedDP(0.1), ZeroConcentratedDP(1.0)),
        (ApproxDP(0.1, 1e-7), ApproxDP(1.0, 1e-6)),
    ],
)
def test_ten_tenths_fill_the_whole_exactly(tenth, whole):
    one, all_ = Amount.of(tenth), Amount.of(whole)
    assert (10 * one.units, 10 * one.delta_units) == (all_.units, all_.delta_units)


@given(st.floats(1e-12, 1e3, allow_nan=False))
def test_an_amount_is_the_least_whole_number_of_units_that_covers_the_number_typed(epsilon):
    (exact, _), typed = Amount.of(PureDP(epsilon)).exact, Fraction(repr(epsilon))
    assert typed <= exact < typed + Fraction(1, 10**9)


@given(st.fractions(Fraction(1, 10**12), 10, max_denominator=10**15))
def test_a_fraction_is_taken_as_it_is(epsilon):
    exact, _ = Amount.of(PureDP(epsilon)).exact
    assert epsilon <= exact < epsilon + Fraction(1, 10**9)


@given(st.floats(1e-300, 1e300))
def test_the_number_typed_is_within_half_a_last_place_of_the_double(value):
    assert abs(reading(value) - Fraction(value)) * 2**53 <= Fraction(value)
    assert float(reading(value)) == value


def test_a_double_of_numpy_is_read_like_any_other():
    assert reading(np.float64(0.1)) == Fraction(1, 10)


def test_the_smallest_promise_still_costs_a_unit():
    assert Amount.of(PureDP(5e-324)).units == 1
    assert Amount.of(ApproxDP(1.0, 1e-30)).delta_units == 1


def test_an_amount_that_would_not_fit_in_a_database_is_refused():
    with pytest.raises(InputError, match="A ledger counts up to"):
        Amount.of(PureDP(1e10))


def test_what_is_not_private_has_no_price():
    with pytest.raises(InputError, match="has a price"):
        Amount.of(NotPrivate("exact"))


def test_amounts_print_like_the_promise_and_zero_is_one_of_them():
    assert str(PURE) == "epsilon = 1"
    assert str(PAIR.minus(PAIR)) == "epsilon = 0, delta = 0"
    assert str(Amount.of(ZeroConcentratedDP(0.3))) == "rho = 0.3"
    assert str(Amount.of(PureDP(0.299999999))) == "epsilon = 0.299999999"


def test_each_currency_takes_the_cheapest_promise_of_the_draw():
    assert cost(PureDP(0.5), (PureDP(0.4), ZeroConcentratedDP(0.01)), PURE) == Amount("PureDP", 400_000_000)
    assert cost(PureDP(0.5), (ZeroConcentratedDP(0.1),), RHO) == Amount("ZeroConcentratedDP", 10**11)
    dear = cost(PureDP(0.5), (ZeroConcentratedDP(0.4),), RHO)
    assert dear.units == 122_459_331_202  # 0.5 tanh(0.25), cheaper than 0.4
    assert cost(PureDP(0.5), (), PAIR) == Amount("ApproxDP", 500_000_000, 0)


def test_a_pair_is_cheap_by_the_larger_of_its_two_shares():
    thrifty = ApproxDP(0.5, 1e-7)
    assert cost(ApproxDP(0.1, 9e-7), (thrifty,), PAIR) == Amount.of(thrifty)
    assert cost(thrifty, (PureDP(0.6),), PAIR) == Amount.of(thrifty)
    assert cost(thrifty, (PureDP(0.4),), PAIR) == Amount("ApproxDP", 400_000_000, 0)


def test_a_concentrated_promise_takes_the_same_share_of_epsilon_and_of_delta():
    price = cost(ZeroConcentratedDP(0.001), (), PAIR)
    large, small = price.share_of(PAIR)
    assert 0 < large - small < Fraction(1, 10**6)


@pytest.mark.parametrize(
    ("promise", "budget"),
    [
        (ApproxDP(0.1, 1e-9), PURE),
        (ZeroConcentratedDP(0.1), PURE),
        (ApproxDP(0.1, 1e-9), RHO),
    ],
)
def test_a_promise_that_says_nothing_in_the_currency_is_refused(promise, budget):
    with pytest.raises(UnsupportedPair, match="promises only"):
        cost(promise, (NotPrivate("no"),), budget)
