"""The attack on a mean operator that carries no noise: its labels, read back from one sum.

Half of the rows have 2^(m/2) signed sums, and so has the other half. The total fixes which pairs
belong together, so that sorting finds in about 2^(m/2) steps what trying all labels finds in 2^m.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suffice.core.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["recover_labels"]

_MOST_ROWS = 44
_EPSILON = 2.0**-52
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53)


def recover_labels(
    features: ArrayLike, total: ArrayLike, *, tolerance: float | None = None, most: int = 1000
) -> NDArray[np.int8]:
    """All labels in {-1, 1}^m whose sum of label times row is the total: one row each, at most `most`.

    One row in the answer means that the total gives every label away. `tolerance` is how far each
    coordinate may be off; left out, it is what rounding may do: nothing where all numbers are whole.
    Up to 44 rows; time and memory grow as 2^(m/2).
    """
    rows, goal = np.asarray(features, dtype=np.float64), np.asarray(total, dtype=np.float64)
    _check(rows, goal)
    allowed = _rounding(rows, goal) if tolerance is None else tolerance
    half = len(rows) // 2
    left, right = _signed_sums(rows[:half]), _signed_sums(rows[half:])
    found = [
        np.concatenate([_labels(one, half), _labels(two, len(rows) - half)])
        for one, two in _pairs(left, right, goal, allowed, most)
    ]
    return np.array(found, dtype=np.int8).reshape(len(found), len(rows))


def _pairs(
    left: NDArray[np.float64],
    right: NDArray[np.float64],
    goal: NDArray[np.float64],
    allowed: float,
    most: int,
) -> list[tuple[int, int]]:
    """Pairs of one sum from either half that add up to the goal, by a sorted mixture of coordinates."""
    weights = np.sqrt(np.resize(_PRIMES, len(goal)) + np.arange(len(goal)) // len(_PRIMES))
    mixed = left @ weights
    order = np.argsort(mixed)
    mixed, wanted = mixed[order], (goal - right) @ weights
    size = np.abs(mixed).max() + np.abs(wanted).max()
    slack = allowed * weights.sum() + 4 * len(goal) * _EPSILON * size
    first = np.searchsorted(mixed, wanted - slack, side="left")
    last = np.searchsorted(mixed, wanted + slack, side="right")
    pairs: list[tuple[int, int]] = []
    for two in np.flatnonzero(last > first):
        candidates = order[first[two] : last[two]]
        off = np.abs(left[candidates] + right[two] - goal).max(axis=1)
        pairs += [(int(one), int(two)) for one in candidates[off <= allowed]]
        if len(pairs) >= most:
            break
    return pairs[:most]


def _signed_sums(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """All 2^k sums of ± rows; bit i of the place of a sum says whether row i is added."""
    sums = np.zeros((1, rows.shape[1]))
    for row in rows:
        sums = np.concatenate([sums - row, sums + row])
    return sums


def _labels(place: int, count: int) -> NDArray[np.int8]:
    return np.where(place >> np.arange(count) & 1, 1, -1).astype(np.int8)


def _rounding(rows: NDArray[np.float64], goal: NDArray[np.float64]) -> float:
    """How far a sum of these numbers in doubles may be off, in any order of the terms."""
    size = float(np.abs(rows).sum(axis=0).max())
    whole = bool((rows == np.rint(rows)).all() and (goal == np.rint(goal)).all())
    return 0.0 if whole and size < 2.0**52 else 4 * len(rows) * _EPSILON * size


def _check(rows: NDArray[np.float64], goal: NDArray[np.float64]) -> None:
    if rows.ndim != 2 or goal.shape != rows.shape[1:]:
        raise InputError(
            f"features= has one row per label and total= one number per column, and got shapes "
            f"{rows.shape} and {goal.shape}."
        )
    if not 2 <= len(rows) <= _MOST_ROWS:
        raise InputError(f"The attack takes 2 to {_MOST_ROWS} rows, and got {len(rows)}. Give it fewer.")
