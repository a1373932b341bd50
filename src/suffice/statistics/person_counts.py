"""How many rows each person has, exactly, for any number of persons in bounded memory.

Counts that do not fit are sorted into parts by a hash of the person and written to one temporary
file, which has no name and is its owner's alone to read; afterwards each part is added up by itself.
"""

from __future__ import annotations

import tempfile
import weakref
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from suffice.core.errors import SchemaError, UnboundedSensitivity

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PersonCounts", "Tally"]

_HELD = 1 << 19
_PARTS = 256
_ODD = np.uint64(0x9E3779B97F4A7C15)
_PERSON, _GROUP, _ROWS = "person", "group", "rows"


@final
@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Drawer:
    """A temporary file without a name, closed when nobody holds it any more."""

    file: IO[bytes]

    @classmethod
    def new(cls) -> Drawer:
        """An empty one."""
        made = cls(tempfile.TemporaryFile(prefix="suffice-"))  # noqa: SIM115  closed with the value
        weakref.finalize(made, made.file.close)
        return made


@final
@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Counts in the file: where they begin, and where each part of them ends."""

    start: int
    ends: NDArray[np.int64]

    def place(self, part: int) -> tuple[int, int]:
        """Offset and length of a part."""
        before = int(self.ends[part - 1]) if part else 0
        return self.start + before, int(self.ends[part]) - before


@final
@dataclass(frozen=True, slots=True, eq=False)
class Spill:
    """Runs in a file that only grows, so that an older view of it stays true."""

    drawer: Drawer
    runs: tuple[Run, ...] = ()

    def with_run(self, data: list[bytes]) -> Spill:
        """One more run, a piece for each part."""
        start = self.drawer.file.seek(0, 2)
        self.drawer.file.writelines(data)
        return Spill(self.drawer, (*self.runs, Run(start, np.cumsum([len(piece) for piece in data]))))

    def pieces(self, part: int) -> Iterator[bytes]:
        """What was written of a part."""
        for run in self.runs:
            offset, length = run.place(part)
            self.drawer.file.seek(offset)
            yield self.drawer.file.read(length)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Rows so far: tables of person, group and number of rows, and what went to the file before."""

    tables: tuple[pa.Table, ...] = ()
    pairs: int = 0
    spill: Spill | None = None


@final
@dataclass(frozen=True, slots=True)
class PersonCounts:
    """The rows of each person, and the groups they lie in where a column of groups is named.

    `held` is how many counts stay in memory; it changes no result.
    """

    person: str
    group: str | None = None
    held: int = _HELD

    def check_schema(self, schema: pa.Schema) -> None:
        """Persons are told apart by whole numbers, texts, dates or times; nothing else is exact."""
        for name in self.reads():
            if name not in schema.names:
                raise SchemaError.missing_column(name, schema.names)
        kind = _plain(schema.field(self.person).type)
        if not (pa.types.is_integer(kind) or _is_text(kind) or pa.types.is_temporal(kind)):
            raise SchemaError(
                f"The column {self.person!r} says whose row it is and holds {kind}. "
                "Use whole numbers, texts or dates."
            )

    def reads(self) -> tuple[str, ...]:
        """The person's column, and that of groups."""
        return (self.person,) if self.group in {None, self.person} else (self.person, str(self.group))

    def init(self) -> Tally:
        """No rows."""
        return Tally()

    def update(self, state: Tally, batch: pa.RecordBatch) -> Tally:
        """These rows too; a row of nobody is refused."""
        persons = _decoded(batch.column(self.person))
        if persons.null_count:
            row = int(np.argmax(persons.is_null().to_numpy(zero_copy_only=False)))
            raise SchemaError.bad_value(
                self.person, row, "no person", "Say whose row it is, or leave it out."
            )
        groups = pa.nulls(len(persons)) if self.group is None else _decoded(batch.column(self.group))
        columns = [persons, groups, pa.array(np.ones(len(persons), np.int64))]
        return self._with(state, pa.table(columns, [_PERSON, _GROUP, _ROWS]))

    def merge(self, one: Tally, two: Tally) -> Tally:
        """The rows of both; what the second wrote is copied behind what the first wrote."""
        spill = one.spill or two.spill
        if one.spill is not None and two.spill is not None:
            spill = one.spill
            for run in two.spill.runs:
                whole = Spill(two.spill.drawer, (run,))
                spill = spill.with_run([next(whole.pieces(part)) for part in range(_PARTS)])
        merged = Tally(one.tables, one.pairs, spill)
        for table in two.tables:
            merged = self._with(merged, table)
        return merged

    def counts(self, state: Tally) -> Iterator[pa.Table]:
        """Tables of `person`, `rows` and `groups`, the number of groups; each person once."""
        if state.spill is None:
            yield _by_person(state.tables)
            return
        spill = _spilled(state).spill
        for part in range(_PARTS):
            pieces = [] if spill is None else list(spill.pieces(part))
            yield _by_person(tuple(pa.ipc.open_stream(piece).read_all() for piece in pieces if piece))

    def check(self, state: Tally, at_most: int) -> None:
        """Refuse a person with more rows than that, and, where groups are named, in more than one group."""
        many = _Found()
        astray = _Found()
        for table in self.counts(state):
            many = many.seen(table.filter(pc.greater(table[_ROWS], at_most)))
            if self.group is not None:
                astray = astray.seen(table.filter(pc.greater(table["groups"], 1)))
        if many.number:
            raise UnboundedSensitivity(
                f"{many.number} of {self.person!r} have more than {at_most} rows each; {many.person!r} has "
                f"{many.rows}. Nothing was charged. Leave rows out, by a rule that looks at no protected "
                "value, or make a ledger with a larger at_most."
            )
        if astray.number:
            raise UnboundedSensitivity(
                f"{astray.number} of {self.person!r} lie in more than one group of {self.group!r}, such as "
                f"{astray.person!r}, so groups cannot be charged apart. Nothing was charged. Release the "
                "whole, or name groups that keep each person together."
            )

    def _with(self, state: Tally, table: pa.Table) -> Tally:
        """The table too, made smaller or written away once there is too much in memory."""
        tables, pairs = (*state.tables, table), state.pairs + table.num_rows
        if pairs <= self.held:
            return Tally(tables, pairs, state.spill)
        whole = _by_pair(tables)
        state = Tally((whole,), whole.num_rows, state.spill)
        return state if 2 * whole.num_rows <= self.held else _spilled(state)


