from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from suffice.auditing.one_run import (
    Rule,
    epsilon_lower_bound,
    guessed,
    least_correct,
    p_value,
    power,
    rule_for,
)
from suffice.core.errors import InputError


def game(scale, canaries, seed):
    """One coordinate per canary, at -1 or 1, with Laplace noise; epsilon is 2/scale."""
    draw = np.random.default_rng(seed)
    coins = draw.choice([-1, 1], canaries)
    return coins, coins + draw.laplace(scale=scale, size=canaries)


def bound(scale, canaries=100_000, seed=0, error=1e-3):
    score = guessed(*game(scale, canaries, seed), Rule(-1.0, 1.0))
    return epsilon_lower_bound(score.canaries, score.guesses, score.correct, error=error)


def test_without_delta_the_evidence_is_a_binomial_tail():
    assert p_value(100, 50, 40, epsilon=1.0) == pytest.approx(stats.binom.sf(39, 50, np.e / (1 + np.e)))
    assert p_value(100, 50, 0, epsilon=1.0) == 1


def test_with_delta_it_is_the_binomial_tail_and_the_published_term():
    """Written out as in the paper's own listing."""
    m, r, v, epsilon, delta = 300, 200, 160, 0.7, 1e-3
    q = 1 / (1 + np.exp(-epsilon))
    alpha = total = 0.0
    for i in range(1, v + 1):
        total += stats.binom.pmf(v - i, r, q)
        alpha = max(alpha, total / i)
    expected = stats.binom.sf(v - 1, r, q) + 2 * m * delta * alpha
    assert p_value(m, r, v, epsilon=epsilon, delta=delta) == pytest.approx(expected)


def test_the_bound_is_where_the_evidence_reaches_the_error():
    low = epsilon_lower_bound(1000, 600, 480, delta=1e-6, error=0.01)
    assert p_value(1000, 600, 480, epsilon=low - 1e-6, delta=1e-6) < 0.01
    assert p_value(1000, 600, 480, epsilon=low + 1e-6, delta=1e-6) > 0.01
    assert epsilon_lower_bound(1000, 600, 300) == 0


def test_the_fewest_right_guesses_that_refute_are_found():
    least = least_correct(1000, 600, epsilon=1.0, delta=0.0, error=1e-3)
    assert p_value(1000, 600, least, epsilon=1.0) < 1e-3 <= p_value(1000, 600, least - 1, epsilon=1.0)
    assert least_correct(5, 2, epsilon=1.0, delta=0.0, error=1e-3) == 3


def test_a_hundred_thousand_canaries_see_right_noise_as_right_and_a_twentieth_less_as_less():
    """Measured at epsilon = 1: .973 (.960 to .986 in 300 repeats); noise x.95 is caught in 99.7 of 100."""
    assert 0.95 < bound(2.0) <= 1
    assert bound(2.0 * 0.95) > 1


def test_few_canaries_are_honest_and_useless():
    assert bound(2.0 * 0.9, canaries=1000) < 1


@pytest.mark.laws
def test_the_bound_is_too_high_as_seldom_as_it_says():
    high = sum(bound(2.0, canaries=20_000, seed=seed, error=0.05) > 1 for seed in range(2000))
    assert stats.binomtest(high, 2000, 0.05, "greater").pvalue > 1e-4
    assert high > 20  # an idle bound would never be too high


@pytest.mark.laws
def test_noise_a_twentieth_too_small_is_caught_almost_always():
    caught = sum(bound(2.0 * 0.95, seed=seed) > 1 for seed in range(300))
    assert caught >= 0.97 * 300


def test_power_is_what_repeats_of_the_game_show():
    score = guessed(*game(2.0 * 0.95, 30_000, 5), Rule(-1.0, 1.0))
    predicted = power(score, epsilon=1.0, delta=0.0, error=0.01)
    seen = np.mean([bound(1.9, 30_000, seed, 0.01) > 1 for seed in range(60)])
    assert 0.05 < predicted < 1
    assert abs(seen - predicted) < 0.5
    assert power(guessed([1], [0.0], Rule(-1.0, 1.0)), epsilon=1.0, delta=0.0, error=0.01) == 0


def test_a_rule_guesses_at_its_edges_and_leaves_the_middle_open():
    assert Rule(-1.0, 2.0).guesses(np.array([-1.0, 0.0, 2.0, -3.0])).tolist() == [-1, 0, 1, -1]


def test_the_rule_that_is_chosen_leaves_doubtful_canaries_open():
    coins, values = game(2.0, 20_000, 7)
    reached, rule = rule_for(coins, values)
    every = guessed(coins, values, Rule(-1e-9, 1e-9))
    assert 0.8 < reached < 1.1
    assert guessed(coins, values, rule).guesses < 0.9 * every.guesses


def test_impossible_counts_are_refused():
    with pytest.raises(InputError, match="impossible"):
        p_value(10, 11, 5, epsilon=1.0)
