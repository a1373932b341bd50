from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from suffice import surveys
from suffice.core.errors import InputError

# people whose dice were watched and who were honest: p1, p2, ones, zeros of each arm
HONEST = {
    "direct": [(1.0, 0.0, 3, 361)],
    "Forced": [(0.75, 2 / 3, 98, 631)],
    "UQM": [
        (0.778, 0.49, 27, 156),
        (0.778, 0.493, 20, 164),
        (0.778, 0.495, 33, 154),
        (0.778, 0.521, 18, 167),
    ],
    "Crosswise": [(0.1594625, 0.0, 417, 117), (0.1971293, 0.0, 384, 155)],
}
CHEATERS = {
    "direct": [(1.0, 0.0, 12, 5)],
    "Forced": [(0.75, 2 / 3, 19, 21)],
    "UQM": [(0.778, 0.49, 6, 3), (0.778, 0.493, 5, 4), (0.778, 0.495, 5, 6), (0.778, 0.521, 5, 5)],
    "Crosswise": [(0.1594625, 0.0, 15, 20), (0.1971293, 0.0, 18, 16)],
}


def arms(table):
    rows = [
        (design, p1, p2, y)
        for design, cells in table.items()
        for p1, p2, ones, zeros in cells
        for y in [1] * ones + [0] * zeros
    ]
    columns = dict(zip(("design", "p1", "p2", "y"), map(list, zip(*rows, strict=True)), strict=True))
    columns["arm"] = columns["design"]
    return surveys.read(columns, answer="y", design="design", p1="p1", p2="p2")


def two_levels(law, low, high, people=20_000):
    """Expected answers of many people under two probabilities of a harmless question."""
    p = np.repeat([low, high], people)
    y = np.concatenate([np.arange(people) < round(people * law(one)) for one in (low, high)]).astype(int)
    return p, y


def crosswise(away, prevalence, says):
    return lambda p: (1 - away) * (1 - p + (2 * p - 1) * prevalence) + away * says


def test_the_arms_of_the_dice_game_have_their_known_figures():
    honest = surveys.estimate(arms(HONEST), by="arm")
    told = {one.group: (one.moments, one.stderr) for one in honest.rows}
    assert told["direct"] == pytest.approx((0.008, 0.005), abs=6e-4)
    assert told["Forced"] == pytest.approx((-0.043, 0.017), abs=6e-4)
    assert told["UQM"] == pytest.approx((0.028, 0.016), abs=6e-4)
    assert told["Crosswise"] == pytest.approx((0.119, 0.021), abs=6e-4)
    cheaters = {one.group: one.moments for one in surveys.estimate(arms(CHEATERS), by="arm").rows}
    expected = {"direct": 0.71, "Forced": 0.41, "UQM": 0.55, "Crosswise": 0.53}
    assert cheaters == pytest.approx(expected, abs=6e-3)


def test_honest_people_did_not_all_follow_the_crosswise_design():
    found = surveys.compliance(arms(HONEST).where(arm="Crosswise"), says="guess", truth=0.0)
    assert found.share == pytest.approx(0.23, abs=0.01)
    assert found.share > 5 * found.stderr
    assert found.p_value < 1e-6


def test_honest_people_refuse_a_forced_yes():
    forced = arms(HONEST).where(arm="Forced")
    assert surveys.fit(forced)[0].p_value < 0.05
    found = surveys.compliance(forced, says="no", truth=0.0)
    assert found.share == pytest.approx(1 - (98 / 729) * 6, abs=1e-3)
    assert found.p_value < 0.01


def test_arms_that_should_agree_are_found_apart():
    found = surveys.compare(arms(HONEST), by="arm", against="direct")
    differences = {name: (value, odds) for name, value, _, odds in found.differences}
    assert differences["Crosswise"][0] == pytest.approx(0.110, abs=1e-3)
    assert differences["Crosswise"][1] < 1e-5
    assert differences["UQM"][1] > 0.05
    assert found.freedom == 3
    assert found.p_value < 1e-6


@pytest.mark.parametrize(("says", "word"), [(0.0, "no"), (1.0, "yes")])
def test_two_protection_levels_tell_prevalence_and_one_sided_answers_apart(says, word):
    p, y = two_levels(crosswise(0.15, 0.25, says), 0.2, 0.8)
    answers = surveys.read({"y": y, "p": p}, answer="y", design="Crosswise", p1="p")
    found = surveys.compliance(answers, says=word)
    assert (found.share, found.prevalence) == pytest.approx((0.15, 0.25), abs=1e-4)
    assert abs(found.naive - 0.25) > 0.01
    assert surveys.fit(answers)[0].p_value < 1e-6


