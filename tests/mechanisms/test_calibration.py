"""What is promised is never exceeded, and nearly nothing is wasted."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from suffice.core.errors import InputError
from suffice.mechanisms import calibration as cal

if TYPE_CHECKING:
    from collections.abc import Callable

EPSILONS = st.floats(0.01, 20)
DELTAS = st.floats(1e-12, 0.3)


def gaussian_delta_by_floats(ratio: float, epsilon: float) -> float:
    near, far = 1 / (2 * ratio) - epsilon * ratio, -1 / (2 * ratio) - epsilon * ratio
    return float(stats.norm.cdf(near) - math.exp(epsilon) * stats.norm.cdf(far))


def l2_delta_by_cones(shift: float, epsilon: float, dimension: int) -> float:
    """P(L > ε) - e^ε Q(L > ε), each one integral over the angle of an incomplete gamma function.

    Derived in polar coordinates, so it shares nothing with the confocal form of the package.
    """
    gap = (shift - epsilon) * (shift + epsilon) / 2

    def near(angle: float) -> float:
        slope = epsilon + shift * math.cos(angle)
        within = special.gammainc(dimension, gap / slope) if slope > 0 else 1.0
        return within * math.sin(angle) ** (dimension - 2)

    def far(angle: float) -> float:
        slope = shift * math.cos(angle) - epsilon
        return (
            special.gammaincc(dimension, gap / slope) * math.sin(angle) ** (dimension - 2)
            if slope > 0
            else 0.0
        )

    norm = special.beta((dimension - 1) / 2, 0.5)
    edge = math.acos(epsilon / shift)
    first = integrate.quad(near, 0, math.pi, epsabs=1e-13, limit=400)[0]
    second = integrate.quad(far, 0, edge, epsabs=1e-13, limit=400)[0]
    return (first - math.exp(epsilon) * second) / norm


@given(EPSILONS, DELTAS, st.integers(1, 10**9))
@settings(max_examples=60, deadline=None)
def test_a_gaussian_keeps_its_delta_and_a_hair_less_noise_would_not(
    epsilon: float, delta: float, sensitivity: int
) -> None:
    stddev = cal.gaussian_stddev(sensitivity, epsilon, delta)
    assert cal.gaussian_delta(sensitivity, stddev, epsilon) <= Fraction(delta)
    assert cal.gaussian_delta(sensitivity, stddev * (1 - Fraction(1, 10**9)), epsilon) > Fraction(delta)


@given(EPSILONS, DELTAS, st.integers(1, 300))
@settings(max_examples=40, deadline=None)
def test_round_laplace_noise_keeps_its_delta_and_a_hair_less_would_not(
    epsilon: float, delta: float, dimension: int
) -> None:
    scale = cal.l2_laplace_scale(7, epsilon, delta, dimension)
    assert cal.l2_laplace_delta(7, scale, epsilon, dimension) <= Fraction(delta)
    assert cal.l2_laplace_delta(7, scale * (1 - Fraction(1, 10**9)), epsilon, dimension) > Fraction(delta)
    assert scale <= cal.l2_laplace_scale(7, epsilon, 0, dimension)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("ratio", [0.3, 1.0, 4.0])
def test_the_gaussian_delta_is_the_difference_of_two_normal_tails(ratio: float, epsilon: float) -> None:
    ours = float(cal.gaussian_delta(1, ratio, epsilon))
    assert ours == pytest.approx(gaussian_delta_by_floats(ratio, epsilon), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("dimension", [2, 3, 4, 11, 60])
@pytest.mark.parametrize(("shift", "epsilon"), [(0.5, 0.1), (1.3, 1.0), (3.0, 1.0), (9.0, 4.0)])
def test_the_round_laplace_delta_agrees_with_polar_coordinates(
    shift: float, epsilon: float, dimension: int
) -> None:
    ours = float(cal.l2_laplace_delta(shift, 1, epsilon, dimension))
    assert ours == pytest.approx(l2_delta_by_cones(shift, epsilon, dimension), rel=1e-6, abs=1e-11)


@pytest.mark.parametrize(("dimension", "shift"), [(1, 2.0), (2, 2.0), (5, 2.0), (40, 6.0)])
def test_the_round_laplace_delta_agrees_with_simulation(dimension: int, shift: float) -> None:
    random, count, epsilon = np.random.default_rng(5), 200_000, 0.5
    noise = random.standard_normal((count, dimension))
    noise *= random.gamma(dimension, size=(count, 1)) / np.linalg.norm(noise, axis=1, keepdims=True)
    moved = noise.copy()
    moved[:, 0] -= shift
    loss = np.linalg.norm(moved, axis=1) - np.linalg.norm(noise, axis=1)
    excess = np.maximum(0, 1 - np.exp(epsilon - loss))
    error = 4 * excess.std() / math.sqrt(count)
    assert float(cal.l2_laplace_delta(shift, 1, epsilon, dimension)) == pytest.approx(
        excess.mean(), abs=error
    )


def test_one_dimensional_round_laplace_noise_is_laplace_noise() -> None:
    delta = cal.l2_laplace_delta(3, 1, 1, 1)
    assert float(delta) == pytest.approx(1 - math.exp(-1), rel=1e-12)


@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_a_larger_shift_never_has_a_smaller_delta(dimension: int) -> None:
    shifts = [Fraction(n, 8) for n in range(1, 60)]
    deltas = [cal.l2_laplace_delta(shift, 1, 1, dimension) for shift in shifts]
    assert deltas == sorted(deltas)
    assert deltas[0] == 0 < deltas[-1]


@given(st.floats(1e-9, 1e9), st.integers(1, 2**60))
def test_pure_scales_spend_exactly_what_was_asked(epsilon: float, sensitivity: int) -> None:
    for scale in (
        cal.laplace_scale(sensitivity, epsilon),
        cal.cube_scale(sensitivity, epsilon),
        cal.l2_laplace_scale(sensitivity, epsilon, 0, 9),
    ):
        assert sensitivity / scale == Fraction(epsilon)


@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1", "3", "10"])
def test_concentrated_constants_cover_every_order_and_are_least(epsilon: str) -> None:
    level = Decimal(epsilon)
    rho = [_decimal(constant(Fraction(level))) for constant in (cal.laplace_rho, cal.pure_rho)]
    worst = [Decimal(0), Decimal(0)]
    with localcontext(prec=60):
        for step in range(-60, 31):
            slope = Decimal(10) ** (Decimal(step) / 10)
            order = slope + 1
            up, down = (slope * level).exp(), (-order * level).exp()
            laplace = ((order * up + slope * down) / (order + slope)).ln()
            binary = ((up * level.exp() + (-slope * level).exp()) / (level.exp() + 1)).ln()
            worst = [max(old, d / slope / order) for old, d in zip(worst, (laplace, binary), strict=True)]
        for largest, constant in zip(worst, rho, strict=True):
            assert constant * (1 - Decimal("1e-4")) <= largest <= constant


def _decimal(number: Fraction) -> Decimal:
    with localcontext(prec=60):
        return Decimal(number.numerator) / number.denominator


def test_rounded_up_constants_never_fall_below_the_exact_ones() -> None:
    with localcontext(prec=60):
        for numerator in range(1, 60):
            level = Fraction(numerator, 16)
            exact = Decimal(numerator) / 16
            laplace = exact + (-exact).exp() - 1
            pure = exact * (1 - (-exact).exp()) / (1 + (-exact).exp())
            for rho, least in ((cal.laplace_rho(level), laplace), (cal.pure_rho(level), pure)):
                assert least <= _decimal(rho) <= least * (1 + Decimal(2) ** -39)


def test_quadratic_constants_are_exact_fractions() -> None:
    assert cal.exponential_rho(Fraction(1, 3)) == Fraction(1, 72)
    assert cal.gaussian_rho(3, 6) == Fraction(1, 8)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: cal.laplace_scale(0, 1),
        lambda: cal.laplace_scale(1, math.nan),
        lambda: cal.cube_scale(1, math.inf),
        lambda: cal.gaussian_stddev(1, -1, 1e-6),
        lambda: cal.gaussian_stddev(1, 1, 0),
        lambda: cal.gaussian_stddev(1, 1, 1),
        lambda: cal.l2_laplace_scale(1, 1, -1e-9, 3),
        lambda: cal.l2_laplace_scale(1, 1, 1e-9, 0),
        lambda: cal.gaussian_rho(1, 0),
    ],
)
def test_numbers_that_promise_nothing_are_refused(ask: Callable[[], object]) -> None:
    with pytest.raises(InputError):
        ask()
