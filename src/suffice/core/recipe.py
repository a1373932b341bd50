"""How a row becomes a vector: the contract that both sides carry out bit for bit.

A coordinate of a number is (value - centre)·(1/scale), as two rounded double operations; one of
a level is 0 or 1; the last is the constant 1 if there is an intercept. The vector is divided by
√d, d counting every coordinate, so that a row of moderate values has a norm near one. On the
grid it is rint(coordinate · 2^bits/√d).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from suffice.core.column import COLUMNS, Categorical, Coded, Column, Measured, Numeric
from suffice.core.errors import BoundsError, InputError, SchemaError
from suffice.core.fold import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from suffice.core.fold import Progress
    from suffice.core.protocols import Source

__all__ = ["LIMIT", "MOST_COLUMNS", "Recipe"]

LIMIT = 1 << 24
MOST_COLUMNS = 1 << 14
_MOST_LEVELS = 1000
_POINT = 1200


@final
@dataclass(frozen=True, slots=True)
class Recipe:
    """The columns of a vector, in order, and whether they were given or learned from rows.

    `names` are those of its coordinates, the intercept last.
    """

    columns: tuple[Column, ...]
    intercept: bool = True
    origin: Literal["given", "learned"] = "given"
    names: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse empty recipes, repeated coordinates and too many of them."""
        object.__setattr__(self, "columns", tuple(self.columns))
        odd = [column for column in self.columns if not isinstance(column, COLUMNS)]
        if odd:
            raise InputError(
                f"A recipe is made of Numeric, Categorical, Hashed and Cross, and got {odd[0]!r}."
            )
        if not self.columns:
            raise InputError("A recipe needs at least one column.")
        width = sum(column.width() for column in self.columns) + self.intercept
        if width > MOST_COLUMNS:
            raise BoundsError(f"A recipe makes at most {MOST_COLUMNS} coordinates, and this one {width}.")
        named = tuple(name for column in self.columns for name in column.names())
        names = (*named, "intercept") if self.intercept else named
        object.__setattr__(self, "names", names)
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"The recipe makes the coordinate {twice!r} twice. Name each column once.")

    @classmethod
    def of(cls, features: Recipe | Sequence[str], *, intercept: bool = True) -> Recipe:
        """A recipe as it is, or names taken as numbers as they are."""
        if isinstance(features, Recipe):
            return features
        if isinstance(features, str):
            raise InputError(f"features= is a recipe or a list of names; write [{features!r}].")
        return cls(tuple(Numeric(name) for name in features), intercept=intercept)

    @classmethod
    def learn(
        cls,
        source: Source,
        *,
        columns: Sequence[str],
        missing: Literal["refuse", "indicate"] = "refuse",
        unseen: Literal["refuse", "other"] = "refuse",
        intercept: bool = True,
        workers: int = 1,
        progress: Progress | None = None,
    ) -> Recipe:
        """Standardise the numbers and list the levels of these columns, from the rows of a source.

        What is learned is a function of the multiset of rows. It is only fit for release where
        the unit makes every one of these columns public.
        """
        for name in columns:
            if name not in source.schema.names:
                raise SchemaError.missing_column(name, source.schema.names)
        gathered = fold(_Learning(tuple(columns), source.schema), source, workers=workers, progress=progress)
        learned = tuple(gathered[name].column(name, missing, unseen) for name in columns)
        return cls(learned, intercept=intercept, origin="learned")

    @property
    def dimension(self) -> int:
        """How many coordinates a vector has."""
        return len(self.names)

    def reads(self) -> tuple[str, ...]:
        """The source columns that are read, each once, in order."""
        return tuple(dict.fromkeys(name for column in self.columns for name in column.reads()))

    def unit(self, bits: int) -> float:
        """Grid units per one of a coordinate: 2^bits/√d as one double."""
        return float(2**bits) / math.sqrt(self.dimension)

    def encode(self, batch: pa.RecordBatch) -> list[Measured | Coded]:
        """The coordinates of a batch, column by column, before any arithmetic."""
        encoded: list[Measured | Coded] = []
        offset = 0
        for column in self.columns:
            encoded += column.encode(batch, offset)
            offset += column.width()
        if self.intercept:
            encoded.append(Coded(np.zeros(batch.num_rows, np.int32), offset, 1, "intercept"))
        return encoded

    def grid(self, batch: pa.RecordBatch, bits: int) -> NDArray[np.int64]:
        """The vectors of a batch on the integer grid, one row each."""
        unit = self.unit(bits)
        rows = np.zeros((batch.num_rows, self.dimension), dtype=np.int64)
        for part in self.encode(batch):
            if isinstance(part, Coded):
                present = np.flatnonzero(part.codes >= 0)
                rows[present, part.offset + part.codes[present]] = round(unit)
            else:
                rows[:, part.offset] = on_grid(part, unit)
        return rows

    def apply(self, frame: object, *, bits: int = 20) -> NDArray[np.float64]:
        """The vectors of an Arrow table, record batch or any frame that hands itself over as Arrow."""
        table = frame if isinstance(frame, pa.Table) else pa.table(frame)
        for name in self.reads():
            if name not in table.column_names:
                raise SchemaError.missing_column(name, table.column_names)
        parts = [self.grid(batch, bits) for batch in table.combine_chunks().to_batches()]
        rows = np.concatenate(parts) if parts else np.zeros((0, self.dimension), dtype=np.int64)
        return rows.astype(np.float64) * 2.0**-bits


def on_grid(part: Measured, unit: float) -> NDArray[np.int64]:
    """rint((value - centre)·inverse·unit), each operation rounded to double; finite and within the limit."""
    scaled = (part.values.astype(np.float64) - part.centre) * part.inverse * unit
    return check_grid(part, np.rint(scaled))


