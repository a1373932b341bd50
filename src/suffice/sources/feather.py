"""Arrow files (Feather) as a source, mapped into memory rather than read into it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import pyarrow as pa

from suffice.core.errors import InputError, SchemaError
from suffice.sources.frame import plain_schema, projected, refuse_missing, rows_per_batch
from suffice.sources.path import Constant, Paths, listing, partitions, refuse_difference, with_constants

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["ArrowBatches", "Feather"]

_BATCHES = 4


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Feather:
    """A file, a pattern, a folder or a list of Arrow IPC files with the same columns.

    How many rows they have is not known before they are read: the files do not say.
    """

    name: str
    schema: pa.Schema
    partition_columns: tuple[str, ...]
    files: tuple[str, ...]
    batches: tuple[int, ...]
    constants: tuple[tuple[Constant, ...], ...]
    filesystem: Any

    def __init__(self, path: Paths, *, filesystem: Any = None) -> None:
        listed = listing(path, filesystem, (".feather", ".arrow", ".ipc"))
        read = [_footer(file, listed.filesystem) for file in listed.files]
        schema = read[0][0]
        for file, (found, _) in zip(listed.files, read, strict=True):
            refuse_difference(schema, found, listed.files[0], file)
        stated = partitions(listed.files)
        added = [part for part in stated[0] if part.name not in schema.names]
        for field, value in {
            "name": listed.name,
            "schema": pa.schema([*schema, *(pa.field(part.name, part.kind) for part in added)]),
            "partition_columns": tuple(part.name for part in stated[0]),
            "files": listed.files,
            "batches": tuple(batches for _, batches in read),
            "constants": tuple(tuple(p for p in parts if p.name not in schema.names) for parts in stated),
            "filesystem": listed.filesystem,
        }.items():
            object.__setattr__(self, field, value)

    def __repr__(self) -> str:
        """As it was asked for."""
        return f"Feather({self.name!r})"

    @property
    def rows(self) -> None:
        """Nobody knows before the batches are read."""
        return

    def fragments(self, columns: Sequence[str]) -> Iterable[ArrowBatches]:
        """A few record batches of one file each."""
        refuse_missing(columns, self.schema.names)
        schema = pa.schema([self.schema.field(name) for name in columns])
        for at, batches in enumerate(self.batches):
            for first in range(0, batches, _BATCHES):
                numbers = range(first, min(first + _BATCHES, batches))
                yield ArrowBatches(
                    self.files, self.batches, at, numbers, schema, self.constants[at], self.filesystem
                )


@final
@dataclass(frozen=True, slots=True)
class ArrowBatches:
    """Some record batches of an Arrow file."""

    files: tuple[str, ...]
    counts: tuple[int, ...]
    at: int
    numbers: range
    schema: pa.Schema
    constants: tuple[Constant, ...]
    filesystem: Any

    @property
    def id(self) -> str:
        """The path of the file and the batches."""
        return f"{self.files[self.at]}:{self.numbers[0]}-{self.numbers[-1]}"

    @property
    def start(self) -> int:
        """How many rows come before; the batches there are counted, which only errors ask for."""
        earlier = sum(self._rows(at, range(self.counts[at])) for at in range(self.at))
        return earlier + self._rows(self.at, range(self.numbers[0]))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, a batch at a time, only the columns asked for decoded."""
        stated = {part.name: part for part in self.constants}
        stored = [name for name in self.schema.names if name not in stated]
        try:
            for batch in self._read(self.at, self.numbers, stored):
                whole = projected(with_constants(batch, stated, self.schema), self.schema)
                step = rows_per_batch(whole.num_columns)
                yield from (whole.slice(row, step) for row in range(0, whole.num_rows, step))
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(self.files[self.at], error) from error

    def _read(self, at: int, numbers: range, columns: list[str]) -> Iterator[pa.RecordBatch]:
        path = self.files[at]
        with _opened(path, self.filesystem) as file:
            names = file.schema.names
        places = sorted(names.index(name) for name in columns) or [0]
        with _opened(path, self.filesystem, places) as file:
            for number in numbers:
                yield file.get_batch(number)

    def _rows(self, at: int, numbers: range) -> int:
        first = [name for name in self.schema.names if name not in {part.name for part in self.constants}][:1]
        return sum(batch.num_rows for batch in self._read(at, numbers, first))


def _opened(path: str, filesystem: Any, fields: list[int] | None = None) -> pa.ipc.RecordBatchFileReader:
    options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
    home = pa.memory_map(path) if filesystem is None else filesystem.open_input_file(path)
    return pa.ipc.open_file(home, options=options)


def _footer(path: str, filesystem: Any) -> tuple[pa.Schema, int]:
    try:
        with _opened(path, filesystem) as file:
            return plain_schema(file.schema), file.num_record_batches
    except SchemaError as error:
        raise SchemaError(f"In the file {path!r}: {error}") from error
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: Exception) -> InputError:
    return InputError(f"The file {path!r} cannot be read as an Arrow file (Feather version 2): {error}")
