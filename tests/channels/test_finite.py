"""Every finite channel by enumeration: its epsilon, its estimates, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from suffice.channels import (
    Crosswise,
    Disguised,
    ForcedResponse,
    ItemCount,
    Kuk,
    Matrix,
    RandomizedResponse,
    Triangular,
    UnrelatedQuestion,
    Warner,
)
from suffice.core.codec import decode, encode
from suffice.core.errors import InputError, SchemaError
from suffice.core.guarantees import NotPrivate, PureDP

PRIVATE = [
    RandomizedResponse(("no", "yes"), epsilon=1.0),
    RandomizedResponse(tuple(range(10)), epsilon=0.1),
    RandomizedResponse(tuple(range(10)), epsilon=8.0),
    RandomizedResponse(("a", "b", "c"), truth=0.35, base=(0.5, 0.3, 0.2)),
    RandomizedResponse((False, True), epsilon=2.0, calibration="paper"),
    Warner(0.7),
    Warner(0.2, labels=(0, 1)),
    ForcedResponse(yes=1 / 6, no=1 / 12),
    Disguised(0.8),
    Crosswise(0.25),
    UnrelatedQuestion(ask=0.6, prevalence=0.3),
    Kuk(0.8, 0.3),
    Kuk(0.7, 0.4, draws=5),
    Matrix.of([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]], ("no", "yes"), replies=("low", "middle", "high")),
    Matrix.of([[0.5, 0.25, 0.25], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]], ("x", "y", "z")),
]
ONE_SIDED = [Triangular(0.25), ItemCount.of(0.5, 0.3, 0.2)]
ALL = PRIVATE + ONE_SIDED


def largest_log_ratio(law: np.ndarray) -> float:
    return float(np.log(law.max(axis=0) / law.min(axis=0)).max())


@pytest.mark.parametrize("channel", PRIVATE, ids=repr)
def test_the_largest_log_ratio_is_the_declared_epsilon(channel):
    promise = channel.guarantee().promise
    assert isinstance(promise, PureDP)
    assert largest_log_ratio(channel.matrix()) == pytest.approx(promise.epsilon, abs=1e-9)


@pytest.mark.parametrize(
    ("channel", "no", "yes"),
    [
        (Warner(0.7), [0.7, 0.3], [0.3, 0.7]),
        (ForcedResponse(yes=0.2, no=0.1), [0.8, 0.2], [0.1, 0.9]),
        (Disguised(0.8), [0.8, 0.2], [0.2, 0.8]),
        (Crosswise(0.25), [0.25, 0.75], [0.75, 0.25]),
        (UnrelatedQuestion(ask=0.6, prevalence=0.3), [0.88, 0.12], [0.28, 0.72]),
        (Kuk(carriers=0.8, others=0.3), [0.7, 0.3], [0.2, 0.8]),
        (Kuk(carriers=0.5, others=0.1, draws=2), [0.81, 0.18, 0.01], [0.25, 0.5, 0.25]),
        (Triangular(0.25), [0.75, 0.25], [0.0, 1.0]),
        (ItemCount.of(0.5, 0.2), [0.4, 0.5, 0.1, 0.0], [0.0, 0.4, 0.5, 0.1]),
        (RandomizedResponse(("no", "yes"), truth=0.4, base=(0.5, 0.5)), [0.7, 0.3], [0.3, 0.7]),
    ],
    ids=repr,
)
def test_a_design_has_the_probabilities_of_its_die(channel, no, yes):
    assert channel.matrix() == pytest.approx(np.array([no, yes]), abs=1e-12)


@pytest.mark.parametrize("channel", ONE_SIDED, ids=repr)
def test_an_answer_that_gives_the_truth_away_is_not_called_private(channel):
    assert isinstance(channel.guarantee().promise, NotPrivate)


@pytest.mark.parametrize("channel", ALL, ids=repr)
def test_the_mean_of_the_estimate_given_a_truth_is_that_truth(channel):
    estimates = channel.unbias(np.array(channel.answers()))
    assert channel.matrix() @ estimates == pytest.approx(np.eye(len(channel.truths())), abs=1e-12)


@pytest.mark.parametrize("channel", ALL, ids=repr)
def test_rows_are_laws_and_log_densities_are_their_logarithms(channel):
    law = channel.matrix()
    assert (law.sum(axis=1) == 1.0).all()
    truths, answers = np.array(channel.truths()), np.array(channel.answers())
    told = np.array([channel.log_density(answers, np.repeat(truth, answers.size)) for truth in truths])
    assert np.exp(told) == pytest.approx(law, rel=1e-12)


@pytest.mark.parametrize("channel", ALL, ids=repr)
def test_draws_follow_the_table(channel):
    assert fits(channel, channel.randomise)


def fits(channel, randomise, count: int = 20_000) -> bool:
    """A p-value below 1e-4 counts once a second sample confirms it."""
    return p_value(channel, randomise, count) > 1e-4 or p_value(channel, randomise, 4 * count) > 1e-4


def p_value(channel, randomise, count: int) -> float:
    worst, answers = 1.0, np.array(channel.answers())
    for truth, law in zip(channel.truths(), channel.matrix(), strict=True):
        drawn = randomise(np.repeat(np.array(truth), count))
        seen = (drawn[:, None] == answers).sum(axis=0)
        assert seen[law == 0].sum() == 0
        worst = min(worst, stats.chisquare(seen[law > 0], count * law[law > 0]).pvalue * len(answers))
    return worst


@pytest.mark.parametrize(
    "mutant",
    [
        lambda truth: truth,
        lambda truth: Warner(0.68).randomise(truth),
        lambda truth: Warner(0.3).randomise(truth),
        lambda truth: np.repeat(Warner(0.7).randomise(truth[:2]), truth.size // 2),
    ],
    ids=["no noise", "another coin", "the wrong way round", "one draw used often"],
)
def test_a_sampler_that_is_not_the_table_is_caught(mutant):
    assert not fits(Warner(0.7), mutant)


def test_epsilon_asked_for_is_never_exceeded_and_hardly_missed():
    for epsilon in (0.01, 0.5, 1.0, 3.0, 10.0):
        for size in (2, 7, 100):
            got = RandomizedResponse(tuple(range(size)), epsilon=epsilon).guarantee().promise.epsilon
            assert epsilon * (1 - 1e-8) < got <= epsilon


def test_an_epsilon_beyond_the_words_is_what_the_words_give():
    got = RandomizedResponse(("no", "yes"), epsilon=60.0).guarantee().promise.epsilon
    assert got == pytest.approx(53 * math.log(2), abs=1e-9)


def test_many_labels_need_no_square_table():
    channel = RandomizedResponse(tuple(range(20_000)), epsilon=6.0)
    answers = channel.randomise(np.full(3000, 7))
    assert abs((answers == 7).mean() - channel.keep) < 5 * math.sqrt(channel.keep / 3000)


def test_channels_travel_by_their_fields():
    for channel in ALL:
        assert decode(encode(channel), [type(channel)]) == channel


def test_single_truths_give_single_answers():
    assert Warner(0.7).randomise("yes") in {"no", "yes"}
    assert RandomizedResponse((0, 1), epsilon=1.0).randomise(1) in {0, 1}


def test_a_base_without_one_of_the_labels_is_refused():
    with pytest.raises(InputError, match="probability 0"):
        RandomizedResponse(("a", "b"), truth=0.5, base=(1.0, 0.0))


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: RandomizedResponse(("a",), epsilon=1.0), "two labels"),
        (lambda: RandomizedResponse(("a", "a"), epsilon=1.0), "twice"),
        (lambda: RandomizedResponse(("a", 1), epsilon=1.0), "all text"),
        (lambda: RandomizedResponse(("a", "b")), "one of epsilon"),
        (lambda: RandomizedResponse(("a", "b"), epsilon=1.0, truth=0.5), "one of epsilon"),
        (lambda: RandomizedResponse(("a", "b"), truth=1.0), "no privacy"),
        (lambda: RandomizedResponse(("a", "b"), truth=0.0), "leaves nothing"),
        (lambda: RandomizedResponse(("a", "b"), epsilon=-1.0), "above 0"),
        (lambda: Warner(0.5), "says nothing|say nothing"),
        (lambda: Crosswise(0.5), "say nothing"),
        (lambda: Kuk(0.3, 0.3), "say nothing"),
        (lambda: UnrelatedQuestion(0.0, 0.3), "say nothing"),
        (lambda: ForcedResponse(0.5, 0.5), "leave nothing"),
        (lambda: Matrix.of([[0.5, 0.5], [0.5, 0.5]], ("a", "b")), "dependent"),
        (lambda: Matrix.of([[0.5, 0.4], [0.5, 0.5]], ("a", "b")), "adds up"),
        (lambda: Matrix.of([[0.5, 0.5]], ("a", "b")), "row for each"),
    ],
)
def test_what_makes_no_channel_is_refused_with_a_reason(make, word):
    with pytest.raises(InputError, match=word):
        make()


def test_an_unknown_truth_is_named_with_its_row():
    with pytest.raises(SchemaError, match=r"row 2.*'maybe'"):
        Warner(0.7).randomise(["no", "yes", "maybe"])
    with pytest.raises(SchemaError, match="'truth'"):
        Warner(0.7).randomise([0, 1])
    with pytest.raises(SchemaError):
        Warner(0.7).unbias(np.array(["no", None], dtype=object))


def test_the_matrix_tells_how_well_it_is_conditioned():
    assert Matrix.of([[0.9, 0.1], [0.1, 0.9]], ("a", "b")).condition() == pytest.approx(1 / 0.8)
