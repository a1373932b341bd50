"""The compiled kernels, under the names of their twins: what they were told and its buffers go to C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.core.bounds import Norm
from suffice.maths.kernels import _even, _fold, _page, _rado
from suffice.maths.kernels.block import (
    EVEN,
    EvenLoss,
    check_key,
    check_loss,
    check_rows,
    check_subsets,
    edge_too_large,
)
from suffice.maths.kernels.plan import (
    NUMBERS,
    Column,
    Number,
    Offence,
    Plan,
    Reason,
    Sums,
    Vectors,
    check_labels,
    check_radius,
    check_scale,
    lanes,
    row_count,
)

__all__ = [
    "encode",
    "even_pass",
    "join_pages",
    "mean_fold",
    "rado_fold",
    "rado_subsets",
    "row_norms",
    "second_moment",
    "sign_pass",
    "vectors",
]

_UNBOUNDED = 1 << 40  # no norm of a row reaches it
_OUTPUTS = ("totals", "clipped", "feature_sum", "norms", "hashes", "encoded", "high", "low", "reach")
_NO_FILL = -(1 << 63)


def encode(
    plan: Plan, columns: Sequence[Column], radius: int | None = None, norm: Norm = 2
) -> NDArray[np.int32] | Offence:
    """The rows as integers, one after the other; clipped, if a radius is given."""
    check_radius(1 if radius is None else radius, norm)
    encoded = np.zeros((row_count(plan, columns), plan.width), dtype=np.int32)
    found = _fold_with(plan, columns, _UNBOUNDED if radius is None else radius, norm, encoded=encoded)
    return found if isinstance(found, Offence) else encoded


def vectors(
    plan: Plan, columns: Sequence[Column], *, radius: int, norm: Norm = 2, scale: float
) -> Vectors | Offence:
    """The clipped rows times a power of two, exact as float32, and the witness of the rows before."""
    check_radius(radius, norm)
    rows = np.zeros((row_count(plan, columns), plan.width), dtype=np.float32)
    feature_sum = np.zeros(plan.width, np.int64)
    found = _fold_with(
        plan, columns, radius, norm, scale=check_scale(scale), encoded=rows, feature_sum=feature_sum
    )
    return found if isinstance(found, Offence) else Vectors(rows, feature_sum, found or (0, 0))


def row_norms(
    plan: Plan, columns: Sequence[Column], norm: Norm = 2
) -> tuple[NDArray[np.int64], NDArray[np.uint64]] | Offence:
    """The integer norm of each unclipped row, and its lane-0 hash."""
    check_radius(1, norm)
    rows = row_count(plan, columns)
    norms, hashes = np.zeros(rows, np.int64), np.zeros(rows, np.uint64)
    scratch = np.zeros(plan.width, np.int64)
    found = _fold_with(plan, columns, _UNBOUNDED, norm, norms=norms, hashes=hashes, feature_sum=scratch)
    return found if isinstance(found, Offence) else (norms, hashes)


def mean_fold(
    plan: Plan,
    columns: Sequence[Column],
    labels: NDArray[np.signedinteger],
    *,
    radius: int,
    norm: Norm = 2,
    classes: int | None = None,
    witness: bool = True,
) -> Sums | Offence:
    """Clip every row and add it up: times its sign (-1 or +1), or into the total of its class."""
    check_radius(radius, norm)
    rows = row_count(plan, columns)
    given = check_labels(labels, rows)
    totals = np.zeros((classes or 1, plan.width), np.int64)
    clipped = np.zeros(plan.width, np.int64)
    feature_sum = np.zeros(plan.width, np.int64) if witness else None
    reach = np.zeros(3, np.int64)
    found = _fold_with(
        plan,
        columns,
        radius,
        norm,
        (given, classes or 0),
        totals=totals,
        clipped=clipped,
        feature_sum=feature_sum,
        reach=reach,
    )
    if isinstance(found, Offence):
        return found
    l1, l2, linf = reach.tolist()
    return Sums(totals, clipped, rows, (l1, l2, linf), feature_sum, found)


def second_moment(
    plan: Plan, columns: Sequence[Column], *, radius: int, norm: Norm = 2
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | Offence:
    """Sum of q qᵀ over clipped rows, as two limbs: high·2^32 + low with 0 <= low < 2^32."""
    check_radius(radius, norm)
    high, low = (np.zeros((plan.width, plan.width), np.int64) for _ in range(2))
    found = _fold_with(plan, columns, radius, norm, high=high, low=low)
    if isinstance(found, Offence):
        return found
    return high + np.tril(high, -1).T, low + np.tril(low, -1).T


def join_pages(chunk: memoryview, count: int, item: int, out: Any, *, nullable: bool) -> bool:
    """Whether a chunk of Parquet holds `count` plain numbers of `item` bytes; if so they are in `out`."""
    return _page.join(chunk, count, nullable, item, out)


def even_pass(
    loss: EvenLoss,
    X: NDArray[Any],
    theta: NDArray[Any],
    *,
    weights: NDArray[Any] | None = None,
    want_hessian: bool = True,
) -> tuple[float, NDArray[np.float64], NDArray[np.float64] | None]:
    """Sums over rows of the even part of the loss at x·theta, its gradient and its Hessian."""
    place = check_loss(loss)
    rows, point, shares = check_rows(X, theta, weights)
    gradient = np.zeros(len(point))
    hessian = np.zeros((len(point), len(point))) if want_hessian else None
    value = _even.even(rows, point, shares, place, gradient, hessian)
    return value, gradient, hessian


def sign_pass(X: NDArray[Any], u: NDArray[Any]) -> tuple[float, NDArray[np.float64]]:
    """Sums of |x·u| and of sign(x·u) x over rows: the zonotope's support function, and where it is met."""
    rows, point, _ = check_rows(X, u, None)
    corner = np.zeros(len(point))
    return _even.even(rows, point, None, len(EVEN), corner, None), corner


