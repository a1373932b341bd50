"""Packed bits: the same law as row by row, no word used twice, and totals that estimate the truth."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from suffice import channels as ch
from suffice.channels import packed, stream
from suffice.channels.packed import Packed, randomised, totals
from suffice.core.errors import InputError


@pytest.fixture
def rows():
    return np.random.default_rng(0).random((70_003, 5)) < np.array([0.0, 0.1, 0.5, 0.9, 1.0])


def test_packing_and_unpacking_is_the_identity(rows):
    for count in (1, 63, 64, 65, 1000):
        assert (Packed.of(rows[:count]).rows() == rows[:count]).all()
    assert (Packed.of(rows).totals() == rows.sum(axis=0)).all()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("channel", [ch.PerValue(5, 3.0), ch.OptimisedUnary(tuple("abcde"), 1.0)], ids=repr)
def test_noisy_bits_follow_the_channel(rows, channel, workers):
    own, other = (count / 2**53 for count in channel.chances())
    noisy = randomised(Packed.of(rows), channel, workers=workers).rows()
    for truth, chance in ((True, own), (False, other)):
        seen = noisy[rows == truth]
        assert stats.binomtest(int(seen.sum()), seen.size, chance).pvalue > 1e-6


@pytest.mark.parametrize("workers", [1, 3])
def test_totals_estimate_the_true_totals(rows, workers):
    channel = ch.PerValue(5, 5.0)
    own, other = (count / 2**53 for count in channel.chances())
    found = totals(Packed.of(rows), channel, workers=workers)
    estimate = (found - len(rows) * other) / (own - other)
    error = np.sqrt(len(rows) * own * (1 - own)) / (own - other)
    assert (abs(estimate - rows.sum(axis=0)) < 5.5 * error).all()


def test_rows_beyond_the_last_are_never_counted(rows):
    channel = ch.SymmetricUnary(("a", "b"), 0.1)
    for count in (1, 3, 64, 65):
        noisy = randomised(Packed.of(rows[:count]), channel)
        assert (noisy.totals() == noisy.rows().sum(axis=0)).all()
        assert (totals(Packed.of(rows[:count]), channel) <= count).all()


def test_no_random_word_is_used_twice(rows, monkeypatch):
    served, taken = [], []

    class Watched:
        def __init__(self, words):
            self.inner, self.at = stream.Stream(words), 0

        def next(self):
            piece = self.inner.next().copy()
            served.append(piece)
            return piece

    real = packed.turn

    def watched(truth, own, other, fresh, noisy=None):
        done, used, ones = real(truth, own, other, fresh, noisy)
        start = fresh.__array_interface__["data"][0]
        taken.extend((start, start + 8 * used) for _ in [0] if used)
        return done, used, ones

    monkeypatch.setattr(packed, "Stream", Watched)
    monkeypatch.setattr(packed, "turn", watched)
    totals(Packed.of(rows), ch.PerValue(5, 1.0))
    spans = sorted(taken)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert len(served) >= 1


def test_two_streams_and_two_pieces_never_agree():
    one, two = stream.Stream(64), stream.Stream(64)
    first = one.next().copy()
    assert (first != two.next()).all()
    assert (first != one.next()).all()


def test_what_is_assumed_of_the_expansion_is_said():
    told = packed.guarantee(ch.PerValue(5, 1.0)).assumes
    assert any("AES" in one for one in told)


def test_words_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="words"):
        Packed(np.zeros((2, 3), dtype=np.uint64), 500)
