"""What an attacker computes from one noisy release to tell two worlds apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SCORES", "granularity", "scores"]

_NOTHING = 1100  # the granularity of zero: more than that of any double
_DIGITS = 53


def scores(noisy: NDArray[Any], here: NDArray[Any], there: NDArray[Any]) -> dict[str, NDArray[np.float64]]:
    """One number per release and way of attack, large where the release looks like `there`.

    The distances in the three norms are, up to their scale, the log-likelihood ratios of the noise
    laws that depend on such a norm; the projection is that of normal noise. The grain is the lowest
    binary digit that is not zero, of the number that moves most: there floating-point noise shows.
    """
    off = np.asarray(noisy, dtype=np.float64) - np.asarray(here, dtype=np.float64)
    move = np.asarray(there, dtype=np.float64) - np.asarray(here, dtype=np.float64)
    rest = off - move
    size, left = np.abs(off), np.abs(rest)
    return {
        "1-norm": size.sum(axis=1) - left.sum(axis=1),
        "2-norm": np.linalg.norm(off, axis=1) - np.linalg.norm(rest, axis=1),
        "max norm": size.max(axis=1) - left.max(axis=1),
        "projection": off @ move,
        "grain": granularity(noisy)[:, int(np.argmax(np.abs(move)))],
    }


SCORES = ("1-norm", "2-norm", "max norm", "projection", "grain")


def granularity(values: NDArray[Any]) -> NDArray[np.float64]:
    """The place of the lowest binary digit of each number that is not zero: 0 for odd whole numbers."""
    array = np.asarray(values)
    if array.dtype.kind == "f":
        fraction, exponent = np.frexp(array)
        whole = np.abs(np.ldexp(fraction, _DIGITS)).astype(np.int64)
        place = exponent.astype(np.int64) - _DIGITS
    else:
        whole, place = np.abs(array.astype(np.int64)), np.zeros(array.shape, np.int64)
    lowest = np.where(whole == 0, 1, whole & -whole).astype(np.float64)
    return np.where(whole == 0, float(_NOTHING), place + np.log2(lowest))
