"""`suffice check`: look at a file and write the spec of a release to edit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import suffice as sf
from suffice.cli.data import Dialect, kind_of, opened
from suffice.cli.option import Decimal, Delimiter, Encoding, Json, Null, Overwrite, Quiet
from suffice.cli.output import Output, columns, reported
from suffice.cli.profile import Profile, Seen, shown, sort_of
from suffice.cli.spec import STATE_ME, recipe_table, text
from suffice.core.errors import InputError, SchemaError
from suffice.releases import file

if TYPE_CHECKING:
    from suffice.core.protocols import Source

__all__ = ["check"]

_MOST_SHOWN = 5


@reported
def check(
    path: Annotated[
        str, typer.Argument(metavar="FILE", help="The owner's rows: a file, a folder or a pattern.")
    ],
    *,
    unit: Annotated[
        Literal["label", "record"],
        typer.Option("--unit", help="label: all but the label is public. record: nothing is public."),
    ],
    label: Annotated[str, typer.Option("--label", help="The column that holds the label.")],
    classes: Annotated[
        str | None,
        typer.Option("--classes", help="The label's classes, the negative one first: no,yes."),
    ] = None,
    chosen: Annotated[
        str | None,
        typer.Option("--columns", help="The feature columns, parted by commas; else all that are fit."),
    ] = None,
    left_out: Annotated[
        str | None, typer.Option("--leave-out", help="Columns that are no features, parted by commas.")
    ] = None,
    kinds: Annotated[
        list[str] | None,
        typer.Option(
            "--type", help="The type of a column of a text file, as in age=double; may be given again."
        ),
    ] = None,
    epsilon: Annotated[float, typer.Option("--epsilon", help="The epsilon that the spec starts with.")] = 1.0,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The spec.toml to write.")] = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    null: Null = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Look at a file and write the spec of a release.

    Under a label unit it looks at the public columns alone, never at a value of the label; what
    it learns there stands in the spec. Under a record unit it looks at no value, and the spec
    says STATE ME wherever only you can state something.
    """
    output = Output(as_json, quiet)
    dialect = Dialect(delimiter, decimal, encoding, tuple(null or ()))
    given = _source_table(path, dialect)
    source = opened(given)
    remarks: tuple[str, ...] = _LABEL_REMARKS if unit == "label" else _RECORD_REMARKS
    names = _features(source, label, _split(chosen), _split(left_out))
    types = dict(map(_type, kinds or ()))
    stated = _split(classes)
    if kind_of(path) == "CSV":
        given = _with_types(given, source, unit, names, types, label, stated)
        source = opened(given)
    statistic = _label(source, label, stated)
    if unit == "label":
        rows, learned = _learned(output, source, names, asked=chosen is not None)
        statistic |= {"bound": {"norm": 2, "public_quantile": 0.95}, **learned}
    else:
        rows, statistic["features"] = _unseen(source, names)
        statistic["bound"] = {"norm": 2, "radius": STATE_ME}
    mechanism = {"kind": "L2Laplace", "epsilon": epsilon}
    given = _read_types(given, {label, *(one["name"] for one in statistic["features"])})
    if out is not None:
        home = _from_folder(given, out.parent)
        file.write(out, text(home, statistic, mechanism, remarks).encode(), overwrite=overwrite)
    _answer(output, source, label, rows, out)


def _source_table(path: str, dialect: Dialect) -> str | dict[str, Any]:
    options = dialect.options(path) if kind_of(path) == "CSV" else {}
    return {"kind": "CSV", "path": path, **options} if options else path


def _features(source: Source, label: str, chosen: list[str], left_out: list[str]) -> list[str]:
    """The columns to look at: those asked for, or all but the label and those left out."""
    there = source.schema.names
    for name in (label, *chosen, *left_out):
        if name not in there:
            raise SchemaError.missing_column(name, there)
    if label in chosen:
        raise InputError(
            f"The label {label!r} is protected. It cannot be a feature: take it out of --columns."
        )
    return chosen or [name for name in there if name not in {label, *left_out}]


def _with_types(
    given: str | dict[str, Any],
    source: Any,
    unit: str,
    names: list[str],
    types: dict[str, str],
    label: str,
    classes: list[str],
) -> dict[str, Any]:
    """The declared types of a text file: as stated, suggested by public columns, or by the classes."""
    suggested = source.suggested_types(names) if unit == "label" else {}
    declared = {**suggested, label: _class_type(classes), **types}
    kept = {name: kind for name, kind in declared.items() if kind != "string"}
    table = {"kind": "CSV", "path": given} if isinstance(given, str) else dict(given)
    return {**table, "types": kept} if kept else table


def _read_types(given: str | dict[str, Any], read: set[str]) -> str | dict[str, Any]:
    """Only the types of columns that will be read, and a bare path where nothing else is left."""
    if isinstance(given, str):
        return given
    types = {name: kind for name, kind in given.get("types", {}).items() if name in read}
    rest = {name: value for name, value in given.items() if name != "types"}
    if not types and set(rest) == {"kind", "path"}:
        return str(rest["path"])
    return {**rest, "types": types} if types else rest


def _label(source: Source, label: str, classes: list[str]) -> dict[str, Any]:
    """The label and its classes in the type of the column, which is asked of the schema alone."""
    kind = str(source.schema.field(label).type)
    table: dict[str, Any] = {"kind": "MeanOperator", "label": label}
    if classes:
        return table | {"classes": [_class(one, kind) for one in classes]}
    if kind != "bool" and not kind.startswith(("int", "uint")):
        raise InputError(
            f"The label {label!r} holds {kind}, and its classes are not looked up in the data. "
            "State them, the negative one first: --classes no,yes."
        )
    return table


