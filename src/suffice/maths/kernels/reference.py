"""The plain NumPy twins of the kernels: what runs without a compiler, and the oracle with one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.core.bounds import Norm, clip, integer_norm
from suffice.maths.kernels.block import (
    STRIPE,
    EvenLoss,
    check_key,
    check_loss,
    check_rows,
    check_subsets,
    edge_too_large,
)
from suffice.maths.kernels.plan import (
    LIMIT,
    Column,
    Levels,
    Number,
    Offence,
    Plan,
    Reason,
    Sums,
    Vectors,
    check_labels,
    check_radius,
    check_scale,
    finalise,
    lanes,
    row_count,
)
from suffice.maths.linear_odd import LOSSES

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

Rows: TypeAlias = NDArray[np.int64]
Vector: TypeAlias = NDArray[np.float64]
Bad: TypeAlias = list[tuple[int, int, Reason]]

_BLOCK = 4096
_COLUMNS = tuple((i, 4 + i, 8 + i, 12 + i) for i in range(4))
_QUARTERS = (*_COLUMNS, *((i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4) for i in range(4)))


def encode(
    plan: Plan, columns: Sequence[Column], radius: int | None = None, norm: Norm = 2
) -> NDArray[np.int32] | Offence:
    """The rows as integers, one after the other; clipped, if a radius is given."""
    check_radius(1 if radius is None else radius, norm)
    rows = row_count(plan, columns)
    encoded = np.zeros((rows, plan.width), dtype=np.int32)
    for start in range(0, rows, _BLOCK):
        block = _block(plan, columns, start, min(start + _BLOCK, rows))
        if isinstance(block, Offence):
            return block
        encoded[start : start + _BLOCK] = block if radius is None else clip(block, norm, radius)
    return encoded


def vectors(
    plan: Plan, columns: Sequence[Column], *, radius: int, norm: Norm = 2, scale: float
) -> Vectors | Offence:
    """The clipped rows times a power of two, exact as float32, and the witness of the rows before."""
    check_radius(radius, norm)
    factor, rows = np.float32(check_scale(scale)), row_count(plan, columns)
    clipped = np.zeros((rows, plan.width), dtype=np.float32)
    feature_sum, prints = np.zeros(plan.width, np.int64), np.zeros(2, np.uint64)
    for start in range(0, rows, _BLOCK):
        block = _block(plan, columns, start, min(start + _BLOCK, rows))
        if isinstance(block, Offence):
            return block
        clipped[start : start + _BLOCK] = clip(block, norm, radius).astype(np.float32) * factor
        feature_sum += block.sum(axis=0)
        prints += row_hashes(block).sum(axis=1, dtype=np.uint64)
    return Vectors(clipped, feature_sum, (int(prints[0]), int(prints[1])))


def row_norms(
    plan: Plan, columns: Sequence[Column], norm: Norm = 2
) -> tuple[NDArray[np.int64], NDArray[np.uint64]] | Offence:
    """The integer norm of each unclipped row, and its lane-0 hash."""
    check_radius(1, norm)
    rows = row_count(plan, columns)
    norms, hashes = np.zeros(rows, np.int64), np.zeros(rows, np.uint64)
    for start in range(0, rows, _BLOCK):
        block = _block(plan, columns, start, min(start + _BLOCK, rows))
        if isinstance(block, Offence):
            return block
        norms[start : start + _BLOCK] = integer_norm(block, norm)
        hashes[start : start + _BLOCK] = row_hashes(block)[0]
    return norms, hashes


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
    found = check_labels(labels, rows).astype(np.int64)
    outside = np.abs(found) != 1 if classes is None else (found < 0) | (found >= classes)
    first = int(np.argmax(outside)) if outside.any() else rows
    totals = np.zeros((classes or 1, plan.width), np.int64)
    clipped, feature_sum = np.zeros(plan.width, np.int64), np.zeros(plan.width, np.int64)
    prints, reach = np.zeros(2, np.uint64), np.zeros(3, np.int64)
    for start in range(0, rows, _BLOCK):
        stop = min(start + _BLOCK, rows)
        block = _block(plan, columns, start, stop)
        if isinstance(block, Offence) or first < stop:
            return (
                block
                if isinstance(block, Offence) and block.row <= first
                else Offence(first, len(columns), "class")
            )
        short, label = clip(block, norm, radius), found[start : start + _BLOCK]
        clipped += short.sum(axis=0)
        reach = np.maximum(reach, _reach(short))
        if classes is None:
            totals[0] += _exact(label[None, :], short)[0]
        else:
            np.add.at(totals, label, short)
        if witness:
            feature_sum += block.sum(axis=0)
            prints += row_hashes(block).sum(axis=1, dtype=np.uint64)
    l1, l2, linf = reach.tolist()
    if not witness:
        return Sums(totals, clipped, rows, (l1, l2, linf))
    return Sums(totals, clipped, rows, (l1, l2, linf), feature_sum, (int(prints[0]), int(prints[1])))


def second_moment(
    plan: Plan, columns: Sequence[Column], *, radius: int, norm: Norm = 2
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | Offence:
    """Sum of q qᵀ over clipped rows, as two limbs: high·2^32 + low with 0 <= low < 2^32."""
    check_radius(radius, norm)
    rows = row_count(plan, columns)
    high, low = (np.zeros((plan.width, plan.width), np.int64) for _ in range(2))
    for start in range(0, rows, _BLOCK):
        block = _block(plan, columns, start, min(start + _BLOCK, rows))
        if isinstance(block, Offence):
            return block
        short = clip(block, norm, radius)
        low += _exact(short.T, short)  # at most 4096 · 2^48 = 2^60, and the carry below 2^32
        high += low >> 32
        low &= 0xFFFFFFFF
    return high, low


def join_pages(chunk: memoryview, count: int, item: int, out: Any, *, nullable: bool) -> bool:  # noqa: ARG001
    """It reads no pages: pyarrow, which decodes whatever is not joined, is the twin of this kernel."""
    return False


def even_pass(
    loss: EvenLoss,
    X: NDArray[Any],
    theta: NDArray[Any],
    *,
    weights: NDArray[Any] | None = None,
    want_hessian: bool = True,
) -> tuple[float, Vector, Vector | None]:
    """Sums over rows of the even part of the loss at x·theta, its gradient and its Hessian."""
    check_loss(loss)
    rows, point, shares = check_rows(X, theta, weights)
    told, value, gradient = LOSSES[loss], 0.0, np.zeros(len(point))
    hessian = np.zeros((len(point), len(point))) if want_hessian else None
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK].astype(np.float64)
        share = 1.0 if shares is None else shares[start : start + _BLOCK]
        margins = block @ point
        value += float((share * told.even(margins)).sum())
        gradient += block.T @ (share * told.even_gradient(margins))
        if hessian is not None:
            hessian += block.T @ (block * (share * told.even_curvature(margins))[:, None])
    return value, gradient, hessian


def sign_pass(X: NDArray[Any], u: NDArray[Any]) -> tuple[float, Vector]:
    """Sums of |x·u| and of sign(x·u) x over rows: the zonotope's support function, and where it is met."""
    rows, point, _ = check_rows(X, u, None)
    value, corner = 0.0, np.zeros(len(point))
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK].astype(np.float64)
        margins = block @ point
        value += float(np.abs(margins).sum())
        corner += block.T @ np.sign(margins)
    return value, corner


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
    if np.abs(edges.astype(np.int64)).max(initial=0) > LIMIT:
        raise edge_too_large()
    stripes = -(-len(edges) // STRIPE)
    sums = np.zeros((count, edges.shape[1]), np.int64)
    bits = np.arange(STRIPE, dtype=np.uint32)[:, None]
    for start in range(0, stripes, 64):
        stop = min(start + 64, stripes)
        words = (
            np.asarray(subsets)[start:stop]
            if key is None
            else rado_subsets(key, first + start, stop - start, count)
        )
        part = edges[start * STRIPE : stop * STRIPE].astype(np.int64)
        chosen = ((words[:, None, :] >> bits) & np.uint32(1)).reshape(-1, count)[: len(part)]
        sums += _exact(chosen.T.astype(np.int64), part)
    return sums


def rado_subsets(key: bytes, first: int, stripes: int, count: int) -> NDArray[np.uint32]:
    """The subsets of a key: word r of stripe s is word r of the ChaCha20 stream with nonce s (RFC 8439)."""
    check_key(key)
    blocks = -(-count // 16)
    start = np.zeros((16, stripes, blocks), np.uint32)
    head = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574)
    start[:4] = np.array(head, np.uint32)[:, None, None]
    start[4:12] = np.frombuffer(key, "<u4")[:, None, None]
    start[12] = np.arange(blocks, dtype=np.uint32)
    nonces = np.arange(first, first + stripes, dtype=np.uint64)[:, None]
    start[13], start[14] = nonces & np.uint64(0xFFFFFFFF), nonces >> np.uint64(32)
    state = start.copy()
    for _ in range(10):
        for a, b, c, d in _QUARTERS:
            _quarter(state, a, b, c, d)
    words: NDArray[np.uint32] = (state + start).transpose(1, 2, 0).reshape(stripes, 16 * blocks)
    return np.ascontiguousarray(words[:, :count])


def _quarter(state: NDArray[np.uint32], a: int, b: int, c: int, d: int) -> None:
    for one, two, three, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        state[one] += state[two]
        mixed = state[three] ^ state[one]
        state[three] = (mixed << np.uint32(turn)) | (mixed >> np.uint32(32 - turn))


def row_hashes(rows: Rows) -> NDArray[np.uint64]:
    """Two mixed multilinear hashes of each row, modulo 2^64."""
    starts, multipliers = lanes(rows.shape[1])
    words = rows.astype(np.uint64)
    return np.stack([finalise(starts[lane] + words @ multipliers[lane]) for lane in range(2)])


def _reach(rows: Rows) -> list[int]:
    """The largest 1-norm, squared 2-norm and max norm of these rows."""
    sizes = np.abs(rows)
    norms = sizes.sum(axis=1), np.einsum("ij,ij->i", rows, rows), sizes
    return [int(norm.max(initial=0)) for norm in norms]


def _exact(left: Rows, right: Rows) -> Rows:
    """A product of whole numbers, by BLAS where no partial sum can leave the integers of a double."""
    most = int(np.abs(left).max(initial=0)) * int(np.abs(right).max(initial=0)) * len(right)
    if most >= 1 << 53:
        return left @ right
    return (left.astype(np.float64) @ right.astype(np.float64)).astype(np.int64)


def _block(plan: Plan, columns: Sequence[Column], start: int, stop: int) -> Rows | Offence:
    rows = np.zeros((stop - start, plan.width), dtype=np.int64)
    bad: Bad = []
    for place, (told, column) in enumerate(zip(plan.columns, columns, strict=True)):
        valid = _valid(column, start, stop)
        values = column.values[start:stop]
        if isinstance(told, Number):
            _put_number(plan, told, values, valid, rows, bad, place)
        else:
            codes = values if column.lookup is None else _looked_up(column.lookup, values, valid)
            _put_levels(plan, told, codes, valid, rows, bad, place)
        refused = told.fill is None if isinstance(told, Number) else told.missing is None
        if not valid.all() and refused:
            bad.append((int(np.argmin(valid)), place, "missing"))
        if told.missing is not None:
            rows[~valid, told.missing] = plan.level
    if plan.intercept is not None:
        rows[:, plan.intercept] = plan.level
    if bad:
        row, place, reason = min(bad, key=lambda one: one[:2])
        return Offence(start + row, place, reason)
    return rows


def _valid(column: Column, start: int, stop: int) -> NDArray[np.bool_]:
    if column.valid is None:
        return np.ones(stop - start, dtype=bool)
    first = column.valid_offset + start
    last = column.valid_offset + stop
    bits = np.unpackbits(column.valid[first // 8 : (last + 7) // 8], bitorder="little")
    return bits[first % 8 : first % 8 + stop - start].astype(bool)


def _put_number(
    plan: Plan,
    told: Number,
    values: NDArray[np.generic],
    valid: NDArray[np.bool_],
    rows: Rows,
    bad: Bad,
    place: int,
) -> None:
    wide = values.astype(np.float64)
    with np.errstate(all="ignore"):
        scaled = np.rint((wide - told.centre) * told.inverse * plan.unit)
    odd = valid & ~np.isfinite(wide)
    large = valid & ~odd & ~(np.abs(scaled) <= LIMIT)
    if odd.any():
        bad.append((int(np.argmax(odd)), place, "not finite"))
    if large.any() and not plan.saturate:
        bad.append((int(np.argmax(large)), place, "too large"))
    kept = np.where(valid & ~odd, np.clip(scaled, -LIMIT, LIMIT), float(told.fill or 0))
    rows[:, told.offset] = kept.astype(np.int64)


def _looked_up(
    lookup: NDArray[np.int32], codes: NDArray[np.generic], valid: NDArray[np.bool_]
) -> NDArray[np.int64]:
    wide = np.where(valid, codes, -1).astype(np.int64)
    inside = (wide >= 0) & (wide < len(lookup))
    found = np.full(len(wide), -2, dtype=np.int64)
    found[inside] = lookup[wide[inside]]
    return found


def _put_levels(
    plan: Plan,
    told: Levels,
    codes: NDArray[np.generic],
    valid: NDArray[np.bool_],
    rows: Rows,
    bad: Bad,
    place: int,
) -> None:
    wide = np.where(valid, codes, -1)
    unknown = valid & ((wide < -1) | (wide >= told.levels))
    if unknown.any():
        bad.append((int(np.argmax(unknown)), place, "level"))
    present = np.flatnonzero(~unknown & (wide >= 0))
    rows[present, told.offset + wide[present].astype(np.int64)] = plan.level
