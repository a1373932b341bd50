"""What a kernel is told: where each source column goes, and where its values lie in memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from suffice.core.bounds import Norm
from suffice.core.errors import InputError

__all__ = ["LIMIT", "Column", "Levels", "Number", "Offence", "Plan", "Sums", "Vectors", "lanes"]

LIMIT = 1 << 24
MOST_COORDINATES = 1 << 14
NUMBERS = tuple(np.dtype(kind) for kind in ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"))

Reason: TypeAlias = Literal["not finite", "too large", "level", "missing", "class"]

_SEED = 0x5EED0F5FF1CE0001
_GOLDEN = 0x9E3779B97F4A7C15


@final
@dataclass(frozen=True, slots=True)
class Number:
    """A numeric column: coordinate `offset` is rint(((x - centre)·inverse)·unit).

    Where the value is NULL the coordinate is `fill` grid units (None: the row is an offence), and
    coordinate `missing`, if there is one, holds the plan's level.
    """

    offset: int
    centre: float = 0.0
    inverse: float = 1.0
    fill: int | None = None
    missing: int | None = None


@final
@dataclass(frozen=True, slots=True)
class Levels:
    """A column of codes: code c in [0, levels) puts the plan's level at coordinate offset + c.

    Code -1 puts nothing anywhere, any other code is an offence. NULL goes to coordinate `missing`
    (None: the row is an offence).
    """

    offset: int
    levels: int
    missing: int | None = None


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """How one row of these columns becomes `width` integers, `unit` grid units to the one.

    The coordinate `intercept`, if there is one, holds `level` = rint(unit) in every row. With
    `saturate`, a finite number beyond the limit of 2^24 units is moved to it; otherwise it is an
    offence, as NaN and infinity always are.
    """

    columns: tuple[Number | Levels, ...]
    width: int
    unit: float
    intercept: int | None = None
    saturate: bool = False

    def __post_init__(self) -> None:
        """Refuse coordinates that overlap or lie outside, and arithmetic that no value survives."""
        taken = [place for column in self.columns for place in _places(column)]
        taken += [] if self.intercept is None else [self.intercept]
        if not 0 < self.width <= MOST_COORDINATES:
            raise InputError(f"a plan has 1 to {MOST_COORDINATES} coordinates, got {self.width}")
        if len(set(taken)) != len(taken) or any(not 0 <= place < self.width for place in taken):
            raise InputError(
                f"each coordinate of a plan is written by one column and lies in [0, {self.width})"
            )
        if not 0 < self.unit <= LIMIT:
            raise InputError(f"unit must lie above 0 and at most {LIMIT}, got {self.unit!r}")
        for column in self.columns:
            if isinstance(column, Number):
                _check_number(column)

    @property
    def level(self) -> int:
        """What a one-hot coordinate holds, in grid units."""
        return int(np.rint(self.unit))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The values of one column, where they lie: any stride, no copy.

    `valid` is a bitmap as Arrow lays it out (least significant bit first, from bit `valid_offset`),
    None if no value is NULL. `lookup` translates codes before the plan sees them.
    """

    values: NDArray[Any]
    valid: NDArray[np.uint8] | None = None
    valid_offset: int = 0
    lookup: NDArray[np.int32] | None = None

    def __post_init__(self) -> None:
        """Refuse arrays that a kernel cannot read."""
        if self.values.ndim != 1 or self.values.dtype not in NUMBERS:
            raise InputError(
                f"a column is a one-dimensional array of native floats or integers, got {self.values.dtype} "
                f"of {self.values.ndim} dimensions"
            )
        if self.valid is not None and len(self.valid) * 8 < self.valid_offset + len(self.values):
            raise InputError("the validity bitmap is shorter than its column")


@final
@dataclass(frozen=True, slots=True)
class Offence:
    """The first row that cannot be encoded: nothing was computed.

    `column` is its place in the plan; the label, where it is the label, comes after the last one.
    """

    row: int
    column: int
    reason: Reason


