"""Spread noise, parts together, answers given again, settings that vary, and the choice among channels."""

from __future__ import annotations

import numpy as np
import pytest

from suffice import channels as ch
from suffice.channels.together import added
from suffice.core.errors import InputError
from suffice.core.guarantees import ApproxDP, NotPrivate, PureDP, ZeroConcentratedDP


def test_a_channel_is_spread_noise_when_its_rows_are_independent():
    assert ch.validity(ch.Warner(0.7)).valid
    assert ch.validity(ch.OptimisedUnary(tuple("abcd"), 1.0)).valid  # sixteen answers to four truths
    assert not ch.validity_of_matrix([[0.5, 0.5], [0.5, 0.5]]).valid
    third = [[0.4, 0.3, 0.3], [0.2, 0.5, 0.3], [0.3, 0.4, 0.3]]
    assert "rank 2" in ch.validity_of_matrix(third).why


def test_a_flip_to_any_state_alike_is_not_spread_noise_and_is_refused():
    with pytest.raises(InputError, match="alike"):
        ch.Flip(3, 0.75, 4)
    assert ch.validity(ch.Flip(3, 0.74, 4)).valid


@pytest.mark.parametrize(
    ("fourier", "valid"),
    [
        (ch.GaussianSpread(1, 1.0).fourier, True),
        (lambda w: 1 / (1 + w**2), True),  # Laplace noise
        (lambda w: np.sinc(w / np.pi), False),  # uniform noise
        (lambda w: np.sinc(w / 2 / np.pi) ** 2, False),  # triangular noise
    ],
)
def test_a_kernel_is_spread_noise_when_its_transform_has_no_zero(fourier, valid):
    assert ch.validity_of_kernel(fourier).valid is valid


def test_parts_are_spread_noise_when_each_is():
    both = ch.Together((ch.Warner(0.7), ch.GaussianSpread(2, 1.0)), ("label", "features"))
    assert ch.validity(both).valid
    with pytest.raises(InputError, match="neither a matrix"):
        ch.validity(ch.DuchiL2(3, 1.0))


def test_downsampling_is_refused_with_the_reason():
    halves = np.kron(np.eye(4), [[0.5, 0.5]])
    with pytest.raises(InputError, match=r"keeps 4 of 8 directions(.|\n)*no spread noise"):
        ch.check_map(halves)
    ch.check_map(np.eye(8) + 0.1)


def test_promises_of_parts_add_up_in_one_currency():
    assert added([PureDP(1.0), PureDP(0.5)]) == PureDP(1.5)
    assert added([PureDP(1.0), ZeroConcentratedDP(2.0)]).rho == pytest.approx(2.46211715726)
    assert added([PureDP(1.0), ApproxDP(2.0, 1e-6)]) == ApproxDP(3.0, 1e-6)
    assert isinstance(added([PureDP(1.0), NotPrivate("why")]), NotPrivate)


def test_parts_are_drawn_and_weighed_each_by_its_own_channel():
    both = ch.Together((ch.Warner(0.7), ch.Flip(2, 0.2)), ("label", "features"))
    truth = (np.array(["yes", "no"]), np.array([[0, 1], [1, 1]]))
    label, features = both.randomise(truth)
    assert label.shape == (2,)
    assert features.shape == (2, 2)
    told = both.log_density((label, features), truth)
    parts = both.channels[0].log_density(label, truth[0]) + both.channels[1].log_density(features, truth[1])
    assert told == pytest.approx(parts)
    assert both.unbias((label, features)).shape == (2, 2 + 4)


def test_settings_of_a_column_are_those_of_each_record():
    ask, prevalence = np.array([0.5, 0.6, 0.5, 0.6]), np.array([0.2, 0.2, 0.3, 0.2])
    varying = ch.Varying.of(ch.UnrelatedQuestion, ask=ask, prevalence=prevalence)
    assert len(varying.channels) == 3
    for at, (one, two) in enumerate(zip(ask, prevalence, strict=True)):
        alone = ch.UnrelatedQuestion(one, two)
        assert (varying.matrix()[at] == alone.matrix()).all()
        for said in ("no", "yes"):
            assert varying.unbias([said] * 4)[at] == pytest.approx(alone.unbias(said))
            assert varying.log_density([said] * 4, ["yes"] * 4)[at] == alone.log_density(said, "yes")
    strongest = max(
        ch.UnrelatedQuestion(a, w).guarantee().promise.epsilon for a, w in zip(ask, prevalence, strict=True)
    )
    assert varying.guarantee().promise.epsilon == strongest


def test_records_with_settings_of_their_own_answer_by_them():
    ask = np.repeat([0.9, 0.6], 20_000)
    drawn = ch.Varying.of(ch.Warner, ask=ask).randomise(np.repeat("yes", 40_000))
    yes = drawn == "yes"
    assert yes[:20_000].mean() == pytest.approx(0.9, abs=0.015)
    assert yes[20_000:].mean() == pytest.approx(0.6, abs=0.02)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ch.Varying.of(ch.Warner),
        lambda: ch.Varying.of(ch.Warner, ask=[0.7, np.nan]),
        lambda: ch.Varying((ch.Warner(0.7), ch.Crosswise(0.3)), np.array([0, 1])),
        lambda: ch.Varying((ch.Warner(0.7),), np.array([1])),
        lambda: ch.Varying.of(ch.Warner, ask=[0.7, 0.8]).randomise(["yes"]),
    ],
)
def test_records_that_do_not_fit_their_channels_are_refused(make):
    with pytest.raises(InputError):
        make()


def test_designs_mix_once_their_answers_have_one_spelling():
    mixed = ch.Varying((ch.Warner(0.7), ch.Crosswise(0.3, replies=("no", "yes"))), np.array([0, 1]))
    assert mixed.matrix().shape == (2, 2, 2)


def test_the_posterior_of_one_answer_is_bayes_rule():
    channel = ch.RandomizedResponse(("a", "b", "c"), epsilon=1.0)
    prior = np.array([0.5, 0.3, 0.2])
    expected = prior * channel.matrix()[:, 1]
    assert ch.posterior(channel, ["b"], prior) == pytest.approx(expected / expected.sum())
    assert ch.posterior(channel, [["a", "a"], ["a", "b"]]).shape == (2, 3)


def test_the_chance_of_a_right_guess_grows_with_every_second_answer():
    channel = ch.Warner(0.7)
    right = [ch.repeated(channel, times).right for times in (1, 3, 9, 25)]
    assert right[0] == pytest.approx(0.7)
    assert right == sorted(right)
    assert right[-1] > 0.95
    assert "25 answers" in str(ch.repeated(channel, 25))


def test_the_choice_names_what_it_compared():
    chosen = ch.best(100, epsilon=1.0)
    assert isinstance(chosen.channel, ch.PrivUnit)
    assert "DuchiL2" in str(chosen)
    assert isinstance(ch.best(100, epsilon=1.0, norm="ones", ones=2).channel, ch.PerValue)
    assert isinstance(ch.best(100, epsilon=1.0, norm="ones", ones=50).channel, ch.CoordinateRelease)
    with pytest.raises(InputError):
        ch.best(100, epsilon=1.0, norm=2, ones=3)