def rado_fold(
    edges: NDArray[np.int32],
    count: int,
    *,
    subsets: NDArray[np.uint32] | None = None,
    key: bytes | None = None,
    first: int = 0,
) -> NDArray[np.int64]:
    """Each of `count` rows of the answer is the sum of the edges in its subset.

    Edge 32·s + k is in subset r if bit k of word (s, r) is set: of `subsets`, or of those that the
    key draws from stripe `first` on.
    """
    check_subsets(edges, count, subsets, key)
    sums = np.zeros((count, edges.shape[1]), np.int64)
    words = None if subsets is None else np.ascontiguousarray(subsets)
    rows = edges if edges.strides[1] == edges.itemsize else np.ascontiguousarray(edges)
    if not _rado.rado(rows, words, key, first, sums):
        raise edge_too_large()
    return sums


def rado_subsets(key: bytes, first: int, stripes: int, count: int) -> NDArray[np.uint32]:
    """The subsets of a key: word r of stripe s is word r of the ChaCha20 stream with nonce s (RFC 8439)."""
    check_key(key)
    words = np.zeros((stripes, count), np.uint32)
    _rado.words(key, first, words)
    return words


def _fold_with(
    plan: Plan,
    columns: Sequence[Column],
    radius: int,
    norm: Norm,
    labels: tuple[NDArray[Any] | None, int] = (None, 0),
    scale: float = 0.0,
    **outputs: NDArray[Any] | None,
) -> tuple[int, int] | Offence | None:
    """Run the pass; the outputs that are named are written."""
    given, classes = labels
    witness = outputs.get("feature_sum") is not None
    found: tuple[int, int] | tuple[int, int, Reason] | None = _fold.fold(
        _words(plan, columns),
        np.array([_scales(told) for told in plan.columns], dtype=np.float64),
        tuple((column.values, column.valid, column.lookup) for column in columns),
        (
            row_count(plan, columns),
            plan.width,
            plan.level,
            -1 if plan.intercept is None else plan.intercept,
            int(plan.saturate),
            0 if norm == "inf" else norm,
            int(witness),
            classes,
            min(radius, _UNBOUNDED),
        ),
        plan.unit,
        lanes(plan.width),
        given,
        1 if given is None else given.dtype.itemsize,
        tuple(outputs.get(name) for name in _OUTPUTS),
        scale,
    )
    return Offence(*found) if found is not None and len(found) == 3 else found


def _words(plan: Plan, columns: Sequence[Column]) -> NDArray[np.int64]:
    """Kind, type, offset, levels, fill, missing and first validity bit of each column."""
    words = np.zeros((len(columns), 7), dtype=np.int64)
    for row, told, column in zip(words, plan.columns, columns, strict=True):
        missing = -1 if told.missing is None else told.missing
        kind = NUMBERS.index(column.values.dtype)
        if isinstance(told, Number):
            fill = _NO_FILL if told.fill is None else told.fill
            row[:] = (0, kind, told.offset, 0, fill, missing, column.valid_offset)
        else:
            row[:] = (1, kind, told.offset, told.levels, 0, missing, column.valid_offset)
    return words


def _scales(told: object) -> tuple[float, float]:
    return (told.centre, told.inverse) if isinstance(told, Number) else (0.0, 1.0)
