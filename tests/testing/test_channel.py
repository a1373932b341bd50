"""The public check of channels passes ours and names the law that a wrong one breaks."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from suffice import channels as ch
from suffice.core.guarantees import Guarantee, PureDP
from suffice.core.units import Answer
from suffice.testing import LawBroken, check_channel

WARNER, DUCHI = ch.Warner(0.7), ch.DuchiL2(3, 1.0)
CUBE = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
SIGNS = 2 * CUBE - 1
SOUND = [
    (ch.RandomizedResponse(("no", "yes"), epsilon=1.0), None, None),
    (ch.Kuk(0.7, 0.4, draws=3), None, None),
    (ch.Triangular(0.3), None, None),
    (ch.SubsetSelection(tuple("abcd"), 1.0), None, None),
    (ch.OptimisedUnary(tuple("abc"), 1.0), None, None),
    (ch.CoordinateRelease(3, 1.0), CUBE, None),
    (ch.PerValue(3, 1.0), CUBE, None),
    (ch.DuchiLinf(3, 1.0), SIGNS, None),
    (ch.DuchiL2(3, 1.0), np.array([[1.0, 0, 0], [0, -1, 0], [0, 0, 0.5]]), None),
    (ch.PrivUnit(3, 2.0), np.array([[1.0, 0, 0], [0, -1, 0], [0, 0, 0.5]]), None),
    (ch.GaussianSpread(3, 2.0), CUBE[:2], None),
    (ch.Flip(2, 0.2), np.array([[0, 0], [0, 1], [1, 1]]), [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 1]]),
]


@pytest.mark.parametrize(("channel", "truths", "means"), SOUND, ids=lambda one: type(one).__name__)
def test_every_channel_of_ours_passes(channel, truths, means):
    passed = check_channel(channel, truths, means=means, draws=4000)
    promise = channel.guarantee().promise
    if isinstance(promise, PureDP):
        assert passed.epsilon <= promise.epsilon + 1e-9


@dataclass(frozen=True)
class Wrong:
    """A sound channel with one part exchanged."""

    part: str
    sound: Any = WARNER

    def truths(self):
        return self.sound.truths()

    def answers(self):
        return self.sound.answers()

    def guarantee(self):
        given = self.sound.guarantee()
        if self.part == "promise":
            return Guarantee(PureDP(0.5), Answer())
        return given.promise if self.part == "guarantee" else given

    def randomise(self, truth):
        if self.part == "none":
            return np.asarray(truth)
        if self.part == "answers":
            return np.full(np.shape(truth), "perhaps")
        return self.sound.randomise(truth)

    def log_density(self, answer, truth):
        told = self.sound.log_density(answer, truth)
        return told + 0.01 if self.part == "density" else told

    def unbias(self, answer):
        told = self.sound.unbias(answer)
        return told * 1.01 if self.part == "unbias" else told


@pytest.mark.parametrize(
    ("part", "law"),
    [
        ("promise", "likelier under one truth"),
        ("guarantee", "is a Guarantee"),
        ("none", "draws follow the law"),
        ("answers", "one of the listed"),
        ("density", "add up to 1"),
        ("unbias", "mean of unbias"),
    ],
)
def test_a_wrong_part_is_named(part, law):
    with pytest.raises(LawBroken, match=law):
        check_channel(Wrong(part), draws=4000)


def test_the_sound_one_passes_in_the_same_clothes():
    assert check_channel(Wrong(""), draws=4000).fit > 1e-6


@dataclass(frozen=True)
class Leaning:
    """Directions of another probability than the density says."""

    sound: Any = DUCHI

    def guarantee(self):
        return self.sound.guarantee()

    def randomise(self, truth):
        return ch.DuchiL2(3, 1.5).randomise(truth)

    def log_density(self, answer, truth):
        return self.sound.log_density(answer, truth)

    def unbias(self, answer):
        return self.sound.unbias(answer)


def test_draws_of_another_density_are_named():
    with pytest.raises(LawBroken):
        check_channel(Leaning(), np.array([[1.0, 0, 0], [0, -1, 0]]))


def test_without_truths_to_try_nothing_is_checked():
    with pytest.raises(LawBroken, match="truths"):
        check_channel(ch.PerValue(3, 1.0))
