"""Published and derived constants of noise: scales, squared errors, calibrations, zCDP."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from suffice.mechanisms import calibration as cal
from suffice.mechanisms import sampler

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS, COLUMNS = 1000, 100
MOVE = Fraction(2, ROWS)  # how far one flipped label moves the mean operator of rows of norm one
GRID = 2**40


def root_above(number: int) -> Fraction:
    return Fraction(math.isqrt(number * 2**80) + 1, 2**40)


def test_the_scale_of_every_mechanism_at_epsilon_one() -> None:
    assert float(cal.laplace_scale(MOVE, 1)) == pytest.approx(0.002, abs=1e-9)
    assert float(cal.laplace_scale(MOVE * root_above(COLUMNS), 1)) == pytest.approx(0.02, abs=1e-9)
    assert float(cal.laplace_scale(MOVE * COLUMNS, 1)) == pytest.approx(0.2, abs=1e-9)
    assert float(cal.l2_laplace_scale(MOVE, 1, 0, COLUMNS)) == pytest.approx(0.002, abs=1e-9)
    assert float(cal.cube_scale(MOVE, 1)) == pytest.approx(0.002, abs=1e-9)
    assert float(cal.gaussian_stddev(MOVE, 1, 1e-6)) == pytest.approx(0.008449357778648213, abs=1e-9)


@pytest.mark.parametrize(
    ("law", "scale", "repeats", "expected"),
    [
        (sampler.laplace, cal.laplace_scale(MOVE, 1), 300, 0.0008),
        (sampler.laplace, cal.laplace_scale(MOVE * 10, 1), 300, 0.08),
        (sampler.laplace, cal.laplace_scale(MOVE * COLUMNS, 1), 300, 8.0),
        (sampler.l2_laplace, cal.l2_laplace_scale(MOVE, 1, 0, COLUMNS), 1200, 0.0404),
        (sampler.cube, cal.cube_scale(MOVE, 1), 1200, 1.3736),
        (sampler.gaussian, cal.gaussian_stddev(MOVE, 1, 1e-6), 300, 0.007139164687160306),
    ],
)
def test_the_mean_squared_length_of_every_mechanism(
    law: Callable[[Fraction, int], sampler.Ideal], scale: Fraction, repeats: int, expected: float
) -> None:
    bits = np.random.default_rng(11)
    drawn = [sampler.exactly_rounded(law(scale * GRID, COLUMNS), read=bits.bytes) for _ in range(repeats)]
    mean = sum(value * value for noise in drawn for value in noise) / repeats / GRID**2
    assert mean == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize(
    ("epsilon", "delta", "expected"),
    [
        (0.1, 1e-6, 36.30469042632126),
        (1.0, 1e-5, 3.7306316348159374),
        (1.0, 1e-6, 4.224678889324107),
        (4.0, 1e-6, 1.1935185871579852),
    ],
)
def test_the_analytic_gaussian(epsilon: float, delta: float, expected: float) -> None:
    assert float(cal.gaussian_stddev(1, epsilon, delta)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "dimension", "expected"),
    [
        (1.0, 5, 0.9864233017196922),
        (1.0, 20, 0.7727884815593224),
        (1.0, 100, 0.40516876688567116),
        (0.1, 20, 6.998032765469823),
        (4.0, 50, 0.1516726389033407),
    ],
)
def test_round_laplace_noise_at_a_millionth(epsilon: float, dimension: int, expected: float) -> None:
    assert float(cal.l2_laplace_scale(1, epsilon, 1e-6, dimension)) == pytest.approx(expected, rel=1e-8)


def test_a_laplace_scale_meant_for_the_one_norm_spends_ten_times_as_much_on_a_two_norm_row() -> None:
    row = [Fraction(1, 10)] * COLUMNS
    assert sum(x * x for x in row) == 1
    move = 2 * sum(row) / ROWS
    assert move / Fraction(2, 1000) == 10
    assert cal.laplace_scale(move, 10) == Fraction(2, 1000)


def test_the_least_concentrated_constants_at_epsilon_one() -> None:
    assert float(cal.laplace_rho(1)) == pytest.approx(0.36787944117144233, abs=1e-9)
    assert float(cal.pure_rho(1)) == pytest.approx(0.46211715726000974, abs=1e-9)
    assert float(cal.exponential_rho(1)) == 0.125
    assert float(cal.gaussian_rho(1, 2)) == 0.125
