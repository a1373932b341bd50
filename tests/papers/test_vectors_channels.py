"""Recorded figures of randomised answers: the right ones, and the printed ones where they differ."""

from __future__ import annotations

import math

import numpy as np
import pytest

from suffice import channels as ch
from suffice.channels.gaussian_spread import gaussian_epsilon

TEN = tuple(range(10))


def epsilon(channel) -> float:
    return channel.guarantee().promise.epsilon


def test_randomised_response_of_ten_labels():
    channel = ch.RandomizedResponse(TEN, epsilon=1.0)
    assert channel.copied() == pytest.approx(0.14663257409341549, abs=1e-12)
    assert channel.keep == pytest.approx(0.23196931668407395, abs=1e-12)
    assert epsilon(ch.RandomizedResponse(TEN, truth=1 / 3)) == pytest.approx(1.791759469228055, abs=1e-12)
    assert epsilon(ch.RandomizedResponse((0, 1), truth=0.5)) == pytest.approx(1.0986122886681098, abs=1e-12)


def test_the_papers_reading_of_the_same_response_says_five():
    channel = ch.RandomizedResponse(TEN, epsilon=5.0, calibration="paper")
    assert channel.copied() == pytest.approx(1 / 3)
    assert epsilon(channel) == pytest.approx(math.log(6))


def test_coordinate_release_at_one():
    tight = ch.CoordinateRelease(5, 1.0)
    paper = ch.CoordinateRelease(5, 1.0, calibration="paper")
    assert tight.keep == pytest.approx(0.7310585786300049, abs=1e-12)
    assert epsilon(paper) == pytest.approx(0.5, abs=1e-12)
    variances = [one.keep * (1 - one.keep) / (2 * one.keep - 1) ** 2 for one in (tight, paper)]
    assert variances == pytest.approx([0.9206735942077923, 3.917698089032764], abs=1e-11)


@pytest.mark.parametrize(
    ("ones", "distance", "spent"), [(1, 2, 1.0), (2, 4, 1.0), (3, 4, 2 / 3), (4, 4, 0.5)]
)
def test_per_value_in_four_dimensions(ones, distance, spent):
    assert ch.PerValue(4, 1.0, ones=ones).distance() == distance
    assert epsilon(ch.PerValue(4, 1.0, ones=ones)) == pytest.approx(1.0, abs=1e-12)
    assert epsilon(ch.PerValue(4, 1.0, ones=ones, calibration="paper")) == pytest.approx(spent, abs=1e-12)


def test_the_covariance_of_coordinate_release_beyond_zeros_and_ones():
    expected = [[13.798083130493506, -1, 0], [-1, 19.048083130493506, 0], [0, 0, 11.048083130493506]]
    channel = ch.CoordinateRelease(3, 1.0, upper=2.0)
    assert channel.covariance([0.5, 2.0, 0.0]) == pytest.approx(np.array(expected), abs=1e-9)
    keep = channel.keep
    printed = 3 * keep * (1 - keep) / (2 * keep - 1) ** 2 * 4 + 3 * 0.5**2 - 0.5**2
    assert abs(printed - expected[0][0]) == pytest.approx(2.25)


def test_totals_of_both_schemes_for_small_epsilon():
    small, dimension, ones = 0.01, 100, 5
    binary = np.repeat([1.0, 0.0], [ones, dimension - ones])
    single = np.trace(ch.CoordinateRelease(dimension, small).covariance(binary))
    every = np.trace(ch.PerValue(dimension, small, ones=ones).covariance(binary))
    assert single == pytest.approx(dimension**2 / small**2 + ones * (dimension - 1), rel=1e-4)
    assert every == pytest.approx(dimension * (2 * ones) ** 2 / small**2, rel=1e-4)


def test_one_coordinate_wins_from_half_the_root_of_the_dimension_on():
    assert [ch.crossover(d, epsilon=0.1) for d in (100, 400)] == [5, 10]


@pytest.mark.parametrize(
    ("share", "pixel", "image", "label"),
    [
        (0.1, 7.738488122494646, 6066.9746880358025, 2.1972245773362196),
        (0.2, 6.927557906278317, 5431.2053985222, 1.3862943611198906),
        (0.3, 6.38856140554563, 5008.632141947774, 0.8472978603872037),
        (0.4, 5.94672865326659, 4662.235264161007, 0.4054651081081642),
    ],
)
def test_a_flipped_image_promises_thousands(share, pixel, image, label):
    features = ch.Flip(784, share, 256)
    assert features.coordinate().epsilon == pytest.approx(pixel, abs=1e-9)
    assert epsilon(features) == pytest.approx(image, abs=1e-9)
    tag = ch.Flip(1, share)
    assert epsilon(tag) == pytest.approx(label, abs=1e-9)
    record = ch.Together(
        (ch.RandomizedResponse((0, 1), truth=1 - 2 * share), features), ("label", "features")
    )
    assert epsilon(record) == pytest.approx(image + label, abs=1e-9)
    assert "features: no meaningful differential privacy" in record.statement()
    assert "only the statement of label is meaningful" in record.statement()


