"""A DuckDB query or table as a source, streamed. Only this file knows DuckDB."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import pyarrow as pa

from suffice.core.errors import InputError, MissingExtra, SchemaError
from suffice.sources.frame import plain_schema, projected, refuse_missing, rows_per_batch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["DuckDB", "Result"]

_TABLE = re.compile(r'(?:\w+|"[^"]+")(?:\.(?:\w+|"[^"]+")){0,2}')


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class DuckDB:
    """The rows of a query or of a table.

    `database` is the path of a database file, which is opened for reading only; an open
    connection; or None for queries over files, such as "SELECT * FROM 'sales/*.parquet'". With a
    connection the source cannot be sent to another process, and tables that are temporary to that
    connection are not seen.
    """

    name: str
    schema: pa.Schema
    database: Any

    def __init__(self, query: str, database: Any = None) -> None:
        text = query.strip().rstrip(";").strip()
        home = os.fspath(database) if isinstance(database, str | os.PathLike) else database
        for field, value in (("name", text), ("database", home)):
            object.__setattr__(self, field, value)
        object.__setattr__(self, "schema", _schema(text, home))

    def __repr__(self) -> str:
        """The query."""
        return f"DuckDB({self.name!r})"

    @property
    def assumes(self) -> tuple[str, ...]:
        """What a guarantee on these rows rests on, in words."""
        return ("the query keeps and orders rows by columns that are not protected",)

    @property
    def rows(self) -> None:
        """Nobody knows before the query has run."""
        return

    def fragments(self, columns: Sequence[str]) -> Iterable[Result]:
        """One fragment: DuckDB itself uses the processors."""
        refuse_missing(columns, self.schema.names)
        yield Result(self.name, self.database, pa.schema([self.schema.field(name) for name in columns]))


@final
@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """The result of the query, as far as the columns asked for."""

    query: str
    database: Any
    schema: pa.Schema

    @property
    def id(self) -> str:
        """The query."""
        return self.query

    @property
    def start(self) -> int:
        """Nothing comes before."""
        return 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, a batch at a time, while the query runs."""
        chosen = ", ".join(_quoted(name) for name in self.schema.names) or "1"
        with _connected(self.database) as connection:
            try:
                relation = connection.sql(f"SELECT {chosen} FROM {_from(self.query)}")  # noqa: S608
                for batch in _reader(relation, rows_per_batch(len(self.schema.names))):
                    yield projected(batch, self.schema)
            except (_library().Error, pa.ArrowException, OSError) as error:
                raise _refused(self.query, error) from error


def _library() -> Any:
    try:
        import duckdb  # noqa: PLC0415  an extra
    except ImportError as error:
        raise MissingExtra.named("duckdb", "duckdb") from error
    return duckdb


def _connected(database: Any) -> Any:
    """A connection of its own for each reader: one with an open result takes no other query."""
    library = _library()
    if database is not None and not isinstance(database, str):
        return database.cursor()
    try:
        return library.connect(database or ":memory:", read_only=database is not None)
    except library.Error as error:
        raise InputError(
            f"The database {database!r} cannot be opened for reading: {error}. If this program has it open "
            "already, give the connection: DuckDB(query, database=connection)."
        ) from error


def _schema(query: str, database: Any) -> pa.Schema:
    """Names and types, from a result of no rows."""
    with _connected(database) as connection:
        try:
            relation = connection.sql(f"SELECT * FROM {_from(query)} LIMIT 0")  # noqa: S608
            found = _reader(relation, 1).schema
        except _library().Error as error:
            raise _refused(query, error) from error
    try:
        return plain_schema(found)
    except SchemaError as error:
        raise SchemaError(f"In the result of {query!r}: {error}") from error


def _reader(relation: Any, rows: int) -> pa.RecordBatchReader:
    """The streaming reader, by the name that this version of DuckDB has for it."""
    stream = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
    return stream(rows)


def _from(query: str) -> str:
    """A table by its name, anything else as a subquery."""
    return query if _TABLE.fullmatch(query) else f"({query})"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _refused(query: str, error: Exception) -> InputError:
    return InputError(f"DuckDB does not answer {query!r}: {error}")