@final
@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """What one pass over rows adds up to, all of it exact.

    `totals` are the clipped rows times their sign, one row of it; or, for classes, one row per
    class. `clipped` is their plain sum. `reach` is the largest 1-norm, the largest squared 2-norm and the
    largest max norm of a clipped row. `feature_sum` and `fingerprint` are of the rows before clipping,
    and absent where no witness was asked for.
    """

    totals: NDArray[np.int64]
    clipped: NDArray[np.int64]
    count: int
    reach: tuple[int, int, int]
    feature_sum: NDArray[np.int64] | None = None
    fingerprint: tuple[int, int] | None = None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Clipped rows as float32 multiples of a power of two, and the witness of the rows before clipping."""

    rows: NDArray[np.float32]
    feature_sum: NDArray[np.int64]
    fingerprint: tuple[int, int]


def row_count(plan: Plan, columns: Sequence[Column]) -> int:
    """How many rows the columns hold; all the same, and as many columns as the plan has."""
    if len(columns) != len(plan.columns):
        raise InputError(f"the plan reads {len(plan.columns)} columns, got {len(columns)}")
    lengths = {len(column.values) for column in columns}
    if len(lengths) > 1:
        raise InputError(f"columns of one batch have one length, got {sorted(lengths)}")
    for told, column in zip(plan.columns, columns, strict=True):
        if isinstance(told, Levels) and column.values.dtype.kind == "f":
            raise InputError(f"codes are integers, got {column.values.dtype}")
    if not columns:
        raise InputError("a plan without columns knows no rows")
    return lengths.pop()


def check_radius(radius: int, norm: Norm) -> None:
    """A radius is a whole number of grid units, at least one; a norm one of three."""
    if radius < 1:
        raise InputError(f"a radius is at least one grid unit, got {radius}")
    if norm not in {1, 2, "inf"}:
        raise InputError(f"norm is 1, 2 or 'inf', got {norm!r}")


def check_scale(scale: float) -> float:
    """A power of two by which whole numbers of at most 2^24 stay exact as float32."""
    if not 2.0**-100 <= scale <= 1.0 or math.frexp(scale)[0] != 0.5:
        raise InputError(f"a scale is a power of two from 2^-100 to 1, got {scale!r}")
    return scale


def check_labels(labels: NDArray[np.signedinteger], rows: int) -> NDArray[np.signedinteger]:
    """Signs or class indices, one per row, as signed integers side by side."""
    if labels.shape != (rows,) or labels.dtype.kind != "i":
        raise InputError(f"labels are {rows} signed integers, got {labels.dtype} of shape {labels.shape}")
    return np.require(labels, requirements=["C", "A"])


@lru_cache(maxsize=16)
def lanes(width: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The public constants of the row hash: two starts, and two odd multipliers per coordinate.

    They are the splitmix64 stream of a fixed seed, and do not depend on the width.
    """
    with np.errstate(over="ignore"):
        steps = np.arange(1, 2 * width + 3, dtype=np.uint64) * np.uint64(_GOLDEN) + np.uint64(_SEED)
        drawn = finalise(steps)
    multipliers = np.ascontiguousarray((drawn[2:] | np.uint64(1)).reshape(width, 2).T)
    for array in (drawn, multipliers):
        array.flags.writeable = False
    return drawn[:2], multipliers


def finalise(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64, a bijection of 64-bit words."""
    mixed = state ^ (state >> np.uint64(30))
    mixed = mixed * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    finished: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return finished


def _places(column: Number | Levels) -> list[int]:
    own = (
        [column.offset]
        if isinstance(column, Number)
        else list(range(column.offset, column.offset + column.levels))
    )
    return own if column.missing is None else [*own, column.missing]


def _check_number(column: Number) -> None:
    if not (math.isfinite(column.centre) and math.isfinite(column.inverse) and column.inverse != 0):
        raise InputError(
            f"centre and inverse are finite, inverse not 0; got {column.centre!r} and {column.inverse!r}"
        )
    if column.fill is not None and abs(column.fill) > LIMIT:
        raise InputError(f"a fill lies within {LIMIT} grid units, got {column.fill}")