@pytest.mark.parametrize(("variance", "pixel", "image", "rho"), [
    (0.1, 17.856586830107606, 4296.652903275602, 3920),
    (0.5, 6.572970067030335, 951.9314945501324, 784),
])  # fmt: skip
def test_normal_noise_on_an_image(variance, pixel, image, rho):
    channel = ch.GaussianSpread(784, math.sqrt(variance))
    assert channel.coordinate().epsilon == pytest.approx(pixel, rel=1e-6)
    assert channel.guarantee().also[0].epsilon == pytest.approx(image, rel=1e-6)
    assert channel.guarantee().promise.rho == pytest.approx(rho)
    assert gaussian_epsilon(28 / 104, 1e-5) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(
    ("dimension", "level", "mean", "cap", "error"),
    [
        (100, 1.0, 0.03982993933214895, 0.3462515440872533, 629.3484803803408),
        (100, 4.0, 0.1510682139660116, 0.06577882034853204, 42.81812708310903),
        (10, 1.0, 0.1283184002472448, 0.35345821743314276, 59.7326353612013),
    ],
)
def test_the_best_cap(dimension, level, mean, cap, error):
    channel = ch.PrivUnit(dimension, level)
    assert channel.mean() == pytest.approx(mean, rel=1e-6)
    assert channel.cap().height == pytest.approx(channel.mean(), abs=1e-9)
    assert channel.cap().area == pytest.approx(cap, rel=1e-6)
    assert channel.variance() == pytest.approx(error, rel=1e-6)


def test_errors_of_channels_for_a_hundred_coordinates():
    ball = dict(ch.best(100, epsilon=1.0).compared)
    assert ball["PrivUnit"] == pytest.approx(629, abs=0.5)
    assert ball["DuchiL2"] == pytest.approx(731, abs=0.5)
    assert ball["CoordinateRelease"] == pytest.approx(46_826, abs=0.5)
    assert ch.CoordinateRelease(100, 1.0, -1.0, calibration="paper").variance() == pytest.approx(
        166_708, abs=0.5
    )
    four = dict(ch.best(100, epsilon=4.0).compared)
    assert [round(four[name]) for name in ("PrivUnit", "DuchiL2", "CoordinateRelease")] == [43, 167, 10_759]
    cube = {level: ch.best(100, epsilon=level, norm="inf", radius=0.1) for level in (1.0, 2.0)}
    assert type(cube[1.0].channel).__name__ == "CoordinateRelease"
    assert cube[1.0].variance == pytest.approx(467, abs=0.5)
    assert type(cube[2.0].channel).__name__ == "PrivUnit"
    assert dict(cube[2.0].compared)["CoordinateRelease"] == pytest.approx(171, abs=0.5)


@pytest.mark.parametrize(
    ("level", "expected"), [(1.0, (10_098, 3468, 392, 369, 360)), (4.0, (668, 7.1, 18.1, 8.6, 6.5))]
)
def test_errors_of_channels_for_a_hundred_labels(level, expected):
    paper = ch.RandomizedResponse(tuple(range(100)), epsilon=level, calibration="paper")
    told = dict(ch.best_for_labels(range(100), epsilon=level).compared)
    names = ("RandomizedResponse", "SymmetricUnary", "OptimisedUnary", "SubsetSelection")
    got = [paper.variance(), *(told[name] for name in names)]
    assert got == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("count", "expected"), [(1_000, 0.127), (10_000, 0.0357), (100_000, 0.0101)])
def test_shuffled_answers(count, expected):
    channel = ch.RandomizedResponse(("no", "yes"), epsilon=1.0)
    promise = ch.shuffled(channel, count)
    assert promise.epsilon == pytest.approx(expected, rel=0.005)
    assert promise.delta == 1e-6


def test_a_share_of_votes_with_the_right_sign():
    channel = ch.Matrix.of([[0.9, 0.1], [0.3, 0.7]], (0, 1))
    ones = channel.unbias(np.array([0, 1]))[:, 1]
    assert 0.5 * ones.sum() == pytest.approx(2 / 3, abs=1e-12)
    assert np.clip(0.95 * ones[0] + 0.05 * ones[1], 0, 1) == 0.0
    assert pytest.approx(1.0) == (0.5 + 0.1) / (1 - 0.1 - 0.3)  # as printed


def test_three_labels_of_one_person_give_it_away():
    channel = ch.RandomizedResponse((0, 1), truth=0.6)
    assert ch.repeated(channel, 3).right == pytest.approx(0.896)
    assert ch.repeated(channel, 3).promise.epsilon == pytest.approx(3 * math.log(4))
    assert ch.posterior(channel, [1, 1, 0]) == pytest.approx([0.2, 0.8])


def test_proposition_1_fails_where_the_model_is_wrong():
    # y in {0, 1, 2}; the statistic tells 2 from the others, and the model takes 0 and 1 as equally likely
    channel = ch.RandomizedResponse((0, 1, 2), truth=0.5)
    people, fibre = np.array([0.5, 0.1, 0.4]), np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    replaced = fibre @ channel.matrix()  # S'(o | statistic) = sum over y of S(o | y) Q(y | statistic)
    assert people @ channel.matrix() == pytest.approx([0.41667, 0.21667, 0.36667], abs=1e-5)
    assert people @ replaced == pytest.approx([0.31667, 0.31667, 0.36667], abs=1e-5)
    likely = np.array([0.3, 0.3, 0.4])  # where the model is right, the two agree
    assert likely @ replaced == pytest.approx(likely @ channel.matrix())
    ratio = np.log(replaced.max(axis=0) / replaced.min(axis=0)).max()
    assert ratio <= epsilon(channel)  # and it is at least as private either way
