"""Finding rows by key: the table in memory that one side of a join is looked up in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
import pyarrow as pa

from suffice.core.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Keys", "key_kind"]


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
    """Distinct keys and the row of each: numbers sorted, texts hashed."""

    count: int
    ordered: NDArray[np.int64] | None
    order: NDArray[np.intp] | None
    texts: dict[str, int] | None

    @classmethod
    def of(cls, column: pa.ChunkedArray, name: str) -> Self:
        """The keys of a column; a missing key or one that occurs twice is an error."""
        _refuse_null(column, name)
        if key_kind(column.type) == "text":
            texts: dict[str, int] = {}
            for row, text in enumerate(column.to_pylist()):
                if texts.setdefault(text, row) != row:
                    raise _twice(name, row, text)
            return cls(len(texts), None, None, texts)
        values = _numbers(column)
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        again = np.flatnonzero(ordered[1:] == ordered[:-1])
        if len(again):
            row = int(order[again + 1].min())
            raise _twice(name, row, column[row].as_py())
        return cls(len(values), ordered, order, None)

    def rows(self, column: pa.Array, name: str) -> NDArray[np.intp]:
        """The row of each key, -1 where it is not known."""
        _refuse_null(column, name)
        if isinstance(column, pa.DictionaryArray):
            if column.dictionary.null_count:
                return self.rows(column.dictionary_decode(), name)
            places = np.asarray(column.indices.to_numpy(zero_copy_only=False), dtype=np.intp)
            return self.rows(column.dictionary, name)[places]
        if self.texts is not None:
            found = (self.texts.get(text, -1) for text in column.to_pylist())
            return np.fromiter(found, dtype=np.intp, count=len(column))
        values = _numbers(column)
        if self.ordered is None or self.order is None or not self.count:
            return np.full(len(values), -1, dtype=np.intp)
        places = np.minimum(np.searchsorted(self.ordered, values), self.count - 1)
        return np.where(self.ordered[places] == values, self.order[places], -1)


def _refuse_null(column: Any, name: str) -> None:
    absent = column.is_null().to_numpy(zero_copy_only=False)
    if absent.any():
        row = int(np.argmax(absent))
        raise SchemaError.bad_value(
            name, row, "no key", "Every row needs a key; fill it in or leave the row out."
        )


def _twice(name: str, row: int, key: object) -> SchemaError:
    return SchemaError.bad_value(
        name, row, f"the key {key!r} for the second time among the labels", "Give each key one label."
    )


def _numbers(column: Any) -> NDArray[np.int64]:
    """Keys as whole numbers; a day is its first microsecond."""
    plain = column.cast(pa.timestamp("us")) if pa.types.is_date(column.type) else column
    return np.asarray(plain.cast(pa.int64()).to_numpy(zero_copy_only=False), dtype=np.int64)