@final
@dataclass(frozen=True, slots=True)
class _Found:
    """How many persons were met, and one of them."""

    number: int = 0
    person: object = None
    rows: int = 0

    def seen(self, table: pa.Table) -> _Found:
        if not table.num_rows:
            return self
        first = self.person, self.rows
        if not self.number:
            first = table[_PERSON][0].as_py(), table[_ROWS][0].as_py()
        return _Found(self.number + table.num_rows, *first)


def _spilled(state: Tally) -> Tally:
    """Everything in the file."""
    if not state.tables:
        return state
    spill = state.spill or Spill(Drawer.new())
    table = _by_pair(state.tables)
    parts = _parts(table[_PERSON])
    order = np.argsort(parts, kind="stable")
    ends = np.searchsorted(parts[order], np.arange(_PARTS), side="right")
    table = table.take(pa.array(order)).combine_chunks()
    starts = np.concatenate([[0], ends[:-1]])
    pieces = [
        _stream(table.slice(start, end - start)) if end > start else b""
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    return Tally((), 0, spill.with_run(pieces))


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def _parts(persons: pa.ChunkedArray) -> NDArray[np.uint8]:
    """The part that each person belongs to: the same person always to the same one."""
    if _is_text(persons.type):
        sums = (zlib.crc32(one) for one in persons.cast(pa.large_binary()).to_pylist())
        numbers = np.fromiter(sums, np.uint64, len(persons))
    else:
        numbers = np.asarray(persons.cast(_whole(persons.type))).astype(np.int64).view(np.uint64)
    return np.asarray((numbers * _ODD) >> np.uint64(56), dtype=np.uint8)


def _whole(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_unsigned_integer(kind):
        return pa.uint64()
    return pa.int32() if pa.types.is_date32(kind) or pa.types.is_time32(kind) else pa.int64()


def _by_pair(tables: tuple[pa.Table, ...]) -> pa.Table:
    """A row for each person and group."""
    summed = pa.concat_tables(tables).group_by([_PERSON, _GROUP]).aggregate([(_ROWS, "sum")])
    return summed.rename_columns([{f"{_ROWS}_sum": _ROWS}.get(name, name) for name in summed.column_names])


def _by_person(tables: tuple[pa.Table, ...]) -> pa.Table:
    """A row for each person, with the number of groups."""
    if not tables:
        return pa.table({_PERSON: pa.array([], pa.int64()), _ROWS: pa.array([], pa.int64()), "groups": []})
    each = _by_pair(tables)
    each = each.append_column("groups", pa.array(np.ones(each.num_rows, np.int64)))
    summed = each.group_by([_PERSON]).aggregate([(_ROWS, "sum"), ("groups", "sum")])
    names = {f"{_ROWS}_sum": _ROWS, "groups_sum": "groups"}
    return summed.rename_columns([names.get(name, name) for name in summed.column_names])


def _decoded(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
