"""Rows by the name of a file: which source reads it, and which types its columns are declared to have."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import suffice as sf
from suffice.core.errors import InputError

if TYPE_CHECKING:
    from suffice.core.protocols import Source
    from suffice.core.recipe import Recipe

__all__ = ["Dialect", "declared", "kind_of", "opened"]

_KINDS = {
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".parq": "Parquet",
    ".csv": "CSV",
    ".tsv": "CSV",
    ".txt": "CSV",
    ".data": "CSV",
    ".feather": "Feather",
    ".arrow": "Feather",
    ".ipc": "Feather",
}
_SOURCES = ("Parquet", "CSV", "Feather", "Features")


@final
@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text file is written, as far as the command line was told."""

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    null: tuple[str, ...] = ()

    def options(self, path: str) -> dict[str, Any]:
        """What a source of delimited text takes; a tab between fields where the file's name says so."""
        tab = "\t" if ".tsv" in Path(path).suffixes else None
        given = {
            "delimiter": self.delimiter or tab,
            "decimal": self.decimal,
            "encoding": self.encoding,
            "null_values": ["", *self.null] if self.null else None,
        }
        return {name: value for name, value in given.items() if value is not None}


def kind_of(path: str) -> str:
    """The kind of source that reads this file, folder or pattern, by the endings of its files."""
    for name in (path, *_inside(path)):
        for ending in reversed(Path(name).suffixes):
            if ending.lower() in _KINDS:
                return _KINDS[ending.lower()]
    raise InputError(
        f"What {path!r} holds cannot be told from its name. Give a file, a folder or a pattern of files "
        f"that end in {', '.join(_KINDS)}."
    )


def opened(source: str | Mapping[str, Any]) -> Source:
    """The source that a path, or a table with a kind, a path and options, stands for."""
    options = dict(source) if isinstance(source, Mapping) else {"path": source}
    if options.get("kind") == "Join":
        return _joined(options)
    path = options.pop("path", None)
    if not path or not isinstance(path, str | list):
        raise InputError(f"A source is a path, or a table with a path, and got {source!r}.")
    kind = options.pop("kind", None) or kind_of(path if isinstance(path, str) else path[0])
    if kind not in _SOURCES:
        raise InputError(f"A source is of kind {', '.join(_SOURCES)}, and got {kind!r}.")
    if kind == "CSV" and isinstance(path, str):
        options = {**Dialect().options(path), **options}
    try:
        made: Source = getattr(sf, kind)(path, **options)
    except TypeError as error:
        raise InputError(f"{kind} cannot be made from {sorted(options)}: {error}.") from error
    return made


def _joined(options: dict[str, Any]) -> Source:
    """Labels and features by their key; each side is a source of its own, features may be a feature table."""
    known = {"kind", "labels", "features", "on", "unmatched"}
    if set(options) - known or not {"labels", "features", "on"} <= set(options):
        raise InputError(f"A Join has labels, features, on and unmatched, and got {sorted(options)}.")
    labels, features = (opened(options[side]) for side in ("labels", "features"))
    return sf.Join(labels, features, on=options["on"], unmatched=options.get("unmatched", "refuse"))


def declared(path: str, dialect: Dialect, recipe: Recipe | None = None) -> Source:
    """The rows at a path; the columns of a text file have the types that the recipe needs of them."""
    if kind_of(path) != "CSV":
        return opened(path)
    options = {"kind": "CSV", "path": path, **dialect.options(path)}
    if recipe is None:
        return opened(options)
    there = set(opened(options).schema.names)
    types = {name: kind for name, kind in _types(recipe).items() if name in there}
    return opened({**options, "types": types})


def _types(recipe: Recipe) -> dict[str, str]:
    """Numbers as doubles, levels in the type of the first one."""
    types: dict[str, str] = {}
    for column in recipe.columns:
        parts = [column.first, column.second] if isinstance(column, sf.Cross) else [column]
        for part in parts:
            if isinstance(part, sf.Numeric):
                types[part.name] = "double"
            elif isinstance(part, sf.Categorical):
                types[part.name] = _level(part.levels[0])
    return types


def _level(level: object) -> str:
    if isinstance(level, bool):
        return "bool"
    return "int64" if isinstance(level, int) else "string"


def _inside(path: str) -> Iterator[str]:
    """Names of files in a folder, in a fixed order."""
    for folder, folders, files in os.walk(path):
        folders.sort()
        yield from (os.path.join(folder, file) for file in sorted(files))  # noqa: PTH118  a path stays text
