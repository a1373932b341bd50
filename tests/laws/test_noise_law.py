"""Noise follows its law: goodness of fit, directions, two worlds, and mutants that must be caught.

A law passes when its p-value is above 1e-4, or that of a second sample is. The quick figures run
on fixed bit streams, so they never flicker; the full ones (`make laws`) run on the operating
system's bits. Every check is a function of the way noise is drawn, and is run on
the sampler and on mutants of it: noise times 0.8 and 0.95, tails cut at ten scales, rounding
towards zero, undecided draws thrown away, bits that end too soon, a radius of the wrong shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Final

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special, stats

from suffice.core.randomness import octets
from suffice.mechanisms import calibration
from suffice.mechanisms.sampler import Ideal, cube, exactly_rounded, gaussian, l2_laplace, laplace

Read = Callable[[int], bytes]
Draw = Callable[[Ideal, Read], list[int]]
Vector = NDArray[np.float64]
Cdf = Callable[[Vector], Vector]
Fit = Callable[[Draw, Read, int], float]

PASS: Final = 1e-4
FINE: Final = Fraction(2**40)  # a grid so fine that rounding cannot be seen
THREE: Final = Fraction(3)  # and one so coarse that every integer is a cell
FULL, QUICK, LESS, FEW = 3_000_000, 300_000, 100_000, 40_000


def stream(seed: int) -> Read:
    return np.random.default_rng(seed).bytes


# ---------------------------------------------------------------- ways of drawing


def honest(law: Ideal, read: Read) -> list[int]:
    return exactly_rounded(law, read=read)


def honest_from_eight_bits(law: Ideal, read: Read) -> list[int]:
    return exactly_rounded(law, start_bits=8, read=read)


def too_quiet(law: Ideal, read: Read) -> list[int]:
    return exactly_rounded(replace(law, scale=law.scale * Fraction(4, 5)), read=read)


def a_little_too_quiet(law: Ideal, read: Read) -> list[int]:
    return exactly_rounded(replace(law, scale=law.scale * Fraction(19, 20)), read=read)


def cut_at_ten_scales(law: Ideal, read: Read) -> list[int]:
    most = 10 * law.scale
    return [value if abs(value) <= most else 0 for value in exactly_rounded(law, read=read)]


def rounded_towards_zero(law: Ideal, read: Read) -> list[int]:
    finer = exactly_rounded(replace(law, scale=law.scale * 2**20), read=read)
    return [int(value / 2**20) for value in finer]


class _Undecided(Exception):
    pass


def undecided_thrown_away(law: Ideal, read: Read) -> list[int]:
    """Draw everything again, instead of reading further, when eight bits decide nothing."""
    while True:
        first = iter([read(law.uniforms)])

        def once(_count: int, first: object = first) -> bytes:
            for octets_ in first:  # type: ignore[attr-defined]
                return octets_
            raise _Undecided

        try:
            return exactly_rounded(law, start_bits=8, read=once)
        except _Undecided:
            continue


def bits_that_end(law: Ideal, read: Read) -> list[int]:
    """Eight random bits per uniform, then the middle of the cell: a fixed number of bits."""
    return exactly_rounded(
        law, read=lambda count: b"".join(read(1) + b"\x80" + bytes(30) for _ in range(count // 32))
    )


def follows(
    check: Fit, draw: Draw, count: int, first: Read | None = None, second: Read | None = None
) -> bool:
    """Whether this way of drawing passes; a p-value below 1e-4 counts once a second sample confirms it."""
    return check(draw, first or stream(1), count) > PASS or check(draw, second or stream(2), count) > PASS


# ---------------------------------------------------------------- one coordinate against its cells


def laplace_cdf(x: Vector) -> Vector:
    tail = np.exp(-np.abs(x)) / 2
    return np.where(x < 0, tail, 1 - tail)


def round_laplace_cdf(x: Vector) -> Vector:
    """One coordinate of the density exp(-‖b‖₂) in three dimensions."""
    tail = (2 + np.abs(x)) * np.exp(-np.abs(x)) / 4
    return np.where(x < 0, tail, 1 - tail)


def cube_cdf(x: Vector) -> Vector:
    """One coordinate of the density exp(-max|b|) in three dimensions."""
    size = np.abs(x)
    tail = (6 + 4 * size + size**2) * np.exp(-size) / 12
    return np.where(x < 0, tail, 1 - tail)


def fit(values: list[int], cdf: Cdf, scale: float) -> float:
    """The p-value of these integers under the rounded law: all cells, and the far tail once more."""
    drawn, count = np.asarray(values), len(values)
    reach = math.ceil(40 * scale)
    integers = np.arange(-reach, reach + 1)
    chance = cdf((integers + 0.5) / scale) - cdf((integers - 0.5) / scale)
    common = integers[count * chance >= 8]
    inside = (common[0] <= drawn) & (drawn <= common[-1])
    seen = np.bincount(drawn[inside] - common[0], minlength=len(common))
    middle = chance[common[0] + reach : common[-1] + reach + 1]
    cells = stats.chisquare(np.append(seen, count - seen.sum()), count * np.append(middle, 1 - middle.sum()))
    outside = 2 * cdf((-integers[reach:] - 0.5) / scale)
    far = int(np.argmax(count * outside <= 14))
    tail = stats.binomtest(int((np.abs(drawn) > far).sum()), count, float(outside[far]))
    return float(min(1, 2 * cells.pvalue, 2 * tail.pvalue))


def laplace_fit(draw: Draw, read: Read, count: int) -> float:
    law = laplace(THREE, 1000)
    values = [value for _ in range(count // 1000) for value in draw(law, read)]
    return fit(values, laplace_cdf, 3)


def gaussian_fit(draw: Draw, read: Read, count: int) -> float:
    law = gaussian(THREE, 1000)
    values = [value for _ in range(count // 1000) for value in draw(law, read)]
    return fit(values, special.ndtr, 3)


def single_laplace_fit(draw: Draw, read: Read, count: int) -> float:
    return fit([draw(laplace(THREE, 1), read)[0] for _ in range(count // 10)], laplace_cdf, 3)


def single_round_laplace_fit(draw: Draw, read: Read, count: int) -> float:
    return fit([draw(l2_laplace(THREE, 1), read)[0] for _ in range(count // 10)], laplace_cdf, 3)


def round_laplace_fit(draw: Draw, read: Read, count: int) -> float:
    return fit([draw(l2_laplace(THREE, 3), read)[1] for _ in range(count // 10)], round_laplace_cdf, 3)


def cube_fit(draw: Draw, read: Read, count: int) -> float:
    return fit([draw(cube(THREE, 3), read)[1] for _ in range(count // 10)], cube_cdf, 3)


def two_class_fit(draw: Draw, read: Read, count: int) -> float:
    """A contrast of two classes is the plain law, smaller by √2, along one block."""
    values = [draw(l2_laplace(THREE, 1, classes=2), read)[0] for _ in range(count // 10)]
    return fit(values, laplace_cdf, 3 / math.sqrt(2))


FITS = [
    laplace_fit,
    gaussian_fit,
    single_laplace_fit,
    single_round_laplace_fit,
    round_laplace_fit,
    cube_fit,
    two_class_fit,
]


@pytest.mark.parametrize("check", FITS)
def test_every_coordinate_follows_the_rounded_law(check: Fit) -> None:
    assert follows(check, honest, QUICK)


@pytest.mark.parametrize("check", [single_laplace_fit, single_round_laplace_fit])
def test_the_refining_branch_follows_the_same_law(check: Fit) -> None:
    assert follows(check, honest_from_eight_bits, QUICK)


@pytest.mark.parametrize("check", FITS)
def test_noise_times_four_fifths_is_caught(check: Fit) -> None:
    assert not follows(check, too_quiet, FEW)


@pytest.mark.parametrize("check", [laplace_fit, gaussian_fit])
def test_noise_times_nineteen_twentieths_is_caught(check: Fit) -> None:
    assert not follows(check, a_little_too_quiet, FEW)


def test_a_tail_cut_at_ten_scales_is_caught() -> None:
    assert not follows(laplace_fit, cut_at_ten_scales, QUICK)


@pytest.mark.parametrize("check", [laplace_fit, gaussian_fit, cube_fit])
def test_rounding_towards_zero_is_caught(check: Fit) -> None:
    assert not follows(check, rounded_towards_zero, FEW)


@pytest.mark.parametrize("check", [single_laplace_fit, single_round_laplace_fit])
def test_throwing_undecided_draws_away_is_caught(check: Fit) -> None:
    assert not follows(check, undecided_thrown_away, LESS)


def test_a_fixed_number_of_bits_is_caught() -> None:
    assert not follows(single_laplace_fit, bits_that_end, QUICK)


@pytest.mark.laws
@pytest.mark.parametrize("check", FITS)
def test_every_coordinate_follows_the_rounded_law_at_full_size(check: Fit) -> None:
    assert follows(check, honest, FULL, octets, octets)


@pytest.mark.parametrize("law", [laplace(FINE, 1000), gaussian(FINE, 1000)])
def test_signs_and_lowest_bits_are_fair_coins(law: Ideal) -> None:
    read = stream(9)
    drawn = [value for _ in range(60) for value in honest(law, read)]
    for coins in ([value > 0 for value in drawn], [value & 1 for value in drawn]):
        assert stats.binomtest(sum(coins), len(coins)).pvalue > PASS


# ---------------------------------------------------------------- a whole vector: length and direction


def vectors(draw: Draw, law: Ideal, read: Read, count: int) -> Vector:
    return np.array([draw(law, read) for _ in range(count)], dtype=float) / float(FINE)


def all_blocks(blocks: Vector, classes: int) -> Vector:
    """The last block is minus the sum of the others."""
    first = blocks.reshape(len(blocks), classes - 1, -1)
    return np.concatenate([first, -first.sum(axis=1, keepdims=True)], axis=1)


def length_fit(draw: Draw, read: Read, count: int) -> float:
    worst = 1.0
    for dimension in (1, 2, 3, 8):
        lengths = np.linalg.norm(vectors(draw, l2_laplace(FINE, dimension), read, count // 10), axis=1)
        worst = min(worst, 4 * stats.kstest(lengths, stats.gamma(dimension).cdf).pvalue)
    return worst


def direct_form_fit(draw: Draw, read: Read, count: int) -> float:
    """Against Gamma(d) times a uniform direction, along a skew line and in one product moment."""
    random = np.random.default_rng(10)
    direct = random.standard_normal((count // 5, 4))
    direct *= random.gamma(4, size=(len(direct), 1)) / np.linalg.norm(direct, axis=1, keepdims=True)
    ours = vectors(draw, l2_laplace(FINE, 4), read, count // 5)
    line = np.array([0.1, -0.7, 0.5, 0.5])
    along = stats.ks_2samp(ours @ line, direct @ line).pvalue
    products = stats.ks_2samp(ours[:, 0] * ours[:, 3], direct[:, 0] * direct[:, 3]).pvalue
    return min(1, 2 * along, 2 * products)


def contrast_length_fit(draw: Draw, read: Read, count: int) -> float:
    """Over all K blocks the L2 length is Gamma(d(K-1)), and the Gaussian one is chi with d(K-1)."""
    l2 = all_blocks(vectors(draw, l2_laplace(FINE, 2, classes=3), read, count // 10), 3)
    normal = all_blocks(vectors(draw, gaussian(FINE, 2, classes=3), read, count // 10), 3)
    round_ = stats.kstest(np.linalg.norm(l2, axis=(1, 2)), stats.gamma(4).cdf).pvalue
    chi = stats.kstest(np.linalg.norm(normal, axis=(1, 2)), stats.chi(4).cdf).pvalue
    return min(1, 2 * round_, 2 * chi)


def contrast_block_fit(draw: Draw, read: Read, count: int) -> float:
    """Every block, the last one included, and every difference of blocks has the right spread."""
    blocks = all_blocks(vectors(draw, gaussian(FINE, 2, classes=4), read, count // 10), 4)
    each = [blocks[:, k, k % 2] / math.sqrt(3 / 4) for k in range(4)]
    differences = [(blocks[:, k, 1] - blocks[:, 3, 1]) / math.sqrt(2) for k in range(3)]
    return min(1, *(7 * stats.kstest(values, "norm").pvalue for values in each + differences))


def cube_shape_fit(draw: Draw, read: Read, count: int) -> float:
    """The max norm is Gamma(d), and apart from the largest coordinate all are uniform under it."""
    noise = vectors(draw, cube(FINE, 3), read, count // 10)
    largest = np.abs(noise).max(axis=1)
    shares = np.sort(np.abs(noise) / largest[:, None], axis=1)[:, 0]  # the smaller of two uniforms
    length = stats.kstest(largest, stats.gamma(3).cdf).pvalue
    return min(1, 2 * length, 2 * stats.kstest(shares, stats.beta(1, 2).cdf).pvalue)


SHAPES = [length_fit, direct_form_fit, contrast_length_fit, contrast_block_fit, cube_shape_fit]


@pytest.mark.parametrize("check", SHAPES)
def test_every_vector_has_the_right_length_and_direction(check: Fit) -> None:
    assert follows(check, honest, FEW)


@pytest.mark.parametrize("check", SHAPES)
def test_a_vector_times_four_fifths_is_caught(check: Fit) -> None:
    assert not follows(check, too_quiet, FEW // 2)


@pytest.mark.laws
@pytest.mark.parametrize("check", SHAPES)
def test_every_vector_has_the_right_length_and_direction_at_full_size(check: Fit) -> None:
    assert follows(check, honest, FULL // 8, octets, octets)


def one_degree_too_many(law: Ideal, read: Read) -> list[int]:
    """A length of Gamma(d + 1), as on the solid ball: right for the cube, wrong for the sphere."""
    drawn = np.array(exactly_rounded(law, read=read), dtype=float)
    shape = len(drawn)
    length = np.linalg.norm(drawn) / float(law.scale)
    moved = stats.gamma.ppf(stats.gamma.cdf(length, shape), shape + 1) / length
    return [round(value * moved) for value in drawn.tolist()]


def test_a_length_of_the_solid_ball_is_caught() -> None:
    assert not follows(length_fit, one_degree_too_many, FEW // 4)


def independent_coordinates(law: Ideal, read: Read) -> list[int]:
    """Laplace noise on every coordinate where round noise was asked for."""
    return exactly_rounded(laplace(law.scale, 4), read=read)


def test_independent_coordinates_in_place_of_round_noise_are_caught() -> None:
    assert not follows(direct_form_fit, independent_coordinates, FEW)


# ---------------------------------------------------------------- privacy: ratios and two worlds


@pytest.mark.parametrize("scale", [0.5, 3.0, 20.0])
def test_rounded_laplace_noise_has_the_textbook_ratio_and_no_more(scale: float) -> None:
    integers = np.arange(-int(60 * scale), int(60 * scale) + 1)
    logs = -np.abs(integers) / scale + math.log(math.sinh(1 / (2 * scale)))
    logs[len(integers) // 2] = math.log(-math.expm1(-1 / (2 * scale)))
    assert np.exp(logs).sum() == pytest.approx(1, abs=1e-12)
    for move in (1, 2, 7):
        loss = np.abs(logs[move:] - logs[:-move])
        assert loss.max() <= move / scale * (1 + 1e-12)
        assert loss[0] == pytest.approx(move / scale, rel=1e-12)


@pytest.mark.parametrize(("epsilon", "delta", "move"), [(1.0, 1e-6, 50), (0.5, 1e-3, 3), (3.0, 1e-9, 400)])
def test_rounded_gaussian_noise_keeps_the_delta_of_the_continuous_one(
    epsilon: float, delta: float, move: int
) -> None:
    stddev = float(calibration.gaussian_stddev(move, epsilon, delta))
    integers = np.arange(-int(40 * stddev), 1)  # the lower half, where the tail is not a difference
    there = np.diff(special.ndtr((np.append(integers, 1) - 0.5) / stddev))
    moved = np.diff(special.ndtr((np.append(integers, 1) - 0.5 - move) / stddev))
    spent = np.maximum(0, there - math.exp(epsilon) * moved).sum()
    assert 0.5 * delta < spent <= delta * (1 + 1e-6)


def round_density_loss(noise: Vector, move: Vector, norm: float) -> Vector:
    return np.linalg.norm(noise - move, norm, axis=1) - np.linalg.norm(noise, norm, axis=1)


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_the_log_ratio_of_a_norm_density_is_at_most_the_norm_of_the_move(norm: float) -> None:
    random = np.random.default_rng(15)
    for dimension in (1, 3, 30):
        move = random.standard_normal(dimension)
        noise = random.standard_normal((5000, dimension)) * random.gamma(1, 5, size=(5000, 1))
        noise[0] = -3 * move
        loss = round_density_loss(noise, move, norm)
        assert np.abs(loss).max() <= np.linalg.norm(move, norm) * (1 + 1e-12)
        assert loss[0] == pytest.approx(np.linalg.norm(move, norm))


@pytest.mark.parametrize("dimension", [4, 100])
def test_one_norm_noise_on_a_two_norm_bound_spends_root_d_times_too_much(dimension: int) -> None:
    scale = calibration.laplace_scale(1, 1)
    corner = np.full(dimension, 1 / math.sqrt(dimension))  # of two-norm one
    loss = round_density_loss(-corner[None], corner, 1) / float(scale)
    assert loss[0] == pytest.approx(math.sqrt(dimension))
    right = calibration.laplace_scale(math.isqrt(dimension), 1)
    assert loss[0] * float(scale / right) == pytest.approx(1)


def empirical_epsilon(here: int, there: int, count: int, delta: float = 0.0, alpha: float = 1e-4) -> float:
    """A lower bound on epsilon: the event is seen `here` and `there` times in two worlds."""
    least = stats.beta.ppf(alpha / 2, here, count - here + 1)
    most = stats.beta.ppf(1 - alpha / 2, there + 1, count - there)
    return float(math.log(max(least - delta, 1e-300) / most))


def laplace_two_worlds(draw: Draw, read: Read, count: int) -> float:
    law = laplace(calibration.laplace_scale(8, 1), 1000)
    here, there = (np.array([draw(law, read) for _ in range(count // 1000)]) for _ in range(2))
    return empirical_epsilon(int((here <= 0).sum()), int((there + 8 <= 0).sum()), here.size)


def gaussian_two_worlds(draw: Draw, read: Read, count: int) -> float:
    delta = 0.05
    stddev = calibration.gaussian_stddev(64, 1, delta)
    best = 32 - float(stddev**2) / 64  # where the privacy loss is one
    here, there = (np.array([draw(gaussian(stddev, 1000), read) for _ in range(count // 1000)]) for _ in "ab")
    return empirical_epsilon(int((here <= best).sum()), int((there + 64 <= best).sum()), here.size, delta)


def round_two_worlds(draw: Draw, read: Read, count: int) -> float:
    law, move = l2_laplace(calibration.l2_laplace_scale(FINE, 1, 0, 2), 2), np.array([1.0, 0.0])
    here, there = (vectors(draw, law, read, count // 6) for _ in range(2))
    seen = [int((round_density_loss(noise, move, 2) > 0.9).sum()) for noise in (here, there + move)]
    return empirical_epsilon(*seen, len(here))


def cube_two_worlds(draw: Draw, read: Read, count: int) -> float:
    law, move = cube(calibration.cube_scale(FINE, 1), 2), np.array([1.0, 1.0])
    here, there = (vectors(draw, law, read, count // 6) for _ in range(2))
    seen = [int((round_density_loss(noise, move, np.inf) > 0.9).sum()) for noise in (here, there + move)]
    return empirical_epsilon(*seen, len(here))


WORLDS = [laplace_two_worlds, gaussian_two_worlds, round_two_worlds, cube_two_worlds]


@pytest.mark.parametrize("worlds", WORLDS)
def test_two_worlds_never_show_more_than_was_promised(worlds: Fit) -> None:
    assert 0.7 < worlds(honest, stream(16), LESS) <= 1


@pytest.mark.parametrize("worlds", WORLDS)
def test_two_worlds_show_that_noise_times_four_fifths_breaks_the_promise(worlds: Fit) -> None:
    assert worlds(too_quiet, stream(17), LESS) > 1


@pytest.mark.laws
@pytest.mark.parametrize("worlds", WORLDS)
def test_two_worlds_never_show_more_than_was_promised_at_full_size(worlds: Fit) -> None:
    assert 0.9 < worlds(honest, octets, FULL) <= 1
