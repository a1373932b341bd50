"""Delimited text as a source, with types that are declared and never guessed from the rows.

A column that is not declared is text, exactly as written, so 007 stays 007. Types guessed from
rows would make the schema depend on values, and the schema is public.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.fs as pafs

from suffice.core.errors import InputError, SchemaError
from suffice.sources.frame import plain_schema, projected, refuse_missing
from suffice.sources.path import Constant, Paths, listing, partitions, with_constants

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["CSV", "Dialect", "TextFile"]

_BLOCK = 1 << 21
_PYTHON = {int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_()}
_WORDS = {"text": pa.string(), "number": pa.float64(), "integer": pa.int64()}
_CONVERSION = re.compile(
    r"In CSV column #(\d+):(?: Row #(\d+):)? CSV conversion error to (.+?): invalid value '(.*)'", re.DOTALL
)


@final
@dataclass(frozen=True, slots=True)
class Dialect:
    """How the text is written: what parts the fields, what stands for nothing, which letters are bytes."""

    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    decimal: str = "."
    null_values: tuple[str, ...] = ("",)
    names: tuple[str, ...] | None = None
    skip: int = 0
    strip: bool = False

    def __post_init__(self) -> None:
        """Refuse letters that are not one letter, and encodings that nobody knows."""
        for name in ("delimiter", "decimal"):
            if len(getattr(self, name)) != 1:
                raise InputError(f"{name}= is one letter, and got {getattr(self, name)!r}.")
        if len(self.quote) > 1:
            raise InputError(f"quote= is one letter, or empty for none, and got {self.quote!r}.")
        try:
            codecs.lookup(self.encoding)
        except LookupError as error:
            raise InputError(
                f"There is no encoding {self.encoding!r}; utf-8 and latin-1 are usual."
            ) from error

    def opened(
        self,
        path: str,
        filesystem: Any,
        *,
        types: dict[str, pa.DataType],
        columns: list[str],
        threads: bool = True,
    ) -> arrow_csv.CSVStreamingReader:
        """A reader of these columns, a block of the file at a time."""
        reading = arrow_csv.ReadOptions(
            use_threads=threads,
            block_size=_BLOCK,
            column_names=None if self.names is None else list(self.names),
            skip_rows=self.skip,
            encoding=self.encoding,
        )
        parsing = arrow_csv.ParseOptions(delimiter=self.delimiter, quote_char=self.quote or False)
        padded = [f" {value}" for value in self.null_values] if self.strip else []
        converting = arrow_csv.ConvertOptions(
            column_types=types,
            include_columns=columns,
            null_values=[*self.null_values, *padded],
            strings_can_be_null=True,
            decimal_point=self.decimal,
        )
        home = pafs.LocalFileSystem() if filesystem is None else filesystem
        return arrow_csv.open_csv(home.open_input_stream(path), reading, parsing, converting)

    def stripped(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Text without the blanks around it, where that was asked for."""
        if not self.strip:
            return batch
        arrays = [
            self._trimmed(column) if pa.types.is_string(column.type) else column for column in batch.columns
        ]
        return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)

    def _trimmed(self, column: pa.Array) -> pa.Array:
        bare = pc.utf8_trim_whitespace(column)
        absent = pc.is_in(bare, value_set=pa.array(self.null_values, pa.string()))
        return pc.if_else(absent, pa.scalar(None, pa.string()), bare)


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class CSV:
    """One or several delimited text files with the same columns.

    `types` declares columns that are not text: {"age": int, "income": float, "member": bool}, or
    any Arrow type or its name. `null_values` are the texts that stand for a missing value.
    `names` gives the columns of a file without a header, `skip` passes over lines in front, and
    `strip` removes blanks around texts.
    """

    name: str
    schema: pa.Schema
    partition_columns: tuple[str, ...]
    files: tuple[str, ...]
    constants: tuple[tuple[Constant, ...], ...]
    dialect: Dialect
    filesystem: Any

    def __init__(  # noqa: PLR0913  every dialect of text has its own
        self,
        path: Paths,
        *,
        types: Mapping[str, object] | None = None,
        delimiter: str = ",",
        quote: str = '"',
        encoding: str = "utf-8",
        decimal: str = ".",
        null_values: Sequence[str] = ("",),
        names: Sequence[str] | None = None,
        skip: int = 0,
        strip: bool = False,
        filesystem: Any = None,
    ) -> None:
        called = None if names is None else tuple(names)
        dialect = Dialect(delimiter, quote, encoding, decimal, _texts(null_values), called, skip, strip)
        listed = listing(path, filesystem, (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".data"))
        found = [_header(file, listed.filesystem, dialect) for file in listed.files]
        for file, columns in zip(listed.files, found, strict=True):
            if set(columns) != set(found[0]):
                raise SchemaError(
                    f"The columns of {file!r} are {columns}, and of {listed.files[0]!r} {found[0]}. "
                    "All files of one source need the same columns."
                )
        declared = {column: _type(column, kind) for column, kind in (types or {}).items()}
        refuse_missing(declared, found[0])
        stated = partitions(listed.files)
        added = [part for part in stated[0] if part.name not in found[0]]
        fields = [pa.field(column, declared.get(column, pa.string())) for column in found[0]]
        for field, value in {
            "name": listed.name,
            "schema": pa.schema([*fields, *(pa.field(part.name, part.kind) for part in added)]),
            "partition_columns": tuple(part.name for part in stated[0]),
            "files": listed.files,
            "constants": tuple(tuple(p for p in parts if p.name not in found[0]) for parts in stated),
            "dialect": dialect,
            "filesystem": listed.filesystem,
        }.items():
            object.__setattr__(self, field, value)

    def __repr__(self) -> str:
        """As it was asked for."""
        return f"CSV({self.name!r})"

    @property
    def rows(self) -> None:
        """Nobody knows how many rows a text file has before it was read."""
        return

    def fragments(self, columns: Sequence[str]) -> Iterable[TextFile]:
        """One fragment per file."""
        refuse_missing(columns, self.schema.names)
        schema = pa.schema([self.schema.field(name) for name in columns])
        spare = self.schema.names[0]
        for at, constants in enumerate(self.constants):
            yield TextFile(self.files, at, schema, constants, self.dialect, self.filesystem, spare)

    def suggested_types(self, columns: Sequence[str] | None = None) -> dict[str, str]:
        """Types that the beginning of the first file suggests, for the owner to look at and to declare.

        Only the columns asked for are looked at, or all of them.

        They come from rows, so nothing uses them before a person has written them down. Numbers
        with leading zeros stay text.
        """
        stored = [name for name in self.schema.names if name not in {part.name for part in self.constants[0]}]
        if columns is not None:
            refuse_missing(columns, self.schema.names)
            stored = [name for name in stored if name in columns]
        guessed = self._beginning({}, stored)
        texts = self._beginning(dict.fromkeys(stored, pa.string()), stored)
        return {name: _suggestion(guessed.column(name), texts.column(name)) for name in stored}

    def _beginning(self, types: dict[str, pa.DataType], stored: list[str]) -> pa.RecordBatch:
        try:
            with self.dialect.opened(self.files[0], self.filesystem, types=types, columns=stored) as reader:
                return self.dialect.stripped(next(iter(reader)))
        except StopIteration:
            return pa.RecordBatch.from_arrays([pa.nulls(0)] * len(stored), names=stored)
        except (pa.ArrowException, OSError, UnicodeError) as error:
            raise _unreadable(self.files[0], error) from error


