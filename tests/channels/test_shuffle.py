"""Shuffled answers: the divergence of totals against a direct sum over worlds, and the worst split."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from suffice import channels as ch
from suffice.channels import shuffle
from suffice.core.errors import InputError

CHANNEL = ch.RandomizedResponse(("no", "yes"), epsilon=1.0)


def by_worlds(channel, count: int, epsilon: float, yes: int) -> float:
    """Add up over all rows of answers, without convolutions."""
    law = channel.matrix()
    others = [1] * yes + [0] * (count - 1 - yes)
    totals = np.zeros((2, count + 1))
    for mine in (0, 1):
        for row in itertools.product((0, 1), repeat=count):
            totals[mine, sum(row)] += math.prod(law[t, o] for t, o in zip([mine, *others], row, strict=True))
    gain = math.exp(epsilon)
    one, two = totals
    return max(np.maximum(one - gain * two, 0).sum(), np.maximum(two - gain * one, 0).sum())


@pytest.mark.parametrize("channel", [CHANNEL, ch.ForcedResponse(0.1, 0.3)], ids=repr)
@pytest.mark.parametrize("yes", [0, 2, 5])
def test_delta_agrees_with_the_sum_over_all_worlds(channel, yes):
    for epsilon in (0.05, 0.3, 0.8):
        told = shuffle.shuffled_delta(channel, 6, epsilon, yes=yes)
        assert told == pytest.approx(by_worlds(channel, 6, epsilon, yes), abs=1e-12)


@pytest.mark.parametrize("channel", [CHANNEL, ch.ForcedResponse(0.1, 0.3), ch.Warner(0.9)], ids=repr)
def test_the_ends_and_the_grid_miss_little_of_the_worst_split(channel, monkeypatch):
    every = ch.shuffled(channel, 180, delta=1e-5).epsilon
    monkeypatch.setattr(shuffle, "_ALL", 0)
    assert ch.shuffled(channel, 180, delta=1e-5).epsilon == pytest.approx(every, rel=0.02)


def test_one_person_alone_gains_nothing_and_more_people_always_do():
    assert ch.shuffled(CHANNEL, 1).epsilon == pytest.approx(1.0, abs=1e-4)
    told = [ch.shuffled(CHANNEL, count, delta=1e-4).epsilon for count in (1, 10, 50, 150)]
    assert told == sorted(told, reverse=True)


def test_the_promise_holds_at_its_own_epsilon():
    promise = ch.shuffled(CHANNEL, 60, delta=1e-4)
    worst = max(shuffle.shuffled_delta(CHANNEL, 60, promise.epsilon, yes=k) for k in range(60))
    assert worst <= promise.delta
    barely = max(shuffle.shuffled_delta(CHANNEL, 60, promise.epsilon * 0.999, yes=k) for k in range(60))
    assert barely > promise.delta


def test_what_cannot_be_shuffled_is_refused():
    with pytest.raises(InputError, match="two truths"):
        ch.shuffled(ch.RandomizedResponse((0, 1, 2), epsilon=1.0), 10)
    with pytest.raises(InputError, match="delta"):
        ch.shuffled(CHANNEL, 10, delta=0.0)
