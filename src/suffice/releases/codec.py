"""The payload of a release: an Arrow IPC stream of one record batch, and a JSON header beside it.

The header is the one entry, `suffice`, of the schema's metadata. Reading takes one schema message,
one record batch and the end of the stream, and refuses all else that Arrow can carry: other
metadata, dictionaries, extension types, compression, missing values, bytes after the end.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from suffice.core.errors import FormatTooNew, ReleaseUnreadable
from suffice.releases import notation

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FORMAT", "MOST_BYTES", "pack", "unpack"]

FORMAT = 1
MOST_BYTES = 1 << 28
_MOST_HEADER = 1 << 23
_MOST_FIELDS = 64
_KEY = b"suffice"
_VALUES = "values"
_NUMBERS = (pa.int64(), pa.float64())
_ANSWERS = (pa.string(), pa.bool_(), *_NUMBERS)
_SLACK = 64


def pack(header: dict[str, Any], values: NDArray[Any], answers: pa.Table | None) -> bytes:
    """The payload; the same release gives the same bytes. The header gains `format` and `shape`."""
    if answers is None:
        columns, names = [_column(values)], [_VALUES]
        header = header | {"shape": list(values.shape)}
    else:
        columns = [column.combine_chunks() for column in answers.columns]
        names = answers.column_names
    fields = [
        pa.field(name, column.type, nullable=False) for name, column in zip(names, columns, strict=True)
    ]
    text = notation.canonical(header | {"format": FORMAT})
    schema = pa.schema(fields, metadata={_KEY: text})
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(metadata_version=pa.ipc.MetadataVersion.V5, compression=None)
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        writer.write_batch(pa.record_batch(columns, schema=schema))
    return bytes(sink.getvalue().to_pybytes())


def unpack(data: bytes) -> tuple[dict[str, Any], NDArray[Any], pa.Table | None]:
    """The header without `format` and `shape`, the values, and the answers if that is what it holds."""
    if len(data) > MOST_BYTES:
        raise ReleaseUnreadable(f"The payload has {len(data)} bytes, and at most {MOST_BYTES} are read.")
    try:
        schema, batch = _messages(data)
    except (
        pa.ArrowException,
        ValueError,
        LookupError,
        OSError,
        EOFError,
        MemoryError,
        struct.error,
    ) as error:
        raise ReleaseUnreadable(
            f"The payload is not an Arrow stream as it is written here: {error}."
        ) from error
    header = _header(schema)
    shape = header.pop("shape", None)
    if shape is None:
        return header, np.zeros(0, np.int64), pa.Table.from_batches([batch]).replace_schema_metadata(None)
    return header, _matrix(batch, shape), None


def _messages(data: bytes) -> tuple[pa.Schema, pa.RecordBatch]:
    """The one schema and the one batch of the stream, after the checks that need no header."""
    stream = pa.BufferReader(data)
    first = pa.ipc.read_message(stream)
    if first.type != "schema" or _slot(first, _CUSTOM):
        raise ReleaseUnreadable("The payload does not begin with a plain schema.")
    schema = pa.ipc.read_schema(first)
    _check_schema(schema)
    second = pa.ipc.read_message(stream)
    if second.type != "record batch" or _slot(second, _CUSTOM) or _slot(second, _COMPRESSION):
        raise ReleaseUnreadable("The payload's second part is not a plain, uncompressed record batch.")
    batch = pa.ipc.read_record_batch(second, schema)
    batch.validate(full=True)
    if any(column.null_count for column in batch.columns):
        raise ReleaseUnreadable("A column of the payload has missing values.")
    if second.body.size > batch.nbytes + _SLACK * (1 + 3 * batch.num_columns):
        raise ReleaseUnreadable("The record batch holds bytes that belong to no column.")
    if data[stream.tell() :] not in {b"", _END}:
        raise ReleaseUnreadable("There are bytes after the record batch.")
    return schema, batch


_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"
_CUSTOM = (4,)  # Message.custom_metadata
_COMPRESSION = (2, 3)  # Message.header, then RecordBatch.compression


def _slot(message: pa.Message, path: tuple[int, ...]) -> bool:
    """Whether a field of the message's flatbuffer is present; Arrow has verified its offsets.

    pyarrow reads the compression and the message's own metadata without showing them.
    """
    data = message.metadata.to_pybytes()
    table = struct.unpack_from("<I", data, 0)[0]
    for step, slot in enumerate(path):
        vtable = table - struct.unpack_from("<i", data, table)[0]
        at = 4 + 2 * slot
        offset = (
            struct.unpack_from("<H", data, vtable + at)[0]
            if at < struct.unpack_from("<H", data, vtable)[0]
            else 0
        )
        if offset == 0:
            return False
        if step + 1 < len(path):
            table = table + offset + struct.unpack_from("<I", data, table + offset)[0]
    return True


def _check_schema(schema: pa.Schema) -> None:
    if set(schema.metadata or {}) != {_KEY}:
        raise ReleaseUnreadable("The payload's metadata is not the one entry 'suffice'.")
    if not 1 <= len(schema) <= _MOST_FIELDS or len(set(schema.names)) != len(schema):
        raise ReleaseUnreadable("The payload has no columns, too many, or two of one name.")
    for field in schema:
        if field.metadata or field.type not in _ANSWERS:
            raise ReleaseUnreadable(
                f"The payload has a column of type {field.type}, or with metadata of its own."
            )


def _header(schema: pa.Schema) -> dict[str, Any]:
    header = notation.read(schema.metadata[_KEY], what="header", most=_MOST_HEADER)
    written = header.pop("format", None)
    if not isinstance(written, int) or isinstance(written, bool) or written < 1:
        raise ReleaseUnreadable(f"The header's format is {str(written)[:40]!r}, and not a number from 1 up.")
    if written > FORMAT:
        raise FormatTooNew(
            f"This release is in format {written}, and this version of suffice reads formats up to {FORMAT}. "
            "Install a newer suffice."
        )
    return header


def _matrix(batch: pa.RecordBatch, shape: Any) -> NDArray[Any]:
    if batch.schema.names != [_VALUES] or batch.schema.types[0] not in _NUMBERS:
        raise ReleaseUnreadable("A release with a shape has one column of numbers, 'values'.")
    whole = isinstance(shape, list) and all(type(side) is int and side >= 0 for side in shape)
    if not whole or len(shape) not in {1, 2} or math.prod(shape) != batch.num_rows:
        raise ReleaseUnreadable(f"The shape {str(shape)[:60]} does not fit {batch.num_rows} values.")
    values: NDArray[Any] = np.from_dlpack(batch.column(0))
    return values.reshape(shape)


def _column(values: NDArray[Any]) -> pa.Array:
    """The numbers in row-major order, by their buffer: the shorter ways there and back import pandas."""
    kind = pa.int64() if values.dtype.kind == "i" else pa.float64()
    return pa.Array.from_buffers(kind, values.size, [None, pa.py_buffer(np.ascontiguousarray(values))])
