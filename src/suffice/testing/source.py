"""What a source must fulfil: pieces that travel, say where they begin, and hold every row once."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from suffice.core.errors import SufficeError
from suffice.testing.law import must, trying

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suffice.core.protocols import Fragment, Source

__all__ = ["check_source"]

_MOST_BATCH = 1 << 20


def check_source(source: Source) -> None:
    """Raise LawBroken unless the source keeps every law. It is read some ten times; give it few rows."""
    _check_names(source)
    names = source.schema.names
    whole = _read(source, names)
    _check_pieces(source, names, whole)
    for columns in dict.fromkeys((tuple(names[:1]), tuple(names[::-1]), tuple(names[1:] or names))):
        part = _read(source, columns)
        must(
            part.equals(whole.select(list(columns))),
            "fewer columns are the same columns",
            f"Reading {list(columns)} gives other values than reading all.",
        )
    _check_missing(source)
    _check_count(source, whole)


def _check_names(source: Source) -> None:
    must(
        isinstance(source.name, str) and source.name.strip(), "a source has a name", f"It is {source.name!r}."
    )
    schema = source.schema
    must(isinstance(schema, pa.Schema), "the schema is one of Arrow", f"It is a {type(schema).__name__}.")
    must(len(set(schema.names)) == len(schema.names) > 0, "names of columns are distinct", f"{schema.names}.")
    must(not schema.metadata, "the schema carries no metadata", f"It carries {list(schema.metadata or ())}.")
    must(source.schema.equals(schema), "the schema stays what it is", "It changed between two looks.")


def _pieces(source: Source, columns: Sequence[str]) -> list[Fragment]:
    return list(source.fragments(tuple(columns)))


def _rows(fragment: Fragment, expected: pa.Schema) -> pa.Table:
    batches = list(fragment.batches())
    for batch in batches:
        must(
            batch.schema.names == expected.names,
            "a fragment holds the columns that were asked for, in their order",
            f"Asked were {expected.names}, and it holds {batch.schema.names}.",
        )
        must(
            batch.schema.equals(expected),
            "batches have the types of the schema",
            f"The schema says {expected.types}, and a batch has {batch.schema.types}.",
        )
        must(
            batch.num_rows <= _MOST_BATCH,
            "a batch has a bounded number of rows",
            f"One has {batch.num_rows}.",
        )
    return pa.Table.from_batches(batches, expected)


def _expected(source: Source, columns: Sequence[str]) -> pa.Schema:
    return pa.schema([source.schema.field(name) for name in columns])


def _read(source: Source, columns: Sequence[str]) -> pa.Table:
    expected = _expected(source, columns)
    return pa.concat_tables([_rows(one, expected) for one in _pieces(source, columns)]).combine_chunks()


def _check_pieces(source: Source, columns: Sequence[str], whole: pa.Table) -> None:
    pieces, again, expected = _pieces(source, columns), _pieces(source, columns), _expected(source, columns)
    ids = [piece.id for piece in pieces]
    must(len(set(ids)) == len(ids), "no two fragments share an id", f"They are {ids[:8]}.")
    must(
        ids == [piece.id for piece in again], "the same fragment has the same id", f"Before it was {ids[:8]}."
    )
    at = 0
    for piece in pieces:
        rows = _rows(piece, expected)
        law = "a fragment's start is the number of rows before it"
        must(piece.start == at, law, f"{piece.id!r} says {piece.start}, and {at} rows come before it.")
        must(
            _rows(piece, expected).equals(rows),
            "a fragment can be read again",
            f"{piece.id!r} gave other rows the second time.",
        )
        with trying("a fragment can be sent to a worker", f"pickling {piece.id!r}"):
            sent: Any = ForkingPickler.loads(ForkingPickler.dumps(piece))
            must(
                sent.id == piece.id and _rows(sent, expected).equals(rows),
                "a fragment that was sent reads the same rows",
                f"{piece.id!r} does not.",
            )
        at += rows.num_rows
    must(
        at == whole.num_rows,
        "all fragments together hold every row once",
        f"{at} rows, and {whole.num_rows}.",
    )


def _check_missing(source: Source) -> None:
    """A column that is not there is an error in words, at the latest when the first row is read."""
    law, absent = "a column that is not there is refused", "_".join(["no", "such", *source.schema.names])
    try:
        read = [batch.num_rows for piece in _pieces(source, [absent]) for batch in piece.batches()]
    except (SufficeError, KeyError, ValueError):
        return
    must(not read, law, f"Asked for {absent!r}, the source gave {sum(read)} rows.")


def _check_count(source: Source, whole: pa.Table) -> None:
    count = getattr(source, "rows", None)
    must(
        count is None or count == whole.num_rows,
        "rows is how many rows there are, or None",
        f"It is {count}, and {whole.num_rows} were read.",
    )