@final
@dataclass(frozen=True, slots=True)
class TextFile:
    """One text file, parsed a block at a time by whoever holds this."""

    files: tuple[str, ...]
    at: int
    schema: pa.Schema
    constants: tuple[Constant, ...]
    dialect: Dialect
    filesystem: Any
    spare: str

    @property
    def id(self) -> str:
        """The path of the file."""
        return self.files[self.at]

    @property
    def start(self) -> int:
        """How many rows the files before have; they are read to know, which only errors ask for."""
        return sum(self._rows(file) for file in self.files[: self.at])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, a block of the file at a time."""
        stated = {part.name: part for part in self.constants}
        types = {field.name: field.type for field in self.schema if field.name not in stated}
        try:
            with self._opened(types) as reader:
                for batch in reader:
                    if batch.num_rows:
                        whole = with_constants(self.dialect.stripped(batch), stated, self.schema)
                        yield projected(whole, self.schema)
        except (pa.ArrowException, OSError, UnicodeError) as error:
            raise self._explained(error, types) from error

    def _opened(self, types: dict[str, pa.DataType], *, threads: bool = True) -> arrow_csv.CSVStreamingReader:
        columns = list(types) or [self.spare]
        types = types or {self.spare: pa.string()}
        return self.dialect.opened(self.id, self.filesystem, types=types, columns=columns, threads=threads)

    def _rows(self, file: str) -> int:
        with self.dialect.opened(
            file, self.filesystem, types={self.spare: pa.string()}, columns=[self.spare]
        ) as reader:
            return sum(batch.num_rows for batch in reader)

    def _explained(self, error: Exception, types: dict[str, pa.DataType]) -> InputError:
        """The error with the first bad row's place, found by reading once more in order."""
        if _CONVERSION.search(str(error)) is None:
            return _unreadable(self.id, error)
        for name, kind in types.items():
            if (found := self._first_bad(name, kind)) is not None:
                row, value = found
                return SchemaError.bad_value(
                    name,
                    self.start + row,
                    f"the text {value!r}, and {kind} was declared",
                    "Declare another type, or add the text to null_values= if it stands for nothing.",
                )
        return _unreadable(self.id, error)

    def _first_bad(self, name: str, kind: pa.DataType) -> tuple[int, str] | None:
        """The first row of the file whose text is not of this type."""
        try:
            with self._opened({name: kind}, threads=False) as reader:
                for _ in reader:
                    pass
        except pa.ArrowInvalid as error:
            found = _CONVERSION.search(str(error))
            if found is not None and found[2] is not None:
                before = 1 + self.dialect.skip + (self.dialect.names is None)
                return int(found[2]) - before, found[4]
        return None


