"""Which files a path, a pattern, a folder or a list names, and what their folders say."""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs

from suffice.core.errors import InputError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Constant", "Listing", "Paths", "listing", "partitions", "refuse_difference", "with_constants"]

Paths = str | os.PathLike[str] | list[str | os.PathLike[str]] | tuple[str | os.PathLike[str], ...]
_WILD = re.compile(r"[*?\[]")
_NULL = "__HIVE_DEFAULT_PARTITION__"


@final
@dataclass(frozen=True, slots=True)
class Listing:
    """The files, in order of their paths, the name that they were asked for by, and where they lie."""

    name: str
    files: tuple[str, ...]
    filesystem: Any


@final
@dataclass(frozen=True, slots=True)
class Constant:
    """A column that has one value in all rows of a file, since the file's folder says so."""

    name: str
    value: int | str | None
    kind: pa.DataType

    def column(self, rows: int) -> pa.Array:
        """The value, so many times."""
        return pa.repeat(pa.scalar(self.value, self.kind), rows)


def listing(path: Paths, filesystem: Any, suffixes: tuple[str, ...]) -> Listing:
    """Every file that is meant; folders are searched for the suffixes, hidden files are passed over."""
    asked = [os.fspath(one) for one in path] if isinstance(path, list | tuple) else [os.fspath(path)]
    if not asked:
        raise InputError("The list of files is empty.")
    name = ", ".join(asked)
    if filesystem is None and "://" in asked[0]:
        filesystem, _ = pafs.FileSystem.from_uri(asked[0])
        asked = [pafs.FileSystem.from_uri(one)[1] for one in asked]
    elif filesystem is not None and not isinstance(filesystem, pafs.FileSystem):
        filesystem = pafs.PyFileSystem(pafs.FSSpecHandler(filesystem))
    files = [file for one in asked for file in _expanded(one, filesystem, suffixes)]
    if len(set(files)) != len(files):
        twice = next(file for file in files if files.count(file) > 1)
        raise InputError(f"The file {twice!r} is listed twice, and its rows would count twice. List it once.")
    return Listing(name, tuple(files), filesystem)


def _expanded(path: str, filesystem: Any, suffixes: tuple[str, ...]) -> list[str]:
    found = _local(path, suffixes) if filesystem is None else _remote(path, filesystem, suffixes)
    if not found:
        raise InputError(
            f"No file is found at {path!r}. Give a file, a folder that holds {' or '.join(suffixes)} files, "
            "a pattern such as 'sales/*.parquet', or a list of these."
        )
    return sorted(found)


def _local(path: str, suffixes: tuple[str, ...]) -> list[str]:
    if os.path.isdir(path):  # noqa: PTH112  a path stays the string that was given
        return [
            os.path.join(folder, file)  # noqa: PTH118
            for folder, _, files in os.walk(path)
            for file in files
            if _wanted(os.path.relpath(os.path.join(folder, file), path), suffixes)  # noqa: PTH118
        ]
    if os.path.isfile(path):  # noqa: PTH113
        return [path]
    found = glob.glob(path, recursive=True, include_hidden=True)  # noqa: PTH207
    return [file for file in found if os.path.isfile(file) and _meant(file, path)]  # noqa: PTH113


def _remote(path: str, filesystem: Any, suffixes: tuple[str, ...]) -> list[str]:
    wild = _WILD.search(path)
    if wild is None:
        info = filesystem.get_file_info(path)
        if info.type == pafs.FileType.File:
            return [path]
        folder, test = path, None
    else:
        folder, test = _fixed(path), re.compile(_expression(path))
    found = filesystem.get_file_info(pafs.FileSelector(folder, recursive=True, allow_not_found=True))
    files = [info.path for info in found if info.type == pafs.FileType.File]
    if test is not None:
        return [file for file in files if test.fullmatch(file) and _meant(file, path)]
    return [file for file in files if _wanted(file[len(folder) :].lstrip("/"), suffixes)]