def test_who_all_followed_is_found_to_have_followed():
    p, y = two_levels(crosswise(0.0, 0.25, 0.0), 0.2, 0.8)
    answers = surveys.read({"y": y, "p": p}, answer="y", design="Crosswise", p1="p")
    found = surveys.compliance(answers, says="no")
    assert found.share == pytest.approx(0.0, abs=1e-4)
    assert found.p_value > 0.3
    assert surveys.fit(answers)[0].p_value > 0.5


def test_the_lie_detector_finds_carriers_who_lie():
    p, y = two_levels(lambda p: 0.3 * 0.7 + 0.7 * (1 - p), 2 / 12, 10 / 12)
    answers = surveys.read({"y": y, "p": p}, answer="y", design="SLD", p1="p")
    found = surveys.compliance(answers, who="carriers", says="no")
    assert (found.share, found.prevalence) == pytest.approx((0.3, 0.3), abs=1e-4)


def test_guessing_cannot_be_seen_in_mirrored_questions_and_one_level_shows_nothing():
    p, y = two_levels(crosswise(0.15, 0.25, 0.5), 0.2, 0.8, people=100)
    both = surveys.read({"y": y, "p": p}, answer="y", design="Crosswise", p1="p")
    with pytest.raises(InputError, match="two protection levels"):
        surveys.compliance(both, says="guess")
    with pytest.raises(InputError, match="two protection levels"):
        surveys.compliance(both.where(p=0.2), says="no")


def test_errors_of_compliance_are_those_of_repetition():
    draw, shares, errors = np.random.default_rng(3), [], []
    p = np.repeat([0.2, 0.8], 800)
    law = crosswise(0.2, 0.3, 0.0)(p)
    for _ in range(60):
        y = (draw.random(p.size) < law).astype(int)
        answers = surveys.read({"y": y, "p": p}, answer="y", design="Crosswise", p1="p")
        found = surveys.compliance(answers, says="no")
        shares.append(found.share)
        errors.append(found.stderr)
    assert np.mean(shares) == pytest.approx(0.2, abs=4 * np.std(shares) / 60**0.5)
    assert np.std(shares) == pytest.approx(np.mean(errors), rel=0.35)


def test_the_test_of_fit_rejects_a_true_channel_as_rarely_as_it_says():
    draw, odds = np.random.default_rng(9), []
    p = np.repeat([0.25, 0.75], 300)
    for _ in range(200):
        y = (draw.random(p.size) < crosswise(0.0, 0.4, 0.0)(p)).astype(int)
        odds.append(
            surveys.fit(surveys.read({"y": y, "p": p}, answer="y", design="Warner", p1="p"))[0].p_value
        )
    assert 0.01 < np.mean(np.array(odds) < 0.05) < 0.1


def test_a_share_at_its_end_makes_the_test_cautious_and_not_blind():
    answers = surveys.read({"y": [1] * 98 + [0] * 631}, answer="y", design="Forced", p1=0.75, p2=2 / 3)
    found = surveys.fit(answers)[0]
    assert (found.freedom, found.at_end) == (0, 1)
    assert found.statistic == pytest.approx(
        2 * (98 * np.log(98 / 729 * 6) + 631 * np.log(631 / 729 * 1.2)), rel=1e-6
    )
    assert found.p_value == pytest.approx(2 * ndtr(-(found.statistic**0.5)), rel=1e-6)


def test_a_single_channel_inside_its_range_fits_whatever_was_said():
    answers = surveys.read(
        {"y": [1] * 341 + [0] * 659}, answer="y", design="forced-known", p1=1 / 6, p2=1 / 6
    )
    found = surveys.fit(answers)[0]
    assert found.blind
    assert "any outcome fits" in str(found)


def test_levels_that_are_close_give_a_share_with_a_warning():
    p, y = two_levels(crosswise(0.3, 0.3, 0.0), 0.2, 0.22, people=2000)
    close = surveys.compliance(
        surveys.read({"y": y, "p": p}, answer="y", design="Crosswise", p1="p"), says="no"
    )
    assert close.weak
    assert "next to nothing" in str(close)
    p, y = two_levels(crosswise(0.3, 0.3, 0.0), 0.2, 0.8, people=2000)
    far = surveys.compliance(
        surveys.read({"y": y, "p": p}, answer="y", design="Crosswise", p1="p"), says="no"
    )
    assert not far.weak
    assert "next to nothing" not in str(far)


def test_channels_of_single_records_are_not_tested_for_fit():
    draw = np.random.default_rng(6)
    frame = {"y": draw.integers(0, 2, 300), "p": draw.uniform(0.7, 0.9, 300)}
    found = surveys.fit(surveys.read(frame, answer="y", design="Warner", p1="p"))[0]
    assert found.blind
    assert found.answers == 0
