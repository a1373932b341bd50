"""Parquet files as a source: a few row groups are a fragment, and only the columns asked for are decoded.

From the footers come names, types and numbers of rows. The smallest and largest values that a
footer holds of every column are never looked at: they are values of single rows.

Text is read as dictionaries, always: the file holds it that way where it repeats, and whoever
encodes it then looks at each distinct text once. That the file of one writer says `string` and
that of another `large_string` or `categorical` makes no difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import pyarrow as pa
import pyarrow.parquet as pq

from suffice.core.errors import InputError, SchemaError
from suffice.sources.frame import plain_schema, projected, refuse_missing, rows_per_batch
from suffice.sources.page import footer, plain_arrays
from suffice.sources.path import Constant, Paths, listing, partitions, refuse_difference, with_constants

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["Parquet", "RowGroups"]

_ROWS = 1 << 17
_MANY = 1 << 14
_LARGE = 1 << 26
_BUFFER = 1 << 20
_TEXT = pa.dictionary(pa.int32(), pa.string())


@final
@dataclass(frozen=True, slots=True)
class _File:
    """What the footer of one file says: rows and bytes of its row groups."""

    path: str
    rows: tuple[int, ...]
    largest: int
    constants: tuple[Constant, ...]


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Parquet:
    """A file, a pattern, a folder or a list of Parquet files with the same columns.

    Folders named `key=value` add a column `key`, which is public: it stands in the paths.
    `filesystem` is one of pyarrow or fsspec, for files that are not on this machine.
    """

    name: str
    schema: pa.Schema
    partition_columns: tuple[str, ...]
    files: tuple[_File, ...]
    filesystem: Any

    def __init__(self, path: Paths, *, filesystem: Any = None) -> None:
        listed = listing(path, filesystem, (".parquet", ".pq", ".parq"))
        stated = partitions(listed.files)
        read = [_footer(file, listed.filesystem) for file in listed.files]
        schema = read[0][0]
        for file, (found, _, _) in zip(listed.files, read, strict=True):
            refuse_difference(schema, found, listed.files[0], file)
        added = [part for part in stated[0] if part.name not in schema.names]
        names = {part.name for part in added}
        for part in added:
            schema = schema.append(pa.field(part.name, part.kind))
        files = tuple(
            _File(file, rows, largest, tuple(part for part in parts if part.name in names))
            for file, (_, rows, largest), parts in zip(listed.files, read, stated, strict=True)
        )
        for field, value in {
            "name": listed.name,
            "schema": schema,
            "partition_columns": tuple(part.name for part in stated[0]),
            "files": files,
            "filesystem": listed.filesystem,
        }.items():
            object.__setattr__(self, field, value)

    def __repr__(self) -> str:
        """As it was asked for."""
        return f"Parquet({self.name!r})"

    @property
    def rows(self) -> int:
        """How many rows there are, by the footers."""
        return sum(sum(file.rows) for file in self.files)

    def fragments(self, columns: Sequence[str]) -> Iterable[RowGroups]:
        """Consecutive row groups of one file, at least 131,072 rows where the file has them."""
        refuse_missing(columns, self.schema.names)
        schema = pa.schema([self.schema.field(name) for name in columns])
        start = 0
        for file in self.files:
            for groups in _grouped(file.rows):
                yield RowGroups(
                    f"{file.path}:{groups[0]}-{groups[-1]}",
                    start,
                    file.path,
                    groups,
                    schema,
                    file.constants,
                    _BUFFER if file.largest > _LARGE else 0,
                    self.filesystem,
                )
                start += sum(file.rows[group] for group in groups)


@final
@dataclass(frozen=True, slots=True)
class RowGroups:
    """Some row groups of a file, decoded a batch at a time by whoever holds this."""

    id: str
    start: int
    path: str
    groups: tuple[int, ...]
    schema: pa.Schema
    constants: tuple[Constant, ...]
    buffer: int
    filesystem: Any

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, a batch at a time, the columns in the order they were asked for."""
        stated = {part.name: part for part in self.constants}
        stored = [name for name in self.schema.names if name not in stated]
        try:
            texts = [name for name in stored if self.schema.field(name).type == _TEXT]
            with _opened(self.path, self.filesystem, self.buffer, texts) as file:
                for batch in self._decoded(file, stored):
                    yield self._shaped(batch, stated)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"The file {self.path!r} cannot be read to its end: {error}") from error

    def _decoded(self, file: pq.ParquetFile, stored: list[str]) -> Iterator[pa.RecordBatch]:
        """Whole row groups, which is quickest; batches of them where they are large, or small and many."""
        rows = sum(file.metadata.row_group(group).num_rows for group in self.groups)
        if self.buffer or rows < _MANY * len(self.groups):
            size = rows_per_batch(len(stored))
            yield from file.iter_batches(size, list(self.groups), stored, use_threads=False)
            return
        for group in self.groups:
            plain = plain_arrays(self.path, group, stored) if self.filesystem is None else {}
            others = [name for name in stored if name not in plain]
            if others:
                decoded = file.read_row_group(group, others, use_threads=False).to_batches()
                yield from _beside(plain, stored, decoded)
            else:
                yield pa.RecordBatch.from_arrays([plain[name] for name in stored], stored)

    def _shaped(self, batch: pa.RecordBatch, stated: dict[str, Constant]) -> pa.RecordBatch:
        batch = _compact(batch)
        if not stated:
            return projected(batch, self.schema)
        return projected(with_constants(batch, stated, self.schema), self.schema)


