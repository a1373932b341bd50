"""The pass over rows: value, gradient and Hessian of the even part; a kernel may take it over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from suffice.core.errors import InputError
from suffice.maths.linear_odd import LinearOdd

Array: TypeAlias = NDArray[np.float64]
Block: TypeAlias = NDArray[np.floating]
Rows: TypeAlias = Block | Iterable[Block]

_BLOCK = 8192


@final
@dataclass(frozen=True, slots=True)
class EvenPass:
    """(1/m) sum even(x_i theta), its gradient and (where asked for) Hessian, over `count` rows."""

    value: float
    gradient: Array
    hessian: Array | None
    count: int


def even_pass(
    loss: LinearOdd,
    X: Rows,
    theta: Array,
    want_hessian: bool = True,  # noqa: FBT001, FBT002  the order of the kernel's arguments
    weights: Array | None = None,
) -> EvenPass:
    """Read every row once. Rows may be float32: each block is widened, sums are float64.

    With weights the mean becomes (1/m) sum w_i even(x_i theta); they are in the order of the rows.
    """
    width = len(theta)
    value, gradient = 0.0, np.zeros(width)
    hessian = np.zeros((width, width)) if want_hessian else None
    count = 0
    for block in row_blocks(X):
        margins = block @ theta
        share = None if weights is None else weights[count : count + len(block)]
        count += len(block)
        value += float(_weighted(loss.even(margins), share).sum())
        gradient += block.T @ _weighted(loss.even_gradient(margins), share)
        if hessian is not None:
            bends = _weighted(loss.even_curvature(margins), share)
            hessian += block.T @ (block * bends[:, None])
    if count == 0:
        msg = "there are no rows to learn from"
        raise InputError(msg)
    if hessian is not None:
        hessian = (hessian + hessian.T) / (2 * count)
    return EvenPass(value / count, gradient / count, hessian, count)


def row_blocks(X: Rows) -> Iterator[Array]:
    """Cut an array, or each array of a re-iterable, into float64 blocks that stay in cache."""
    if isinstance(X, Iterator):
        msg = "rows are read more than once: give an array or a re-iterable of arrays, not an iterator"
        raise InputError(msg)
    for part in [X] if isinstance(X, np.ndarray) else X:
        for start in range(0, len(part), _BLOCK):
            yield np.asarray(part[start : start + _BLOCK], dtype=np.float64)


def _weighted(values: Array, share: Array | None) -> Array:
    return values if share is None else values * share
