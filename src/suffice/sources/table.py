"""A table in memory as a source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import pyarrow as pa

from suffice.sources.frame import refuse_missing, rows_per_batch, to_arrow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["Slice", "Table"]

_ROWS = 1 << 17
_MOST_CHUNKS = 4


@final
@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Table:
    """A frame, an array or an Arrow table, cut into slices without copying it.

    `name` is what the ledger and the release call the source, so it should say nothing that
    is not public.
    """

    name: str
    table: pa.Table

    def __init__(self, frame: object, name: str | None = None) -> None:
        object.__setattr__(self, "name", "table" if name is None else name)
        object.__setattr__(self, "table", to_arrow(frame))

    def __repr__(self) -> str:
        """Name and columns; the rows stay where they are."""
        return f"Table(name={self.name!r}, columns={self.schema.names})"

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self.table.schema

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.table.num_rows)

    def fragments(self, columns: Sequence[str]) -> Iterable[Slice]:
        """Slices of at most 131,072 rows."""
        refuse_missing(columns, self.schema.names)
        for start in range(0, self.rows, _ROWS):
            piece = self.table.slice(start, _ROWS).select(list(columns))
            yield Slice(f"rows {start}-{start + piece.num_rows - 1}", start, piece)


@final
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Slice:
    """Some consecutive rows of a table; only they are pickled, not the buffers they lie in."""

    id: str
    start: int
    table: pa.Table

    def __repr__(self) -> str:
        """Which rows."""
        return f"Slice({self.id!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as an Arrow stream, which leaves the rest of the buffers behind."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.table.schema) as writer:
            writer.write_table(self.table)
        return _restored, (self.id, self.start, self.table.num_rows, sink.getvalue().to_pybytes())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, a batch at a time."""
        table = self.table
        if any(column.num_chunks > _MOST_CHUNKS for column in table.columns):
            table = table.combine_chunks()
        yield from table.to_batches(max_chunksize=rows_per_batch(table.num_columns))


def _restored(called: str, start: int, rows: int, stream: bytes) -> Slice:
    table = pa.ipc.open_stream(stream).read_all()
    if not table.num_columns:
        table = pa.table({"": pa.nulls(rows)}).select([])
    return Slice(called, start, table)
