"""Anything that holds a table, handed over as Arrow without its metadata.

Metadata are left behind because they are copied from the rows' home: pandas writes the number of
rows there, and a release must not carry it by accident.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import pyarrow as pa

from suffice.core.errors import InputError, SchemaError
from suffice.core.protocols import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = [
    "batches",
    "is_source",
    "plain_schema",
    "plainly",
    "projected",
    "refuse_missing",
    "rows_per_batch",
    "to_arrow",
]

_INDEX = re.compile(r"__index_level_\d+__")
_MOST_ROWS = 1 << 15
_MOST_VALUES = 1 << 22
_TURNED = 1 << 10


def rows_per_batch(columns: int) -> int:
    """How many rows a batch of so many columns should have for its values to fit in a cache or two."""
    return max(1 << 8, min(_MOST_ROWS, _MOST_VALUES // max(columns, 1)))


def batches(
    x: object, columns: Sequence[str], names: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a frame, an array or a source, a batch at a time, with these columns in this order.

    `names` says what the columns of an array without names are called.
    """
    columns = tuple(columns)
    if is_source(x):
        refuse_missing(columns, x.schema.names)
        for fragment in x.fragments(columns):
            yield from fragment.batches()
        return
    table = to_arrow(x, names)
    refuse_missing(columns, table.column_names)
    yield from table.select(list(columns)).to_batches(max_chunksize=rows_per_batch(len(columns)))


def is_source(x: object) -> TypeGuard[Source]:
    """Whether this is a source; a frame with columns of those names is none."""
    return callable(getattr(type(x), "fragments", None)) and isinstance(x, Source)


def to_arrow(frame: object, names: Sequence[str] | None = None) -> pa.Table:
    """One Arrow table of plain types from a frame, an array, a mapping of columns or a list of rows."""
    found: Any = frame
    if isinstance(found, pa.RecordBatchReader):
        table = found.read_all()
    elif isinstance(found, pa.Table):
        table = found
    elif isinstance(found, pa.RecordBatch):
        table = pa.Table.from_batches([found])
    elif hasattr(found, "tocsr") or hasattr(found, "tocoo"):
        raise InputError(
            f"A sparse matrix ({type(found).__name__}) cannot be read row by row here. "
            "Give a dense array, x.toarray(), or a frame of the columns that matter."
        )
    elif isinstance(found, np.ndarray):
        table = _from_array(found, names)
    elif isinstance(found, dict):
        table = _from_columns(found)
    elif isinstance(found, list | tuple):
        table = _from_rows(found, names)
    elif hasattr(found, "__arrow_c_stream__"):
        table = _streamed(found)
    elif hasattr(found, "__array__"):
        table = _from_array(np.asarray(found), names)
    else:
        table = _from_narwhals(found)
    return _plain(table)


def refuse_missing(columns: Iterable[str], available: Iterable[str]) -> None:
    """Raise the error that names the first column that is not there."""
    present = list(available)
    for name in columns:
        if name not in present:
            raise SchemaError.missing_column(name, present)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The same columns without metadata, in types that every computation knows; a name may occur once."""
    names = schema.names
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SchemaError(f"There are {names.count(twice)} columns {twice!r}. Give each column its own name.")
    return pa.schema([pa.field(field.name, _plain_type(field.type)) for field in schema])


def plainly(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column in its plain type, untouched where it already has it."""
    if column.type == kind:
        return column
    if isinstance(column, pa.ExtensionArray):
        return plainly(column.storage, kind)
    if isinstance(column, pa.DictionaryArray) and pa.types.is_dictionary(kind):
        words = plainly(column.dictionary, kind.value_type)
        indices = column.indices.cast(kind.index_type)
        return pa.DictionaryArray.from_arrays(indices, words, ordered=kind.ordered)
    try:
        return column.cast(kind)
    except pa.ArrowNotImplementedError:  # views, in older versions of Arrow
        return pa.array(column.to_pylist(), kind)