def check_grid(part: Measured, scaled: NDArray[np.float64]) -> NDArray[np.int64]:
    """The rounded values as integers, or the error that names the first one that cannot be used."""
    bad = ~(np.abs(scaled) <= LIMIT)
    if bad.any():
        row = int(np.argmax(bad))
        raise unusable(part, row, float(part.values[row]))
    return scaled.astype(np.int64)


def unusable(part: Measured, row: int, number: float) -> SchemaError | BoundsError:
    """The error for a number that is missing, infinite or beyond the grid."""
    if math.isnan(number):
        remedy = f"Fill it in, or state missing='indicate' or a value: Numeric({part.source!r}, missing=...)."
        return SchemaError.bad_value(part.source, row, "no value (NULL or NaN)", remedy)
    if math.isinf(number):
        return SchemaError.bad_value(part.source, row, f"{number}", "Replace or remove infinite values.")
    return BoundsError(
        f"In column {part.source!r}, row {row} there is {number:g}, which lies beyond the grid. "
        f"Centre and scale the column, Numeric({part.source!r}, centre=..., scale=...) or "
        "sf.Recipe.learn(source, columns=[...]), so that values stay within about 16 times the square root "
        "of the number of columns; where a learned one has values farther out, take a coarser grid: bits=18."
    )


@final
@dataclass(frozen=True, slots=True)
class _Learned:
    """What learning keeps of a column: exact sums of its numbers, or its levels, and if one is missing."""

    kind: pa.DataType
    absent: bool = False
    count: int = 0
    total: int = 0
    squares: int = 0
    levels: frozenset[str | int | bool] = frozenset()

    @classmethod
    def of(cls, name: str, array: pa.Array) -> _Learned:
        if not _is_number(array.type):
            plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
            levels = frozenset(pc.unique(plain).drop_null().to_pylist())
            return cls(array.type, bool(array.null_count), levels=levels)
        values = np.asarray(array.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
        if np.isinf(values).any():
            row = int(np.argmax(np.isinf(values)))
            raise SchemaError.bad_value(name, row, "an infinite number", "Replace or remove infinite values.")
        there = values[~np.isnan(values)]
        sums = exact_sum(there), exact_sum(there * there)
        return cls(array.type, len(there) < len(values), len(there), *sums)

    def merged(self, other: _Learned) -> _Learned:
        return _Learned(
            self.kind,
            self.absent or other.absent,
            self.count + other.count,
            self.total + other.total,
            self.squares + other.squares,
            self.levels | other.levels,
        )

    def column(
        self, name: str, missing: Literal["refuse", "indicate"], unseen: Literal["refuse", "other"]
    ) -> Numeric | Categorical:
        if self.absent and missing == "refuse":
            raise SchemaError.bad_value(
                name, None, "a missing value", "Learn with missing='indicate', or fill it in first."
            )
        if not self.count and not self.levels:
            raise SchemaError(f"Column {name!r} holds no value at all. Leave it out.")
        rule: Literal["refuse", "indicate"] = "indicate" if self.absent else "refuse"
        if _is_number(self.kind):
            centre, scale = self._moments()
            return Numeric(name, centre, scale, rule)
        if any(not isinstance(level, str | int) for level in self.levels):
            raise SchemaError(
                f"Column {name!r} holds {self.kind}, which is neither a number nor a level. "
                "Turn it into numbers or text first, or leave it out."
            )
        if len(self.levels) > _MOST_LEVELS:
            raise SchemaError(
                f"Column {name!r} has {len(self.levels)} levels. "
                f"Use Hashed({name!r}, buckets=256), or leave it out."
            )
        return Categorical(name, tuple(sorted(self.levels)), rule, unseen)

    def _moments(self) -> tuple[float, float]:
        mean = Fraction(self.total, self.count << _POINT)
        square = Fraction(self.squares, self.count << _POINT)
        variance = square - mean * mean
        spread = variance > square * Fraction(1, 10**24)
        return _short(float(mean)), _short(math.sqrt(variance)) if spread else 1.0


@final
@dataclass(frozen=True, slots=True)
class _Learning:
    """The statistic that a recipe is learned from: a function of the multiset of rows."""

    columns: tuple[str, ...]
    schema: pa.Schema

    def reads(self) -> tuple[str, ...]:
        return self.columns

    def init(self) -> dict[str, _Learned]:
        return {name: _Learned(self.schema.field(name).type) for name in self.columns}

    def update(self, state: dict[str, _Learned], batch: pa.RecordBatch) -> dict[str, _Learned]:
        return self.merge(state, {name: _Learned.of(name, batch.column(name)) for name in self.columns})

    def merge(self, one: dict[str, _Learned], two: dict[str, _Learned]) -> dict[str, _Learned]:
        return {name: one[name].merged(two[name]) for name in self.columns}


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def exact_sum(values: NDArray[np.float64]) -> int:
    """The sum of finite doubles as a whole number of 2^-1200, exactly, so that no order matters."""
    if not len(values):
        return 0
    fraction, exponent = np.frexp(values)
    whole = fraction * 2.0**53
    high = np.floor(whole * 2.0**-26)
    low = whole - high * 2.0**26
    least = int(exponent.min())
    place = exponent - least
    total = 0
    for at, (above, below) in enumerate(zip(np.bincount(place, high), np.bincount(place, low), strict=True)):
        if above or below:
            total += ((int(above) << 26) + int(below)) << (least + at - 53 + _POINT)
    return total


def _short(value: float) -> float:
    """Six significant digits: the same from any order of rows, and readable in a file."""
    return float(f"{value:.6g}")
