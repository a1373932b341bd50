from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from suffice.auditing.score import granularity
from suffice.auditing.two_world import epsilon_lower_bound, power, two_worlds
from suffice.core.errors import InputError


def worlds(scale, draws, seed):
    draw = np.random.default_rng(seed)
    return {"x": draw.laplace(0, scale, draws)}, {"x": draw.laplace(1, scale, draws)}


def test_the_bound_is_that_of_clopper_and_pearson():
    low = stats.binomtest(900, 1000).proportion_ci(0.98, "exact").low
    high = stats.binomtest(300, 1000).proportion_ci(0.98, "exact").high
    assert epsilon_lower_bound(900, 300, 1000, error=0.02) == pytest.approx(math.log(low / high))
    assert epsilon_lower_bound(900, 300, 1000, error=0.02, delta=0.1) == pytest.approx(
        math.log((low - 0.1) / high)
    )
    wide = stats.binomtest(300, 4000).proportion_ci(0.98, "exact").high
    assert epsilon_lower_bound(900, 300, 1000, rare_draws=4000, error=0.02) == pytest.approx(
        math.log(low / wide)
    )


def test_an_event_that_never_happens_shows_nothing_and_one_that_always_does_little():
    assert epsilon_lower_bound(0, 0, 100) < 0
    assert epsilon_lower_bound(100, 100, 100) < 0
    assert epsilon_lower_bound(1000, 0, 1000) > 4


@pytest.mark.parametrize("seen", [(5, 1, 4), (-1, 1, 4), (1, 5, 4), (0, 0, 0)])
def test_counts_that_cannot_be_are_refused(seen):
    with pytest.raises(InputError, match="happens 0 to draws times"):
        epsilon_lower_bound(*seen)


def test_enough_noise_is_not_refuted_and_four_fifths_of_it_is():
    """At 100,000 draws the event is counted on 50,000: a right mechanism is above 1 once in 100 seeds."""
    fine = two_worlds(*worlds(1.0, 100_000, 1), error=0.01)
    assert 0.9 < fine.epsilon <= 1
    quiet = two_worlds(*worlds(0.8, 100_000, 2), error=0.01)
    assert quiet.epsilon > 1.1
    assert power(quiet, 1.0) > 0.99
    assert power(fine, 1.0) < 0.1


def test_the_choice_of_the_event_costs_nothing():
    """Of twelve scores that say nothing the best is chosen, and the bound stays below zero as it should."""
    draw = np.random.default_rng(3)
    refuted = 0
    for _ in range(20):
        one, two = ({f"s{k}": draw.normal(size=200) for k in range(12)} for _ in range(2))
        refuted += two_worlds(one, two, error=0.1).epsilon > 0
    assert refuted <= 7  # 2 at most are expected, and more than 7 would be seen once in 2,000


def test_an_event_counted_where_it_was_chosen_would_be_caught():
    """The control of the test above: the bound on the half on which the event was chosen."""
    draw = np.random.default_rng(3)
    refuted = 0
    for _ in range(20):
        one, two = ({f"s{k}": draw.normal(size=100) for k in range(12)} for _ in range(2))
        doubled = [{name: np.tile(values, 2) for name, values in world.items()} for world in (one, two)]
        refuted += two_worlds(*doubled, error=0.1).epsilon > 0
    assert refuted > 7


def test_a_delta_is_taken_from_the_likelier_world():
    one, two = {"x": np.arange(1000) % 10 == 0}, {"x": np.zeros(1000)}
    assert two_worlds(one, two).epsilon > 1.5
    assert two_worlds(one, two, delta=0.2).epsilon < 0


def test_worlds_that_do_not_match_are_refused():
    with pytest.raises(InputError, match="same scores"):
        two_worlds({"x": np.zeros(10)}, {"y": np.zeros(10)})
    with pytest.raises(InputError, match="same number"):
        two_worlds({"x": np.zeros(10)}, {"x": np.zeros(12)})


def test_the_grain_of_a_number_is_its_lowest_digit():
    assert granularity(np.array([1, 2, 3, -12, 0])).tolist() == [0, 1, 0, 2, 1100]
    assert granularity(np.array([1.0, 0.75, -6.0, 2.0**-1000, 0.0])).tolist() == [0, -2, 1, -1000, 1100]
