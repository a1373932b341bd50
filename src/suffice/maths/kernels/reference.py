"""The plain NumPy twins of the integer kernels: what runs without a compiler, and the oracle with one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from suffice.core.bounds import Norm, clip, integer_norm
from suffice.maths.kernels.plan import (
    LIMIT,
    Column,
    Levels,
    Number,
    Offence,
    Plan,
    Reason,
    Sums,
    check_labels,
    check_radius,
    finalise,
    lanes,
    row_count,
)

__all__ = ["encode", "mean_fold", "row_norms", "second_moment"]

Rows = NDArray[np.int64]
Bad = list[tuple[int, int, Reason]]

_BLOCK = 4096


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
    prints = np.zeros(2, np.uint64)
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
        if classes is None:
            totals[0] += _exact(label[None, :], short)[0]
        else:
            np.add.at(totals, label, short)
        if witness:
            feature_sum += block.sum(axis=0)
            prints += row_hashes(block).sum(axis=1, dtype=np.uint64)
    if not witness:
        return Sums(totals, clipped, rows)
    return Sums(totals, clipped, rows, feature_sum, (int(prints[0]), int(prints[1])))


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


def row_hashes(rows: Rows) -> NDArray[np.uint64]:
    """Two mixed multilinear hashes of each row, modulo 2^64."""
    starts, multipliers = lanes(rows.shape[1])
    words = rows.astype(np.uint64)
    return np.stack([finalise(starts[lane] + words @ multipliers[lane]) for lane in range(2)])


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