def projected(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns of the schema, by name, in its order and types, and nothing else."""
    if batch.schema.equals(schema, check_metadata=True):
        return batch
    if not schema.names:
        return batch.select([]).replace_schema_metadata(None)
    arrays = [plainly(batch.column(batch.schema.get_field_index(field.name)), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _plain(table: pa.Table) -> pa.Table:
    kept = [name for name in table.column_names if not _INDEX.fullmatch(name)]
    schema = plain_schema(pa.schema([field for field in table.schema if not _INDEX.fullmatch(field.name)]))
    if not kept:
        return table.select([]).replace_schema_metadata(None)
    return pa.Table.from_arrays([_settled(table.column(f.name), f.type) for f in schema], schema=schema)


def _settled(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if column.type == kind:
        return column
    return pa.chunked_array([plainly(chunk, kind) for chunk in column.chunks], type=kind)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """Text and bytes as offsets and data, not views; an extension type as what it stores."""
    if isinstance(kind, pa.BaseExtensionType):
        return _plain_type(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _plain_type(kind.value_type), ordered=kind.ordered)
    if kind == pa.string_view():
        return pa.large_string()
    return pa.large_binary() if kind == pa.binary_view() else kind


def _streamed(frame: Any) -> pa.Table:
    try:
        return pa.table(frame)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ValueError) as error:
        raise _unreadable(frame, error) from error
    except TypeError:  # relations of DuckDB 1 stream only without a wanted schema
        return _from_narwhals(frame)


def _unreadable(frame: object, error: Exception) -> SchemaError:
    reason = " ".join(str(part) for part in error.args).strip().rstrip(".")
    if "uplicate" in reason:
        return SchemaError(f"A column name occurs more than once: {reason}. Give each column its own name.")
    return SchemaError(
        f"The {type(frame).__name__} cannot be handed over as Arrow: {reason}. "
        "Give each column one type: numbers, text, booleans or dates."
    )


def _from_array(array: NDArray[Any], names: Sequence[str] | None) -> pa.Table:
    if array.dtype.names is not None and array.ndim == 1:
        return _from_columns({name: array[name] for name in array.dtype.names})
    if array.ndim != 2:
        raise InputError(
            f"An array needs two dimensions, rows and columns, and this one has {array.ndim}. "
            "Reshape it: x.reshape(-1, 1) for one column, x.reshape(1, -1) for one row."
        )
    wide = array.shape[1]
    called = [f"x{i}" for i in range(wide)] if names is None else list(names)
    if len(called) != wide:
        raise InputError(f"The array has {wide} columns, and {len(called)} names came: {called[:12]!r}.")
    if not wide:
        raise InputError("The array has no column.")
    if len(set(called)) != wide:
        raise SchemaError(f"Names of columns must be distinct, and got {called[:12]!r}.")
    turned = _turned(array)
    return _from_columns({name: turned[:, at] for at, name in enumerate(called)})


def _turned(array: NDArray[Any]) -> NDArray[Any]:
    """The same numbers with each column side by side, a block of rows at a time so that each is read once."""
    if array.dtype.kind not in "fiu" or not array.flags.c_contiguous:
        return array
    columns = np.empty(array.shape[::-1], array.dtype)
    for start in range(0, len(array), _TURNED):
        columns[:, start : start + _TURNED] = array[start : start + _TURNED].T
    return columns.T


def _from_columns(columns: Mapping[str, Any]) -> pa.Table:
    if not columns:
        raise InputError("There is no column. Give a mapping from names to columns of equal length.")
    try:
        return pa.table({str(name): pa.array(values) for name, values in columns.items()})
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ValueError, TypeError) as error:
        raise _unreadable(columns, error) from error


def _from_rows(rows: Sequence[Any], names: Sequence[str] | None) -> pa.Table:
    if rows and all(isinstance(row, dict) for row in rows):
        try:
            return pa.Table.from_pylist(list(rows))
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise _unreadable(rows, error) from error
    try:
        return _from_array(np.asarray(rows), names)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError("A list of rows needs rows of equal length.") from error


def _from_narwhals(frame: Any) -> pa.Table:
    """A lazy frame, collected, or a frame that knows no Arrow stream."""
    import narwhals as nw  # noqa: PLC0415  only these frames need it

    known = nw.from_native(frame, pass_through=True)
    if isinstance(known, nw.LazyFrame):
        known = known.collect()
    if not isinstance(known, nw.DataFrame):
        raise InputError(
            f"Rows cannot be read from {type(frame).__name__}. Give a data frame (pandas, polars, Arrow), "
            "a two-dimensional array, a mapping of columns, or a source such as sf.Parquet(path)."
        )
    return known.to_arrow()
