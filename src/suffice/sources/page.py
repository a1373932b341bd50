"""Columns of plain numbers in a Parquet file on this machine: read and laid side by side, not decoded.

A file that was written without dictionaries and compression holds numbers as memory does, in pages.
The footer says which columns those are. Whatever else a chunk turns out to hold (missing values, an
older way to write levels) is left to pyarrow.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from suffice.maths import kernels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["footer", "plain_arrays"]

_STORED = {
    pa.float32(): ("FLOAT", np.float32),
    pa.float64(): ("DOUBLE", np.float64),
    pa.int64(): ("INT64", np.int64),
    pa.uint64(): ("INT64", np.uint64),
    pa.int32(): ("INT32", np.int32),
    pa.uint32(): ("INT32", np.uint32),
    pa.int16(): ("INT32", np.int32),
    pa.int8(): ("INT32", np.int32),
    pa.uint16(): ("INT32", np.int32),
    pa.uint8(): ("INT32", np.int32),
}
Stamp = tuple[int, int, int]


@final
@dataclass(frozen=True, slots=True)
class _Chunk:
    """Where the pages of a column lie in one row group, and what they hold."""

    name: str
    kind: pa.DataType
    start: int
    size: int
    count: int
    nullable: bool


def footer(path: str) -> pq.FileMetaData:
    """The footer of a file as it is now, read once."""
    return _footer(path, _stamp(path))


def plain_arrays(path: str, group: int, names: Sequence[str]) -> dict[str, pa.Array]:
    """The columns among these that a row group holds as plain numbers, none of them missing."""
    if not kernels.COMPILED or sys.byteorder != "little":
        return {}
    chunks = _chunks(path, _stamp(path), group, tuple(names))
    return dict(_read(path, chunks)) if chunks else {}


def _read(path: str, chunks: tuple[_Chunk, ...]) -> Iterator[tuple[str, pa.Array]]:
    room = memoryview(bytearray(max(chunk.size for chunk in chunks)))
    with Path(path).open("rb", buffering=0) as file:
        for chunk in chunks:
            file.seek(chunk.start)
            pages = room[: chunk.size]
            stored = np.dtype(_STORED[chunk.kind][1])
            values = pa.allocate_buffer(chunk.count * stored.itemsize)
            if file.readinto(pages) == chunk.size and kernels.join_pages(
                pages, chunk.count, stored.itemsize, values, nullable=chunk.nullable
            ):
                yield chunk.name, _array(values, chunk, stored)


def _array(values: pa.Buffer, chunk: _Chunk, stored: np.dtype[np.generic]) -> pa.Array:
    """Numbers of one or two bytes are stored in four."""
    kind = chunk.kind
    if kind.bit_width == 8 * stored.itemsize:
        return pa.Array.from_buffers(kind, chunk.count, [None, values])
    return pa.array(np.frombuffer(values, stored).astype(kind.to_pandas_dtype()))


def _stamp(path: str) -> Stamp:
    """What changes when a file does."""
    told = Path(path).stat()
    return told.st_ino, told.st_size, told.st_mtime_ns


@lru_cache(maxsize=4)
def _footer(path: str, stamp: Stamp) -> pq.FileMetaData:  # noqa: ARG001  the key
    return pq.read_metadata(path)


@lru_cache(maxsize=1024)
def _chunks(path: str, stamp: Stamp, group: int, names: tuple[str, ...]) -> tuple[_Chunk, ...]:
    """The plain columns of a row group, in the order in which they lie in the file."""
    told = _footer(path, stamp)
    about, schema, kinds = told.row_group(group), told.schema, told.schema.to_arrow_schema()
    found = []
    for at in range(told.num_columns):
        column = schema.column(at)
        if column.path in names and "." not in column.path:
            chunk, kind = about.column(at), kinds.field(column.path).type
            if _is_plain(chunk, column, kind):
                start, size = chunk.data_page_offset, chunk.total_compressed_size
                nullable = column.max_definition_level > 0
                found.append(_Chunk(column.path, kind, start, size, chunk.num_values, nullable))
    return tuple(found)


def _is_plain(chunk: pq.ColumnChunkMetaData, column: pq.ColumnSchema, kind: pa.DataType) -> bool:
    return (
        kind in _STORED
        and chunk.physical_type == _STORED[kind][0]
        and chunk.compression == "UNCOMPRESSED"
        and set(chunk.encodings) <= {"PLAIN", "RLE"}
        and chunk.dictionary_page_offset is None
        and not chunk.file_path
        and column.max_repetition_level == 0
        and column.max_definition_level <= 1
    )
