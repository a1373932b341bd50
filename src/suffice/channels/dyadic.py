"""Draws whose probabilities are whole numbers over 2^53, from the operating system's randomness.

A word of 53 fresh bits is compared with thresholds, so an event has exactly the probability that
its counts say. Every such probability is a double, so `probability` loses nothing.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from suffice.core.errors import InputError
from suffice.core.randomness import octets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["BITS", "WHOLE", "counts", "events", "permutations", "probability", "words"]

BITS = 53
WHOLE = 1 << BITS
_SHIFT = np.uint64(64 - BITS)
_BLOCK = 1 << 18


def words(count: int) -> NDArray[np.uint64]:
    """Fresh whole numbers, uniform below 2^53."""
    return np.frombuffer(octets(8 * count), dtype=np.uint64) >> _SHIFT


def events(thresholds: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """One independent yes or no for each threshold, yes with probability threshold / 2^53."""
    flat = np.ascontiguousarray(thresholds).ravel()
    happened = np.empty(flat.size, dtype=np.bool_)
    for at in range(0, flat.size, _BLOCK):
        part = flat[at : at + _BLOCK]
        happened[at : at + _BLOCK] = words(part.size) < part
    return happened.reshape(thresholds.shape)


def permutations(rows: int, width: int) -> NDArray[np.intp]:
    """Independent orders of 0, ..., width - 1, each exactly as likely as any other.

    They sort fresh words; a row in which two words are equal is drawn again.
    """
    keys = words(rows * width).reshape(rows, width)
    order = np.argsort(keys, axis=1)
    ordered = np.take_along_axis(keys, order, axis=1)
    ties = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if ties.size:
        order[ties] = permutations(ties.size, width)
    return order


def counts(shares: Sequence[Fraction], *, whole: int = WHOLE) -> list[int]:
    """Whole numbers that add up to `whole`, within one of their shares; no positive share becomes zero."""
    total = sum(shares, start=Fraction(0))
    if total <= 0 or min(shares) < 0:
        raise InputError(f"Probabilities are not negative and add up to 1; these add up to {float(total):g}.")
    exact = [part * whole / total for part in shares]
    given = [max(int(part), 1 if part else 0) for part in exact]
    order = sorted(range(len(exact)), key=lambda at: given[at] - exact[at])
    left = whole - sum(given)
    for at in order[: max(left, 0)]:
        given[at] += 1
    if left < 0:
        given[max(range(len(given)), key=given.__getitem__)] += left
    return given


def probability(count: int) -> float:
    """The count over 2^53, exactly."""
    return count / WHOLE
