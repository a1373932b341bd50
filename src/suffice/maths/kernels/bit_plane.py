"""Noisy bits of packed truths, 64 to a word, from random words that the caller brings.

A lane compares random bits with the bits of its threshold, the highest first, and is decided by the
first that differ. `turn` is the compiled kernel where there is one, and otherwise `turn_plain`,
its NumPy twin; both take the same random words in the same order and give the same bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

try:
    from suffice.maths.kernels import _bits

    COMPILED = True
except ImportError:  # no compiler where this was installed
    COMPILED = False

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BITS", "CHUNK", "COMPILED", "LEAST", "turn", "turn_plain"]

BITS = 53
CHUNK = 128
LEAST = BITS * CHUNK  # so many random words are always enough for one chunk
_FRONT = 6
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_NONE = np.uint64(0)


def turn(
    truth: NDArray[np.uint64],
    own: int,
    other: int,
    fresh: NDArray[np.uint64],
    noisy: NDArray[np.uint64] | None = None,
) -> tuple[int, int, int]:
    """Turn bits on with probability own/2^53 where the truth is on, and other/2^53 where it is off.

    Whole chunks are done while enough random words are left. Returned are the words done, the random
    words used, and how many bits are on; the bits themselves are written to `noisy`.
    """
    if COMPILED:
        return _bits.turn(truth, own, other, fresh, noisy)
    return turn_plain(truth, own, other, fresh, noisy)


def turn_plain(
    truth: NDArray[np.uint64],
    own: int,
    other: int,
    fresh: NDArray[np.uint64],
    noisy: NDArray[np.uint64] | None = None,
) -> tuple[int, int, int]:
    """The same by NumPy."""
    done = used = ones = 0
    while done < truth.size:
        part = truth[done : done + CHUNK]
        if fresh.size - used < BITS * part.size:
            break
        bits, taken = _chunk(part, own, other, fresh[used:])
        if noisy is not None:
            noisy[done : done + part.size] = bits
        done, used, ones = done + part.size, used + taken, ones + int(np.bitwise_count(bits).sum())
    return done, used, ones


def _chunk(
    truth: NDArray[np.uint64], own: int, other: int, fresh: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], int]:
    below, undecided = np.zeros_like(truth), np.full_like(truth, _ALL)
    left, used = np.arange(truth.size), 0
    for step in range(BITS):
        if step >= _FRONT:
            left = left[undecided[left] != 0]
            if not left.size:
                break
        one, two = (_ALL if count >> (BITS - 1 - step) & 1 else _NONE for count in (own, other))
        true = truth[left]
        limit = (true & one) | (~true & two)
        differ = undecided[left] & (fresh[used : used + left.size] ^ limit)
        below[left] |= differ & limit
        undecided[left] &= ~differ
        used += left.size
    return below, used