def _opened(path: str, filesystem: Any, buffer: int = 0, texts: Sequence[str] = ()) -> pq.ParquetFile:
    """Column chunks that lie side by side are read at once, but where a row group is large."""
    return pq.ParquetFile(
        path,
        metadata=footer(path) if filesystem is None else None,
        filesystem=filesystem,
        pre_buffer=filesystem is not None or not buffer,
        buffer_size=buffer,
        read_dictionary=list(texts) or None,
    )


def _beside(
    plain: dict[str, pa.Array], names: list[str], decoded: list[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Batches of the columns that pyarrow decoded, with their share of those that it did not."""
    start = 0
    for batch in decoded:
        rows = batch.num_rows
        yield pa.RecordBatch.from_arrays(
            [plain[name].slice(start, rows) if name in plain else batch.column(name) for name in names], names
        )
        start += rows


def _footer(path: str, filesystem: Any) -> tuple[pa.Schema, tuple[int, ...], int]:
    try:
        with _opened(path, filesystem) as file:
            groups = [file.metadata.row_group(at) for at in range(file.metadata.num_row_groups)]
            rows = tuple(group.num_rows for group in groups)
            largest = max((group.total_byte_size for group in groups), default=0)
            return _with_dictionaries(plain_schema(file.schema_arrow)), rows, largest
    except SchemaError as error:
        raise SchemaError(f"In the file {path!r}: {error}") from error
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"The file {path!r} cannot be read as Parquet: {error}") from error


def _compact(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Dictionaries no longer than the batch: the file's grow with the row group where texts are many."""
    for at, column in enumerate(batch.columns):
        if column.type == _TEXT and len(column.dictionary) > batch.num_rows:
            short = column.dictionary_decode().dictionary_encode()
            batch = batch.set_column(at, batch.schema.field(at), short)
    return batch


def _with_dictionaries(schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(f.name, _TEXT if _is_text(f.type) else f.type) for f in schema])


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _grouped(rows: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Consecutive row groups until they have enough rows; row groups without rows join a neighbour."""
    held: list[int] = []
    for at in range(len(rows)):
        held.append(at)
        if sum(rows[group] for group in held) >= _ROWS:
            yield tuple(held)
            held = []
    if held:
        yield tuple(held)
