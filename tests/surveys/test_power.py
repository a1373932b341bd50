from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import suffice as sf
from suffice import surveys
from suffice.core.errors import InputError

FORCED = sf.ForcedResponse(yes=1 / 6, no=1 / 6)


def test_the_size_for_an_error_has_that_error():
    found = surveys.power(FORCED, 0.262, se=0.0144)
    yes = 1 / 6 + 2 / 3 * 0.262
    assert found.answers == pytest.approx(yes * (1 - yes) / (2 / 3) ** 2 / 0.0144**2, abs=1)
    assert found.stderr <= 0.0144
    assert found.answers == pytest.approx(2435, rel=0.02)
    assert surveys.power(FORCED, 0.262, answers=found.answers - 1).stderr > 0.0144


def test_the_power_of_two_hundred_forced_answers_is_that_of_the_binomial():
    found = surveys.power(FORCED, 0.2, answers=200, against=0.0, level=0.01, sides=1)
    limit = 1 / 6 + stats.norm.isf(0.01) * (1 / 6 * 5 / 6 / 200) ** 0.5
    exact = stats.binom.sf(np.ceil(200 * limit) - 1, 200, 1 / 6 + 2 / 3 * 0.2)
    assert found.power == pytest.approx(exact, abs=0.02)


def test_the_power_is_the_one_in_the_tests_of_the_package_rr():
    # there 0.9868872 is given for 2/3, 1/6, 1/6, a share of .2 against 0 and a level of .01, to find n = 200
    found = surveys.power(FORCED, 0.2, answers=200, against=0.0, level=0.01, sides=1)
    assert found.power == pytest.approx(0.9868872, abs=5e-8)
    wanted = surveys.power(FORCED, 0.2, against=0.0, level=0.01, chance=0.986887, sides=1)
    assert wanted.answers == 200


def test_a_test_of_two_sides_rejects_on_both_with_half_the_level_each():
    found = surveys.power(FORCED, 0.32, answers=900, against=0.25)
    null, truth = 1 / 6 + 2 / 3 * 0.25, 1 / 6 + 2 / 3 * 0.32
    width = stats.norm.isf(0.025) * (null * (1 - null) / 900) ** 0.5
    upper = stats.binom.sf(np.ceil(900 * (null + width)) - 1, 900, truth)
    lower = stats.binom.cdf(np.floor(900 * (null - width)), 900, truth)
    assert found.power == pytest.approx(upper + lower, abs=0.02)
    assert surveys.power(FORCED, 0.25, answers=900, against=0.25 + 1e-9).power == pytest.approx(
        0.05, abs=1e-3
    )


def test_the_size_for_a_chance_is_the_least_that_has_it():
    found = surveys.power(sf.Crosswise(0.2), 0.3, against=0.2, chance=0.9)
    assert found.power >= 0.9
    assert surveys.power(sf.Crosswise(0.2), 0.3, answers=found.answers - 1, against=0.2).power < 0.9


def test_direct_questions_have_no_inflation_and_more_cards_help():
    assert surveys.power(surveys.DIRECT, 0.3, se=0.01).inflation == pytest.approx(1.0)
    assert surveys.power(surveys.DIRECT, 0.3, se=0.01).answers == 2100
    one, five = (surveys.power(sf.Kuk(0.7, 0.3, draws=draws), 0.3, se=0.01).answers for draws in (1, 5))
    assert five < one / 2


def test_a_question_without_an_aim_is_refused():
    with pytest.raises(InputError, match="takes one of"):
        surveys.power(FORCED, 0.2)
    with pytest.raises(InputError, match="takes one of"):
        surveys.power(FORCED, 0.2, se=0.1, answers=5)
