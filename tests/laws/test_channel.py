"""Channels for labels and vectors by enumeration or by counting: epsilon, estimates, covariance, sampler."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from suffice import channels as ch
from suffice.channels.sphere import directions, mean_height
from suffice.core.guarantees import PureDP

LABELS = ("a", "b", "c", "d", "e")
ENCODINGS = [
    ch.SymmetricUnary(LABELS, 1.0),
    ch.OptimisedUnary(LABELS, 0.5),
    ch.OptimisedUnary(LABELS, 6.0),
    ch.SubsetSelection(LABELS, 1.0),
    ch.SubsetSelection(LABELS, 1.0, 3),
    ch.SubsetSelection(LABELS[:2], 3.0),
]
VECTORS = [
    ch.CoordinateRelease(4, 1.0),
    ch.CoordinateRelease(4, 2.0, lower=-1.0, upper=3.0, probabilities=(0.1, 0.2, 0.3, 0.4)),
    ch.CoordinateRelease(5, 1.5, block=2),
    ch.CoordinateRelease(3, 1.0, calibration="paper"),
    ch.PerValue(4, 1.0),
    ch.PerValue(4, 1.0, lower=-2.0, upper=1.0),
    ch.PerValue(5, 1.0, ones=1),
    ch.PerValue(5, 1.0, ones=2, exactly=True),
    ch.PerValue(4, 2.0, ones=3, calibration="paper"),
    ch.DuchiLinf(3, 1.0, 2.0),
    ch.DuchiLinf(4, 1.0),
]


def corners(channel):
    """Return every truth whose coordinates are all at an end of the interval and that the channel admits."""
    low = getattr(channel, "lower", -getattr(channel, "radius", 0))
    high = getattr(channel, "upper", getattr(channel, "radius", 0))
    rows = np.array(list(itertools.product((low, high), repeat=channel.dimension)))
    ones = getattr(channel, "ones", None)
    if ones is None:
        return rows
    count = (rows > low).sum(axis=1)
    return rows[count == ones if channel.exactly else count <= ones]


def law(channel, truths):
    answers = channel.answers()
    rows = (np.broadcast_to(truth, (len(answers), truth.size)) for truth in truths)
    return np.exp([channel.log_density(answers, row) for row in rows])


def log_ratio(matrix: np.ndarray) -> float:
    return float(np.log(matrix.max(axis=0) / matrix.min(axis=0)).max())


@pytest.mark.parametrize("channel", ENCODINGS, ids=repr)
def test_an_encoding_declares_its_largest_log_ratio_and_estimates_without_bias(channel):
    matrix, promise = channel.matrix(), channel.guarantee().promise
    assert matrix.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert log_ratio(matrix) == pytest.approx(promise.epsilon, abs=1e-9)
    assert promise.epsilon <= channel.epsilon
    assert matrix @ channel.unbias(channel.answers()) == pytest.approx(np.eye(len(channel.labels)), abs=1e-12)


@pytest.mark.parametrize("channel", ENCODINGS, ids=repr)
def test_an_encoding_has_the_variance_that_it_says(channel):
    estimates = channel.unbias(channel.answers())
    for truth, row in enumerate(channel.matrix()):
        away = estimates - np.eye(len(channel.labels))[truth]
        assert row @ (away**2).sum(axis=1) == pytest.approx(channel.variance(), rel=1e-9)


@pytest.mark.parametrize("channel", VECTORS, ids=repr)
def test_a_vector_channel_declares_its_largest_log_ratio(channel):
    truths = corners(channel)
    matrix, promise = law(channel, truths), channel.guarantee().promise
    assert isinstance(promise, PureDP)
    assert matrix.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert log_ratio(matrix) == pytest.approx(promise.epsilon, abs=1e-9)
    assert promise.epsilon <= channel.epsilon


@pytest.mark.parametrize("channel", VECTORS, ids=repr)
def test_the_mean_of_a_vector_answer_is_the_truth_inside_the_box_too(channel):
    low, high = corners(channel).min(), corners(channel).max()
    inside = corners(channel)[:6]
    if not getattr(channel, "exactly", False):
        inside = np.where(inside > low, (2 * high + low) / 3, inside)
    means = law(channel, inside) @ channel.unbias(channel.answers())
    assert means == pytest.approx(inside, abs=1e-12)


@pytest.mark.parametrize("channel", [c for c in VECTORS if hasattr(c, "covariance")], ids=repr)
def test_the_covariance_of_a_vector_answer_is_the_one_that_is_said(channel):
    truth = corners(channel)[-1]
    if not getattr(channel, "exactly", False):
        truth = np.where(truth > truth.min(), 0.3 * truth.min() + 0.7 * truth.max(), truth)
    row, estimates = law(channel, truth[None])[0], channel.unbias(channel.answers())
    away = estimates - truth
    covariance = (away.T * row) @ away
    assert channel.covariance(truth) == pytest.approx(covariance, abs=1e-9)
    assert np.trace(covariance) <= channel.variance() + 1e-9


def chi_square(channel, truth, draw, count: int) -> float:
    answers = channel.answers()
    keys = {tuple(row): at for at, row in enumerate(answers.astype(int).tolist())}
    drawn = np.asarray(draw(np.broadcast_to(truth, (count, *np.shape(truth))))).astype(int)
    seen = np.zeros(len(answers))
    for row in map(tuple, drawn.tolist()):
        seen[keys[row]] += 1
    expected = np.exp(channel.log_density(answers, np.broadcast_to(truth, (len(answers), *np.shape(truth)))))
    return stats.chisquare(seen, count * expected).pvalue


def fits(channel, truth, draw, count: int = 4000) -> bool:
    """A p-value below 1e-5 counts once a second sample confirms it."""
    return (
        chi_square(channel, truth, draw, count) > 1e-5 or chi_square(channel, truth, draw, 4 * count) > 1e-5
    )


@pytest.mark.parametrize("channel", ENCODINGS, ids=repr)
def test_draws_of_an_encoding_follow_its_law(channel):
    assert fits(channel, channel.labels[1], channel.randomise)


@pytest.mark.parametrize("channel", VECTORS, ids=repr)
def test_draws_of_a_vector_channel_follow_its_law(channel):
    truth = corners(channel)[-1]
    if not getattr(channel, "exactly", False):
        truth = np.where(truth > truth.min(), 0.4 * truth.min() + 0.6 * truth.max(), truth)
    assert fits(channel, truth, channel.randomise)


def third(rows):
    return np.arange(len(rows))[:, None] % 3 == 0


HONEST = ch.PerValue(4, 4.0)
MUTANTS = {
    "flipped with the keeping probability": lambda rows: ~HONEST.randomise(rows),
    "epsilon per bit": lambda rows: ch.PerValue(4, 16.0).randomise(rows),
    "one more flip for all bits": lambda rows: HONEST.randomise(rows) ^ third(rows),
    "no rounding": lambda rows: HONEST.randomise(np.round(rows)),
}  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=list(MUTANTS))
def test_a_wrong_sampler_of_bits_is_caught(mutant):
    assert not fits(HONEST, np.array([0.4, 1.0, 0.0, 1.0]), mutant)


def test_a_subset_that_favours_low_labels_is_caught():
    channel = ch.SubsetSelection(LABELS, 1.0, 3)

    def sorted_in(truth):
        bits = channel.randomise(truth)
        bits[:, 1:] = np.sort(bits[:, 1:], axis=1)[:, ::-1]
        return bits

    assert not fits(channel, "a", sorted_in)


def test_turning_bits_with_the_probability_of_the_printed_appendix_spends_far_more():
    # a lower bound on the ones, as printed there, in place of an upper one: here dense vectors of six bits
    printed, honest = ch.PerValue(6, 1.0, ones=1, calibration="paper"), ch.PerValue(6, 3.0)
    assert printed.keep == pytest.approx(honest.keep)
    assert log_ratio(law(honest, corners(honest))) == pytest.approx(3.0)


@pytest.mark.parametrize("channel", [ch.DuchiL2(4, 1.5, 2.0), ch.PrivUnit(4, 1.5, 2.0)], ids=repr)
def test_a_direction_has_two_densities_whose_log_ratio_is_declared(channel):
    points = directions(4000, 4)
    truths = [
        np.eye(4)[0] * 2,
        -np.eye(4)[1] * 2,
        np.array([1.0, 1.0, -1.0, 1.0]),
        np.array([0.3, 0.0, 0.1, 0.0]),
    ]
    densities = np.exp([channel.log_density(points, np.broadcast_to(t, points.shape)) for t in truths])
    assert log_ratio(densities) == pytest.approx(channel.guarantee().promise.epsilon, abs=1e-7)
    assert log_ratio(densities) <= channel.guarantee().promise.epsilon <= channel.epsilon
    assert densities.mean(axis=1) == pytest.approx(1.0, abs=0.06)


@pytest.mark.parametrize("channel", [ch.DuchiL2(4, 1.5, 2.0), ch.PrivUnit(4, 1.5, 2.0)], ids=repr)
def test_heights_of_directions_follow_their_law_and_their_mean_is_the_truth(channel):
    for truth in (np.array([2.0, 0, 0, 0]), np.array([1.0, -1.0, 1.0, 1.0]), np.array([0.0, 0.4, 0.0, 0.3])):
        drawn = channel.randomise(np.broadcast_to(truth, (20_000, 4)))
        estimates = channel.unbias(drawn)
        error = estimates.std(axis=0) / math.sqrt(len(drawn))
        assert (np.abs(estimates.mean(axis=0) - truth) < 5 * error).all()
        likely = np.exp(channel.log_density(drawn, np.broadcast_to(truth, drawn.shape)))
        uniform = np.exp(channel.log_density(directions(20_000, 4), np.broadcast_to(truth, drawn.shape)))
        for level in np.unique(np.round(likely, 9)):
            share = (np.abs(likely - level) < 1e-6).mean()
            area = (np.abs(uniform - level) < 1e-6).mean()
            assert share == pytest.approx(area * level, abs=0.05)


def test_the_mean_height_of_the_sphere_by_its_closed_forms():
    assert mean_height(1) == pytest.approx(1.0)
    assert mean_height(2) == pytest.approx(2 / math.pi)
    assert mean_height(3) == pytest.approx(0.5)


def test_ties_counted_on_both_sides_spend_more_than_was_asked_in_even_dimensions():
    channel = ch.DuchiLinf(4, 1.0)
    signs = 2.0 * channel.answers() - 1
    sides = signs @ signs.T
    both = (
        channel.keep * (sides >= 0) / (sides[0] >= 0).sum()
        + (1 - channel.keep) * (sides <= 0) / (sides[0] <= 0).sum()
    )
    assert log_ratio(both) == pytest.approx(math.log(1 + math.e))
    assert log_ratio(law(channel, signs)) == pytest.approx(1.0)


@pytest.mark.parametrize("channel", [ch.Flip(3, 0.2), ch.Flip(2, 0.3, 4), ch.Flip(2, 0.9, 3)], ids=repr)
def test_flips_of_all_states_by_enumeration(channel):
    states = np.array(list(itertools.product(range(channel.states), repeat=channel.dimension)))
    matrix = np.exp([channel.log_density(states, np.broadcast_to(t, states.shape)) for t in states])
    assert matrix.sum(axis=1) == pytest.approx(1.0)
    assert log_ratio(matrix) == pytest.approx(channel.guarantee().promise.epsilon, abs=1e-9)
    estimates = channel.unbias(states).reshape(len(states), -1)
    truth = (states[..., None] == np.arange(channel.states)).reshape(len(states), -1).astype(float)
    assert matrix @ estimates == pytest.approx(truth, abs=1e-12)
    drawn = channel.randomise(np.broadcast_to(states[1], (20_000, channel.dimension)))
    seen = np.array([(drawn == one).all(axis=1).sum() for one in states])
    assert stats.chisquare(seen, 20_000 * matrix[1]).pvalue > 1e-6


def test_normal_spread_is_never_called_pure_and_follows_its_law():
    channel = ch.GaussianSpread(2, 0.7)
    assert not isinstance(channel.guarantee().promise, PureDP)
    assert not any(isinstance(one, PureDP) for one in channel.guarantee().also)
    noise = channel.randomise(np.full((20_000, 2), 0.25)) - 0.25
    assert stats.kstest(noise.ravel() / 0.7, "norm").pvalue > 1e-6
    assert np.corrcoef(noise.T)[0, 1] == pytest.approx(0.0, abs=0.04)
    expected = stats.norm(0.25, 0.7).logpdf([0.5, -1.0]).sum()
    assert channel.log_density([0.5, -1.0], [0.25, 0.25]) == pytest.approx(expected)


def test_quieter_normal_noise_is_caught():
    noise = replace(ch.GaussianSpread(2, 0.7), stddev=0.6).randomise(np.full((20_000, 2), 0.25)) - 0.25
    assert stats.kstest(noise.ravel() / 0.7, "norm").pvalue < 1e-6