def _class(written: str, kind: str) -> str | int | bool:
    if kind == "bool" and written.lower() in {"true", "false"}:
        return written.lower() == "true"
    if kind.startswith(("int", "uint")):
        try:
            return int(written)
        except ValueError:
            raise InputError(f"The label holds {kind}, and {written!r} is no such class.") from None
    if kind == "bool":
        raise InputError(f"The label holds {kind}, and {written!r} is no such class. Write false,true.")
    return written


def _class_type(classes: list[str]) -> str:
    """What a text file's label is declared to be, by the spelling of the classes."""
    if classes and {one.lower() for one in classes} == {"false", "true"}:
        return "bool"
    whole = classes and all(one == str(int(one)) for one in classes if one.lstrip("-").isdecimal())
    return "int64" if whole and all(one.lstrip("-").isdecimal() for one in classes) else "string"


def _learned(
    output: Output, source: Source, names: list[str], *, asked: bool
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What the public columns say: a line for each, and the recipe of those that are fit."""
    with output.progress("looking at public columns") as progress:
        seen: dict[str, Seen] = sf.fold(Profile(tuple(names)), source, progress=progress)
    kinds = {name: str(source.schema.field(name).type) for name in names}
    trouble = {name: seen[name].trouble(kinds[name]) for name in names}
    kept = [name for name in names if asked or trouble[name] is None]
    if not kept:
        reasons = "; ".join(f"{name}: {why}" for name, why in trouble.items())
        raise InputError(f"No column is fit to be a feature: {reasons}.")
    with output.progress("learning centres, scales and levels") as progress:
        recipe = sf.Recipe.learn(source, columns=kept, missing="indicate", progress=progress)
    by_name = {
        column.name: column for column in recipe.columns if isinstance(column, sf.Numeric | sf.Categorical)
    }
    rows = [
        {
            "name": name,
            "type": kinds[name],
            "rows": seen[name].rows,
            "missing": seen[name].missing,
            "feature": name in kept,
            "values": _values(by_name.get(name)),
            "problem": trouble[name],
        }
        for name in names
    ]
    return rows, recipe_table(recipe)


def _unseen(source: Source, names: list[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What the schema says, and the columns with everything left to state."""
    rows, features = [], []
    for name in names:
        kind = str(source.schema.field(name).type)
        fit = sort_of(kind) != "other"
        problem = None if fit else f"{kind} is neither a number nor a level"
        rows.append({"name": name, "type": kind, "feature": fit, "values": STATE_ME, "problem": problem})
        if kind == "bool":
            features.append({"name": name, "kind": "Categorical", "levels": [False, True]})
        elif sort_of(kind) == "number":
            features.append({"name": name, "kind": "Numeric", "centre": STATE_ME, "scale": STATE_ME})
        elif fit:
            features.append({"name": name, "kind": "Categorical", "levels": [STATE_ME]})
    return rows, features


def _values(column: Any) -> str:
    if isinstance(column, sf.Numeric):
        return f"{column.centre:g} ± {column.scale:g}"
    if column is None:
        return ""
    shown = ", ".join(str(level) for level in column.levels[:_MOST_SHOWN])
    more = len(column.levels) - _MOST_SHOWN
    return shown + (f" and {more} more" if more > 0 else "")


def _answer(output: Output, source: Source, label: str, rows: list[dict[str, Any]], out: Path | None) -> None:
    heads = ("column", "type", "missing", "values", "")
    cells: list[tuple[object, ...]] = [
        (
            row["name"],
            shown(row["type"]),
            row.get("missing", ""),
            row["values"] if row["feature"] else "",
            _verdict(row),
        )
        for row in rows
    ]
    cells.append((label, shown(str(source.schema.field(label).type)), "", "", "the label; not looked at"))
    count = f", {rows[0]['rows']} rows" if rows and "rows" in rows[0] else ""
    lines = [f"{source.name}{count}", "", columns(heads, cells)]
    if out is not None:
        lines += [
            "",
            f"{out}: read it and change what you want. Next: suffice release {out} --ledger LEDGER --dry-run",
        ]
    spec = None if out is None else str(out)
    output.answer({"source": source.name, "columns": rows, "label": label, "spec": spec}, "\n".join(lines))


def _verdict(row: dict[str, Any]) -> str:
    if row["problem"] is None:
        return ""
    return str(row["problem"]) if row["feature"] else f"left out: {row['problem']}"


def _from_folder(given: str | dict[str, Any], folder: Path) -> str | dict[str, Any]:
    """The source with its path as seen from the spec's folder."""
    if isinstance(given, dict):
        return {**given, "path": _seen_from(given["path"], folder)}
    return _seen_from(given, folder)


def _seen_from(path: str, folder: Path) -> str:
    if "://" in path or os.path.isabs(path) or folder.resolve() == Path.cwd():  # noqa: PTH117  a path stays text
        return path
    return os.path.relpath(path, folder)


def _split(words: str | None) -> list[str]:
    return [word.strip() for word in words.split(",") if word.strip()] if words else []


def _type(written: str) -> tuple[str, str]:
    name, equals, kind = written.rpartition("=")
    if not equals or not name:
        raise InputError(f"--type is written COLUMN=TYPE, as in age=double, and got {written!r}.")
    return name, kind


_LABEL_REMARKS = (
    "A request for one release. Centres, scales and levels were learned from public columns.",
    'If you state all of them yourself without looking at the rows, say origin = "given".',
)
_RECORD_REMARKS = (
    "A request for one release. Nothing of a record is public, so no row was looked at.",
    f'State what says "{STATE_ME}" from common knowledge: a usual value as centre, a usual spread as',
    "scale, all levels that there can be, and a radius, such as 1.0, that most rows keep within.",
    'Add missing = "indicate" or unseen = "other" to a column that may hold such values.',
)