def _header(path: str, filesystem: Any, dialect: Dialect) -> list[str]:
    """The names of the columns; what the first block suggests about types is thrown away."""
    try:
        with dialect.opened(path, filesystem, types={}, columns=[]) as reader:
            return list(plain_schema(reader.schema).names)
    except SchemaError as error:
        raise SchemaError(f"In the header of {path!r}: {error}") from error
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: Exception) -> InputError:
    return InputError(
        f"The file {path!r} cannot be read as delimited text: {error}. "
        "State delimiter=, quote=, encoding=, decimal=, names= or skip= as the file is written."
    )


def _texts(values: Sequence[str]) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else tuple(values)


def _type(column: str, kind: object) -> pa.DataType:
    if isinstance(kind, pa.DataType):
        return kind
    if isinstance(kind, type) and kind in _PYTHON:
        return _PYTHON[kind]
    if isinstance(kind, str):
        try:
            return _WORDS.get(kind) or pa.type_for_alias(kind)
        except ValueError:
            pass
    raise InputError(
        f"types= says {kind!r} for column {column!r}, which is no type. "
        "Write int, float, str, bool, an Arrow type, or its name such as 'float32'."
    )


def _suggestion(guess: pa.Array, text: pa.Array) -> str:
    kind = guess.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        return "string"
    zeros = pc.any(pc.match_substring_regex(text, r"^\s*[+-]?0\d")).as_py()
    return "string" if zeros else str(kind)
