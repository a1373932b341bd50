"""Finding rows by key: the table in memory that one side of a join is looked up in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from suffice.core.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Keys", "key_kind"]

_CHUNK = 1 << 16


def key_kind(kind: pa.DataType) -> str | None:
    """Which keys can be compared with each other: whole numbers, text, or dates of one type."""
    if pa.types.is_dictionary(kind):
        return key_kind(kind.value_type)
    if pa.types.is_integer(kind):
        return "whole numbers"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    return str(kind) if pa.types.is_date(kind) or pa.types.is_timestamp(kind) else None


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Keys:
    """Distinct keys and the row of each, in order of a number that stands for them.

    A whole number stands for itself, and a hash for a text, whose letters are compared as well:
    `texts` holds them, and `seed` is one under which no two of them have the same hash.
    """

    ordered: NDArray[np.int64]
    order: NDArray[np.intp]
    texts: pa.Array | None
    seed: int

    @classmethod
    def of(cls, column: pa.ChunkedArray, name: str, seed: int = 0) -> Self:
        """The keys of a column; a missing key or one that occurs twice is an error."""
        _refuse_null(column, name)
        texts = _whole(column) if key_kind(column.type) == "text" else None
        values = _numbers(column) if texts is None else _hashes(texts, seed)
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        again = np.flatnonzero(ordered[1:] == ordered[:-1])
        if len(again):
            first, second = order[again], order[again + 1]
            same = (
                np.ones(len(again), bool)
                if texts is None
                else _equal(texts, first, texts.take(pa.array(second)))
            )
            if not same.any():
                return cls.of(column, name, seed + 1)
            row = int(second[same].min())
            raise SchemaError.bad_value(
                name,
                row,
                f"the key {column[row].as_py()!r} for the second time among the labels",
                "Give each key one label.",
            )
        return cls(ordered, order, texts, seed)

    @property
    def count(self) -> int:
        """How many keys there are."""
        return len(self.ordered)

    def rows(self, column: pa.Array, name: str) -> NDArray[np.intp]:
        """The row of each key, -1 where it is not known."""
        _refuse_null(column, name)
        if isinstance(column, pa.DictionaryArray):
            if column.dictionary.null_count:
                return self.rows(column.dictionary_decode(), name)
            places = np.asarray(column.indices.to_numpy(zero_copy_only=False), dtype=np.intp)
            return self.rows(column.dictionary, name)[places]
        texts = None if self.texts is None else _letters(column)
        values = _numbers(column) if texts is None else _hashes(texts, self.seed)
        if not self.count:
            return np.full(len(values), -1, dtype=np.intp)
        near = np.argsort(values)  # neighbours are looked for one after the other, which caches reward
        places = np.empty(len(values), dtype=np.intp)
        places[near] = np.minimum(np.searchsorted(self.ordered, values[near]), self.count - 1)
        found = self.order[places]
        met = self.ordered[places] == values
        if self.texts is not None:
            met &= _equal(self.texts, found, texts)
        return np.where(met, found, -1)


def _refuse_null(column: Any, name: str) -> None:
    absent = column.is_null().to_numpy(zero_copy_only=False)
    if absent.any():
        row = int(np.argmax(absent))
        raise SchemaError.bad_value(
            name, row, "no key", "Every row needs a key; fill it in or leave the row out."
        )


def _numbers(column: Any) -> NDArray[np.int64]:
    """Keys as whole numbers; a day is its first microsecond."""
    plain = column.cast(pa.timestamp("us")) if pa.types.is_date(column.type) else column
    return np.asarray(plain.cast(pa.int64()).to_numpy(zero_copy_only=False), dtype=np.int64)


def _letters(column: pa.Array) -> pa.Array:
    plain = column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
    return plain.cast(pa.large_string())


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """One array of letters, without the union of the chunks' dictionaries in between."""
    return pa.chunked_array([_letters(chunk) for chunk in column.chunks], pa.large_string()).combine_chunks()


def _equal(texts: pa.Array, rows: NDArray[np.intp], others: pa.Array) -> NDArray[np.bool_]:
    """Whether the text in each of these rows is the other one, letter by letter."""
    return np.asarray(pc.equal(texts.take(pa.array(rows)), others).to_numpy(zero_copy_only=False), dtype=bool)


def _hashes(texts: pa.Array, seed: int) -> NDArray[np.int64]:
    """A number for each text: the sum of its bytes, each times a multiplier of its place."""
    parts = [_hashed(texts.slice(at, _CHUNK), seed) for at in range(0, len(texts), _CHUNK)]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _hashed(texts: pa.Array, seed: int) -> NDArray[np.int64]:
    _, offsets, data = texts.buffers()
    edges = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    first, last = int(edges[0]), int(edges[-1])
    letters = np.frombuffer(data, dtype=np.uint8)[first:last] if last > first else np.zeros(0, dtype=np.uint8)
    lengths = np.diff(edges)
    starts = edges[:-1] - first
    places = np.arange(last - first) - np.repeat(starts, lengths)
    factors = _multipliers(int(lengths.max(initial=0)), seed)
    sums = np.zeros(last - first + 1, dtype=np.uint64)
    np.cumsum((letters.astype(np.uint64) + np.uint64(1)) * factors[places], out=sums[1:])
    return (sums[edges[1:] - first] - sums[starts]).view(np.int64)


def _multipliers(count: int, seed: int) -> NDArray[np.uint64]:
    """Odd numbers without a pattern, the same every time (the finaliser of splitmix64)."""
    z = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed << 32)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) | np.uint64(1)
