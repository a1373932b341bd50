"""The kernel of noisy bits and its twin: the same bits from the same words, and the law of the thresholds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from suffice.maths.kernels import bit_plane
from suffice.maths.kernels.bit_plane import BITS, CHUNK, LEAST, turn, turn_plain


def words(seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64)


@pytest.mark.parametrize("count", [1, 7, CHUNK, CHUNK + 1, 1000])
@pytest.mark.parametrize(("own", "other"), [(1 << 52, 1), ((1 << 53) - 1, 12345), (3 << 50, 5 << 48)])
def test_the_kernel_and_its_twin_turn_the_same_bits(count, own, other):
    truth, fresh = words(1, count), words(2, 12 * count + LEAST)
    one, two = np.zeros_like(truth), np.zeros_like(truth)
    assert turn(truth, own, other, fresh, one) == turn_plain(truth, own, other, fresh, two)
    assert (one == two).all()
    assert turn(truth, own, other, fresh)[2] == np.bitwise_count(one).sum()


@pytest.mark.skipif(not bit_plane.COMPILED, reason="no compiler where this was installed")
def test_every_instruction_set_gives_the_same_bits():
    truth, fresh = words(3, 500), words(4, 12_000)
    made = []
    for lanes in (1, 2, 3):
        before = bit_plane._bits.limit_lanes(lanes)
        noisy = np.zeros_like(truth)
        made.append((bit_plane._bits.turn(truth, 1 << 51, 1 << 40, fresh, noisy), noisy.tobytes()))
        bit_plane._bits.limit_lanes(before)
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("way", [turn, turn_plain])
def test_too_few_random_words_leave_whole_chunks_undone(way):
    truth = words(5, 3 * CHUNK)
    assert way(truth, 5, 5, words(6, LEAST - 1))[:2] == (0, 0)
    done, used, _ = way(truth, 1 << 50, 1 << 50, words(6, LEAST))
    assert (done % CHUNK, done // CHUNK >= 1, used <= LEAST) == (0, True, True)


def test_lanes_are_on_exactly_where_their_random_number_is_below_the_threshold():
    truth, fresh = words(7, 4), words(8, BITS * 4)
    own, other = 0x15A5A5A5A5A5A5, 0x0123456789ABCD
    noisy = np.zeros_like(truth)
    turn(truth, own, other, fresh, noisy)
    for word in range(4):
        for lane in range(64):
            # until the word is decided its random bits are columns of the steps; compare them as numbers
            digits = first_digits(truth, own, other, fresh, word, lane)
            threshold = own if int(truth[word]) >> lane & 1 else other
            expected = digits < [threshold >> (BITS - 1 - k) & 1 for k in range(len(digits))]
            assert (int(noisy[word]) >> lane & 1) == expected


def first_digits(truth, own, other, fresh, word, lane):
    """Return the random bits that a lane saw up to the one that decided it."""
    threshold = own if int(truth[word]) >> lane & 1 else other
    active, used, digits = list(range(len(truth))), 0, []
    open_ = [(1 << 64) - 1] * len(truth)
    for step in range(BITS):
        if step >= 6:
            active = [w for w in active if open_[w]]
        for place, w in enumerate(active):
            drawn = int(fresh[used + place])
            limits = 0
            for bit in range(64):
                mine = own if int(truth[w]) >> bit & 1 else other
                limits |= (mine >> (BITS - 1 - step) & 1) << bit
            open_[w] &= ~(drawn ^ limits)
            if w == word:
                digits.append(drawn >> lane & 1)
        used += len(active)
        if digits[-1] != threshold >> (BITS - 1 - step) & 1:
            return digits
    return digits


def test_bits_are_on_with_their_probabilities_and_apart_from_each_other():
    truth = np.repeat(np.array([0, (1 << 64) - 1], dtype=np.uint64), 4000)
    noisy = np.zeros_like(truth)
    done, _, _ = turn(truth, 6 << 50, 3 << 49, words(9, 120_000), noisy)
    assert done == truth.size
    off, on = (np.unpackbits(noisy[part].view(np.uint8)) for part in (slice(4000), slice(4000, None)))
    assert stats.binomtest(int(off.sum()), off.size, 3 / 16).pvalue > 1e-4
    assert stats.binomtest(int(on.sum()), on.size, 6 / 8).pvalue > 1e-4
    lanes = np.unpackbits(noisy[4000:].view(np.uint8), bitorder="little").reshape(4000, 64)
    assert abs(np.corrcoef(lanes.T) - np.eye(64)).max() < 0.08