def _wanted(relative: str, suffixes: tuple[str, ...]) -> bool:
    return relative.endswith(suffixes) and not _hidden(relative)


def _meant(file: str, pattern: str) -> bool:
    """A wildcard stands for no hidden file or folder, unless the pattern itself has one behind it."""
    fixed = len(_fixed(pattern))
    return _hidden(pattern[fixed:]) or not _hidden(file[fixed:])


def _fixed(pattern: str) -> str:
    """The folder in front of the first wildcard."""
    wild = _WILD.search(pattern)
    before = pattern if wild is None else pattern[: wild.start()]
    return before.replace(os.sep, "/").rpartition("/")[0]


def _hidden(path: str) -> bool:
    """Names that begin with a dot or an underscore belong to whoever writes the files."""
    return any(part.startswith((".", "_")) for part in path.replace(os.sep, "/").split("/"))


def _expression(pattern: str) -> str:
    """A pattern as a regular expression: ** crosses folders, * and ? do not."""
    rules = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*/|\*\*|\*|\?|\[[^]]+\])", pattern)
    return "".join(
        rules.get(piece, piece if piece.startswith("[") and piece.endswith("]") else re.escape(piece))
        for piece in pieces
    )


def partitions(files: Sequence[str]) -> tuple[tuple[Constant, ...], ...]:
    """For each file the columns that its `key=value` folders state; whole numbers where all are."""
    stated = [_stated(file) for file in files]
    for file, pairs in zip(files, stated, strict=True):
        if pairs.keys() != stated[0].keys():
            raise SchemaError(
                f"The folders of {file!r} state {sorted(pairs)}, and of {files[0]!r} {sorted(stated[0])}. "
                "All files need the same key=value folders."
            )
    kinds = {key: _kind([pairs[key] for pairs in stated]) for key in stated[0]}
    return tuple(
        tuple(Constant(key, _valued(text, kinds[key]), kinds[key]) for key, text in pairs.items())
        for pairs in stated
    )


def _stated(file: str) -> dict[str, str | None]:
    folders = PurePosixPath(file.replace(os.sep, "/")).parts[:-1]
    pairs = [part.partition("=") for part in folders if "=" in part and not part.startswith("=")]
    return {unquote(key): None if value == _NULL else unquote(value) for key, _, value in pairs}


def _kind(values: Sequence[str | None]) -> pa.DataType:
    """Whole numbers only where each is written as one would write it: 01 stays text."""
    present = [value for value in values if value is not None]
    whole = all(re.fullmatch(r"0|-?[1-9]\d{0,17}", value) for value in present)
    return pa.int64() if present and whole else pa.string()


def _valued(text: str | None, kind: pa.DataType) -> int | str | None:
    return int(text) if text is not None and pa.types.is_integer(kind) else text


def with_constants(
    batch: pa.RecordBatch, stated: Mapping[str, Constant], schema: pa.Schema
) -> pa.RecordBatch:
    """The batch, and those columns of the schema that the folders state."""
    for part in stated.values():
        if part.name in schema.names:
            batch = batch.append_column(part.name, part.column(batch.num_rows))
    return batch


def refuse_difference(first: pa.Schema, other: pa.Schema, path: str, another: str) -> None:
    """Files of one source have the same columns and types; the order of columns is their own affair."""
    for one, two, here, there in ((first, other, path, another), (other, first, another, path)):
        for field in one:
            if field.name not in two.names:
                raise SchemaError(
                    f"The file {there!r} has no column {field.name!r}, and {here!r} has one. "
                    "All files of one source need the same columns."
                )
            kind = two.field(field.name).type
            if kind != field.type:
                raise SchemaError(
                    f"Column {field.name!r} holds {field.type} in {here!r} and {kind} in {there!r}. "
                    "Write all files with the same types."
                )
