"""The nearest rows of a table, found exactly and a block at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.core.errors import InputError

if TYPE_CHECKING:
    from suffice.core.fold import Progress

__all__ = ["nearest", "scales", "softened"]

Array: TypeAlias = NDArray[np.float64]

_CELLS = 1 << 24
_LEAST = 1e-3


def nearest(
    rows: Array, base: Array, count: int, *, itself: bool = False, progress: Progress | None = None
) -> tuple[NDArray[np.intp], Array]:
    """The `count` rows of `base` nearest to each of `rows`, and their squared distances, nearest first.

    With `itself`, rows and base are one table and no row is its own neighbour. Candidates are found by
    single-precision products, a block of 2^24 distances at a time; their distances are then computed as
    sums of squared differences in double precision.
    """
    if len(base) < count + itself:
        raise InputError(
            f"Each row needs {count} neighbours, and there are {len(base)} distinct rows to choose from. "
            "Ask for fewer neighbours, or give more rows."
        )
    small, sizes = base.astype(np.float32), np.square(base).sum(axis=1).astype(np.float32)
    places, squares = np.empty((len(rows), count), np.intp), np.empty((len(rows), count))
    step = max(1, _CELLS // len(base))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        apart = sizes - 2.0 * (block.astype(np.float32) @ small.T)
        if itself:
            apart[np.arange(len(block)), np.arange(start, start + len(block))] = np.inf
        found = np.argpartition(apart, count - 1, axis=1)[:, :count] if count < len(base) else _all(apart)
        exact = np.square(block[:, None, :] - base[found]).sum(axis=2)
        order = np.lexsort((found, exact), axis=1)
        places[start : start + step] = np.take_along_axis(found, order, axis=1)
        squares[start : start + step] = np.take_along_axis(exact, order, axis=1)
        if progress is not None:
            progress(start + len(block), len(rows))
    return places, squares


def softened(squares: Array, here: Array, there: Array, *, relative: bool = False) -> Array:
    """Self-tuning weights exp(-d²/(s·s')); `relative` makes the largest of each row one."""
    decay = squares / (here[:, None] * there)
    return np.asarray(np.exp(-(decay - decay.min(axis=1, keepdims=True) if relative else decay)))


def scales(squares: Array) -> tuple[Array, float]:
    """Each row's distance to its farthest neighbour, and the least distance that counts as one."""
    far = np.sqrt(squares[:, -1])
    least = _LEAST * float(np.median(far)) or 1.0
    return np.maximum(far, least), least


def _all(apart: NDArray[np.float32]) -> NDArray[np.intp]:
    return np.broadcast_to(np.arange(apart.shape[1]), apart.shape)
