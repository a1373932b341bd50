"""How one source column becomes coordinates of a row's vector."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from suffice.core.errors import InputError, SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["COLUMNS", "Categorical", "Coded", "Column", "Cross", "Hashed", "Measured", "Numeric"]

Level = str | int | bool


@final
@dataclass(frozen=True, slots=True)
class Measured:
    """One numeric coordinate: (value - centre) · inverse, value by value."""

    values: NDArray[np.generic]
    offset: int
    centre: float
    inverse: float
    source: str


@final
@dataclass(frozen=True, slots=True)
class Coded:
    """A block of 0/1 coordinates: row i has its one at offset + codes[i], or nowhere if that is -1."""

    codes: NDArray[np.int32]
    offset: int
    width: int
    source: str


@final
@dataclass(frozen=True, slots=True)
class Numeric:
    """A number, centred and scaled; `missing` refuses, fills a value in, or adds an indicator column."""

    name: str
    centre: float = 0.0
    scale: float = 1.0
    missing: Literal["refuse", "indicate"] | float = "refuse"

    def __post_init__(self) -> None:
        """Refuse centres and scales that no arithmetic survives."""
        if not math.isfinite(self.centre) or not math.isfinite(self.scale) or self.scale <= 0:
            raise InputError(
                f"Numeric({self.name!r}) needs a finite centre and a finite scale above 0, "
                f"and got centre={self.centre!r}, scale={self.scale!r}."
            )
        if isinstance(self.missing, str) and self.missing not in {"refuse", "indicate"}:
            raise InputError(f"missing= is 'refuse', 'indicate' or a number, and got {self.missing!r}.")

    def reads(self) -> tuple[str, ...]:
        """The source columns that are read."""
        return (self.name,)

    def width(self) -> int:
        """How many coordinates there are."""
        return 2 if self.missing == "indicate" else 1

    def names(self) -> tuple[str, ...]:
        """The names of the coordinates."""
        return (self.name, f"{self.name}:missing") if self.missing == "indicate" else (self.name,)

    def encode(self, batch: pa.RecordBatch, offset: int) -> list[Measured | Coded]:
        """The coordinates of a batch; a missing value that is refused stays NaN for the caller to find."""
        values = _numbers(batch.column(self.name), self.name)
        if self.missing == "refuse":
            return [Measured(values, offset, self.centre, 1.0 / self.scale, self.name)]
        absent = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)
        fill = self.centre if self.missing == "indicate" else float(self.missing)
        if absent.any():
            values = np.where(absent, fill, values.astype(np.float64))
        measured = Measured(values, offset, self.centre, 1.0 / self.scale, self.name)
        if self.missing != "indicate":
            return [measured]
        return [measured, Coded(np.where(absent, 0, -1).astype(np.int32), offset + 1, 1, self.name)]


@final
@dataclass(frozen=True, slots=True)
class Categorical:
    """One of the listed levels; "indicate" adds a level for missing values, "other" one for new ones."""

    name: str
    levels: tuple[Level, ...]
    missing: Literal["refuse", "indicate", "other"] = "refuse"
    unseen: Literal["refuse", "other"] = "refuse"

    def __post_init__(self) -> None:
        """Refuse empty, repeated or mixed levels."""
        object.__setattr__(self, "levels", tuple(self.levels))
        if not self.levels or len(set(map(repr, self.levels))) != len(self.levels):
            raise InputError(f"Categorical({self.name!r}) needs distinct levels, and got {self.levels!r}.")
        if len({type(level) for level in self.levels}) > 1:
            raise InputError(f"The levels of {self.name!r} must be of one type, and got {self.levels!r}.")
        if self.missing not in {"refuse", "indicate", "other"} or self.unseen not in {"refuse", "other"}:
            raise InputError(
                f"Categorical({self.name!r}) takes missing='refuse', 'indicate' or 'other' and "
                f"unseen='refuse' or 'other', and got missing={self.missing!r}, unseen={self.unseen!r}."
            )

    def reads(self) -> tuple[str, ...]:
        """The source columns that are read."""
        return (self.name,)

    def width(self) -> int:
        """How many coordinates there are."""
        return len(self.levels) + (self.missing == "indicate") + ("other" in {self.missing, self.unseen})

    def names(self) -> tuple[str, ...]:
        """The names of the coordinates."""
        named = [f"{self.name}={level}" for level in self.levels]
        named += [f"{self.name}:missing"] if self.missing == "indicate" else []
        named += [f"{self.name}:other"] if "other" in {self.missing, self.unseen} else []
        return tuple(named)

    def codes(self, batch: pa.RecordBatch) -> NDArray[np.int32]:
        """The place of each row's level among `names()`."""
        column = batch.column(self.name)
        codes, absent = _places(column, self.levels, self.name)
        width = self.width()
        unseen = (codes < 0) & ~absent
        if unseen.any():
            if self.unseen == "refuse":
                row = int(np.argmax(unseen))
                raise SchemaError.bad_value(
                    self.name,
                    row,
                    f"the level {column[row].as_py()!r}",
                    f"The recipe lists {len(self.levels)} levels; add it, or state unseen='other'.",
                )
            codes[unseen] = width - 1
        if absent.any():
            if self.missing == "refuse":
                raise SchemaError.bad_value(
                    self.name, int(np.argmax(absent)), "no value", "State missing='indicate' in the recipe."
                )
            codes[absent] = len(self.levels) if self.missing == "indicate" else width - 1
        return codes

    def encode(self, batch: pa.RecordBatch, offset: int) -> list[Measured | Coded]:
        """The coordinates of a batch."""
        return [Coded(self.codes(batch), offset, self.width(), self.name)]


