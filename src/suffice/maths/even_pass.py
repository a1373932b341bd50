"""One pass over rows: value, gradient and Hessian of the even part, by a kernel where the loss has one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from suffice.core.errors import InputError
from suffice.maths import kernels
from suffice.maths.kernels import EVEN, EvenLoss
from suffice.maths.linear_odd import LOSSES, LinearOdd
from suffice.maths.piece import in_pieces

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
    name, width = _kernel(loss), len(theta)
    value, gradient = 0.0, np.zeros(width)
    hessian = np.zeros((width, width)) if want_hessian else None
    count = 0
    for block in row_blocks(X) if name is None else parts(X):
        share = None if weights is None else weights[count : count + len(block)]
        count += len(block)
        for part in (
            [_terms(loss, np.asarray(block, dtype=np.float64), theta, want_hessian, share)]
            if name is None
            else _passes(name, block, theta, want_hessian, share)
        ):
            value += part[0]
            gradient += part[1]
            if hessian is not None and part[2] is not None:
                hessian += part[2]
    if count == 0:
        msg = "there are no rows to learn from"
        raise InputError(msg)
    if hessian is not None:
        hessian = (hessian + hessian.T) / (2 * count)
    return EvenPass(value / count, gradient / count, hessian, count)


def row_blocks(X: Rows) -> Iterator[Array]:
    """Cut an array, or each array of a re-iterable, into float64 blocks that stay in cache."""
    for part in parts(X):
        for start in range(0, len(part), _BLOCK):
            yield np.asarray(part[start : start + _BLOCK], dtype=np.float64)


def narrowed(rows: Block) -> Block:
    """The same numbers as float32 where that loses nothing, as on a grid: half as much to read."""
    if rows.dtype == np.float32:
        return rows
    small = np.empty(rows.shape, dtype=np.float32)
    with np.errstate(over="ignore"):
        for start in range(0, len(rows), _BLOCK):
            block, kept = rows[start : start + _BLOCK], small[start : start + _BLOCK]
            kept[...] = block
            if not (kept == block).all():
                return rows
    return small


def second_moment(X: Rows, width: int, weights: Array | None = None) -> Array:
    """(1/m) sum w_i x_i x_i'."""
    part = even_pass(LOSSES["square"], X, np.zeros(width), True, weights)
    if part.hessian is None:
        raise InputError("A pass with a Hessian gave none.")
    return part.hessian / 2.0


def parts(X: Rows) -> Iterable[Block]:
    """The array, or the arrays of a re-iterable, as they are."""
    if isinstance(X, Iterator):
        msg = "rows are read more than once: give an array or a re-iterable of arrays, not an iterator"
        raise InputError(msg)
    return [X] if isinstance(X, np.ndarray) else X


def _kernel(loss: LinearOdd) -> EvenLoss | None:
    """The name of the kernel for this loss; a loss of one's own has none, whatever it is called."""
    return next((name for name in EVEN if LOSSES[name] == loss), None)


def _passes(
    name: EvenLoss,
    block: Block,
    theta: Array,
    want_hessian: bool,  # noqa: FBT001
    share: Array | None,
) -> list[tuple[float, Array, Array | None]]:
    """The kernel over each piece of a block."""

    def run(piece: slice) -> tuple[float, Array, Array | None]:
        weights = None if share is None else share[piece]
        return kernels.even_pass(name, block[piece], theta, weights=weights, want_hessian=want_hessian)

    return in_pieces(len(block), run)


def _terms(
    loss: LinearOdd,
    block: Array,
    theta: Array,
    want_hessian: bool,  # noqa: FBT001
    share: Array | None,
) -> tuple[float, Array, Array | None]:
    margins = block @ theta
    value = float(_weighted(loss.even(margins), share).sum())
    gradient = block.T @ _weighted(loss.even_gradient(margins), share)
    if not want_hessian:
        return value, gradient, None
    bends = _weighted(loss.even_curvature(margins), share)
    return value, gradient, block.T @ (block * bends[:, None])


def _weighted(values: Array, share: Array | None) -> Array:
    return values if share is None else values * share
