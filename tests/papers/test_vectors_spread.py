"""Which objectives find the share of votes behind noisy votes, and where the others end (P4 sections 3-4)."""

from __future__ import annotations

import numpy as np
import pytest

from suffice.core.errors import InputError
from suffice.planning import spread

GRID = np.linspace(1e-6, 1 - 1e-6, 20_001)
FLIPS = [0.1, 0.2, 0.3, 0.4]


def test_the_share_of_votes_is_printed_with_the_wrong_sign_and_clipped_at_zero():
    noise = spread.VoteNoise(0.1, 0.3)
    assert noise.estimate(0.5) == pytest.approx(0.6666666666666667, abs=1e-12)
    assert noise.estimate(0.05) == 0.0
    assert noise.estimate(0.9) == 1.0
    printed = (0.5 + 0.1) / (1 - 0.1 - 0.3)
    assert printed == pytest.approx(1.0)


@pytest.mark.parametrize("ones", [0.05, 0.2, 0.5, 0.69, 0.8])
def test_no_other_share_makes_the_noisy_votes_more_likely(ones):
    noise = spread.VoteNoise(0.1, 0.3)
    best = noise.likelihood(noise.estimate(ones), ones)
    assert best >= max(noise.likelihood(share, ones) for share in GRID[::20]) - 1e-15


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 0.77, 1.0])
def test_the_true_share_is_found_again_and_is_the_fixed_point_of_expectation_steps(share):
    noise = spread.VoteNoise(0.1, 0.3)
    ones = noise.observed(share)
    assert noise.estimate(ones) == pytest.approx(share, abs=1e-12)
    assert noise.step(share, ones) == pytest.approx(share, abs=1e-15)


def test_expectation_steps_run_into_the_estimate():
    noise, share = spread.VoteNoise(0.1, 0.3), 0.5
    for _ in range(300):
        share = noise.step(share, 0.3)
    assert share == pytest.approx(noise.estimate(0.3), abs=1e-12)


@pytest.mark.parametrize("flip", FLIPS)
@pytest.mark.parametrize("true_share", [0.1, 0.4, 0.6, 0.9])
def test_figure_1_reconstruction_ends_in_certainty_whatever_the_truth(flip, true_share):
    noise = spread.VoteNoise(flip, flip)
    values = [noise.reconstruction(share, true_share) for share in GRID]
    assert max(values) < 0
    assert int(np.argmax(values)) == (0 if true_share < 0.5 else len(GRID) - 1)
    assert noise.reconstruction(0.0, true_share) == noise.reconstruction(1.0, true_share) == 0
    assert noise.reconstruction(true_share, true_share) < -0.3


def test_figure_1_reconstruction_is_right_without_noise():
    noise = spread.VoteNoise(0.0, 0.0)
    values = [noise.reconstruction(share, 0.3) for share in GRID]
    assert GRID[int(np.argmax(values))] == pytest.approx(0.3, abs=1e-4)


@pytest.mark.parametrize(
    ("samples", "expected"),
    [(1, 0.644), (2, 0.7117647058823531), (10, 0.8251073359753583), (100, 0.8892037471274808)],
)
def test_few_samples_settle_below_the_truth(samples, expected):
    assert spread.sampled_fixed_point(0.2, 0.9, samples) == pytest.approx(expected, abs=1e-6)


def test_two_samples_are_worse_than_ignoring_the_noise_and_many_come_near():
    naive = spread.VoteNoise(0.2, 0.2).observed(0.9)
    assert spread.sampled_fixed_point(0.2, 0.9, 2) < naive == pytest.approx(0.74)
    assert spread.sampled_fixed_point(0.2, 0.9, 20_000) == pytest.approx(0.9, abs=1e-3)


def least(divergence, ones):
    return GRID[int(np.argmin([divergence.expected(told, ones) for told in GRID]))]


@pytest.mark.parametrize("ones", [0.26, 0.5, 0.74])
def test_equation_40_the_likelihoods_divergence_is_least_at_the_truth(ones):
    assert least(spread.kullback_leibler(), ones) == pytest.approx(ones, abs=1e-4)


def test_equation_40_hellinger_is_least_at_the_squares():
    assert least(spread.hellinger(), 0.74) == pytest.approx(0.74**2 / (0.74**2 + 0.26**2), abs=1e-4)
    assert least(spread.hellinger(), 0.5) == pytest.approx(0.5, abs=1e-4)


def test_equation_40_total_variation_is_least_in_certainty():
    assert least(spread.total_variation(), 0.51) == GRID[-1]
    assert least(spread.total_variation(), 0.49) == GRID[0]


@pytest.mark.parametrize("make", [spread.kullback_leibler, spread.hellinger, spread.total_variation])
def test_a_line_through_one_added_to_the_generator_changes_no_divergence(make):
    plain = make()
    tilted = spread.Divergence(lambda ratio: plain.generator(ratio) + 3 * (ratio - 1), plain.slope + 3)
    assert tilted.expected(0.3, 0.74) == pytest.approx(plain.expected(0.3, 0.74))


def test_noise_that_turns_votes_around_is_refused():
    with pytest.raises(InputError, match="below 1"):
        spread.VoteNoise(0.6, 0.4)
    with pytest.raises(InputError, match="one sample"):
        spread.sampled_fixed_point(0.2, 0.9, 0)