@final
@dataclass(frozen=True, slots=True)
class Hashed:
    """A column of very many levels, hashed with a public salt into this many buckets; missing is a level."""

    name: str
    buckets: int
    salt: str = ""

    def __post_init__(self) -> None:
        """Refuse bucket counts that hold nothing."""
        if isinstance(self.buckets, bool) or not isinstance(self.buckets, int) or self.buckets < 2:
            raise InputError(f"Hashed({self.name!r}) needs two buckets or more, and got {self.buckets!r}.")

    def reads(self) -> tuple[str, ...]:
        """The source columns that are read."""
        return (self.name,)

    def width(self) -> int:
        """How many coordinates there are."""
        return self.buckets

    def names(self) -> tuple[str, ...]:
        """The names of the coordinates."""
        return tuple(f"{self.name}#{bucket}" for bucket in range(self.buckets))

    def codes(self, batch: pa.RecordBatch) -> NDArray[np.int32]:
        """The bucket of each row."""
        coded = pc.dictionary_encode(
            pc.cast(_plain(batch.column(self.name)), pa.string()), null_encoding="encode"
        )
        table = np.array([self._bucket(level.as_py()) for level in coded.dictionary], dtype=np.int32)
        return np.asarray(table[coded.indices.to_numpy(zero_copy_only=False)])

    def encode(self, batch: pa.RecordBatch, offset: int) -> list[Measured | Coded]:
        """The coordinates of a batch."""
        return [Coded(self.codes(batch), offset, self.width(), self.name)]

    def _bucket(self, level: str | None) -> int:
        text = f"{self.salt}\x1f{self.name}\x1f" + ("\x00" if level is None else f"={level}")
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") % self.buckets


@final
@dataclass(frozen=True, slots=True)
class Cross:
    """Every pair of levels of two categorical columns."""

    first: Categorical
    second: Categorical

    def reads(self) -> tuple[str, ...]:
        """The source columns that are read."""
        return (self.first.name, self.second.name)

    def width(self) -> int:
        """How many coordinates there are."""
        return self.first.width() * self.second.width()

    def names(self) -> tuple[str, ...]:
        """The names of the coordinates."""
        return tuple(f"{one}&{two}" for one in self.first.names() for two in self.second.names())

    def encode(self, batch: pa.RecordBatch, offset: int) -> list[Measured | Coded]:
        """The coordinates of a batch."""
        width = self.second.width()
        pairs = self.first.codes(batch) * np.int32(width) + self.second.codes(batch)
        source = f"{self.first.name}&{self.second.name}"
        return [Coded(pairs, offset, width * self.first.width(), source)]


Column = Numeric | Categorical | Hashed | Cross
COLUMNS = (Numeric, Categorical, Hashed, Cross)


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _numbers(column: pa.Array, name: str) -> NDArray[np.generic]:
    """The values as they lie, NULL becoming NaN; only numbers and booleans are numbers."""
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    elif pa.types.is_decimal(kind) or pa.types.is_null(kind):
        column = column.cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise SchemaError(
            f"Column {name!r} holds {kind}, and a number was expected. List its levels instead: "
            f"sf.Recipe.learn(source, columns=[{name!r}, ...]), or Categorical({name!r}, levels=[...])."
        )
    if column.null_count:
        column = column.cast(pa.float64())
    values = column.to_numpy(zero_copy_only=False)
    return np.asarray(values.astype(np.float32) if values.dtype == np.float16 else values)


def _places(
    column: pa.Array, levels: tuple[Level, ...], name: str
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """The place of each value among the levels, -1 where there is none, and which values are missing."""
    if pa.types.is_dictionary(column.type):
        places, _ = _places(column.dictionary, levels, name)
        indices = column.indices
        if not indices.null_count and len(places):
            codes = places[indices.to_numpy()]
            return codes, np.zeros(len(codes), bool)
        absent = np.asarray(indices.is_null().to_numpy(zero_copy_only=False), dtype=bool)
        taken = indices.fill_null(0).to_numpy(zero_copy_only=False)
        codes = places[taken].astype(np.int32) if len(places) else np.full(len(taken), -1, np.int32)
        return np.where(absent, np.int32(-1), codes), absent
    try:
        values = column.cast(pa.array(levels).type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(
            f"Column {name!r} holds {column.type}, and its levels are {levels[:5]!r}. "
            "State levels of the column's own type."
        ) from error
    codes = pc.index_in(values, value_set=pa.array(levels)).fill_null(-1).to_numpy(zero_copy_only=False)
    absent = np.asarray(column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False), dtype=bool)
    return np.where(absent, np.int32(-1), codes.astype(np.int32)), absent
