"""`suffice fit`: a classifier from a release and public rows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import suffice as sf
from suffice.cli.data import Dialect, declared
from suffice.cli.option import Decimal, Delimiter, Encoding, Json, Null, Overwrite, Quiet, Trust
from suffice.cli.output import Output, columns, reported
from suffice.core.errors import InputError, UnsupportedPair

__all__ = ["fit", "strength"]

_Row = dict[str, str | float]


@reported
def fit(
    release: Annotated[Path, typer.Argument(help="The release to learn from.")],
    data: Annotated[
        str,
        typer.Argument(
            help="The public rows: a .parquet, .csv, .tsv or .feather file, a folder or a pattern."
        ),
    ],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The model file to write.")],
    loss: Annotated[
        str, typer.Option("--loss", help="One of logistic, square, matsushita, modified_huber, unhinged.")
    ] = "logistic",
    alpha: Annotated[
        str,
        typer.Option(
            "--alpha", help="Strength of regularisation: a number, or noise: chosen from public facts."
        ),
    ] = "noise",
    rows: Annotated[
        Literal["same", "sample"],
        typer.Option(
            "--rows", help="same: the owner's rows, in any order. sample: others of the same population."
        ),
    ] = "same",
    level: Annotated[float, typer.Option("--level", help="The confidence of the intervals.")] = 0.95,
    trust: Trust = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    null: Null = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn a classifier from a release and public rows.

    The rows are those that the release is of, in any order and without labels. Nothing is spent:
    the release was paid for once. The model file is opened with `suffice predict` or
    sf.load_model.
    """
    loaded = sf.load(release, trust=trust or None)
    if loaded.recipe is None:
        raise UnsupportedPair(f"A release of kind {loaded.kind} brings no recipe to learn with.")
    source = declared(data, Dialect(delimiter, decimal, encoding, tuple(null or ())), loaded.recipe)
    output = Output(as_json, quiet)
    model = sf.learners.MeanOperatorClassifier(loss=loss, alpha=strength(alpha))
    with output.progress("learning"):
        model.fit(source, loaded, rows=rows)
    table = _table(model, level)
    sf.save_model(model, out, overwrite=overwrite)
    output.report(_facts(model, out, level, table), _told(model, out, level, table))


def strength(written: str) -> float | str:
    """A strength of regularisation as it is typed: a number, or noise."""
    if written == "noise":
        return written
    try:
        return float(written)
    except ValueError:
        raise InputError(f"--alpha is a number or noise, and got {written!r}.") from None


def _table(model: Any, level: float) -> list[_Row]:
    """A line per coordinate: what predicts, and for two classes the interval around the unregularised one."""
    used = [[*row, last] for row, last in zip(model.coef_, model.intercept_, strict=True)]
    names = [str(name) for name in model.coef_names_]
    if len(used) > 1:
        classes = [str(one) for one in model.classes_]
        return [
            {"name": name, **{one: float(row[at]) for one, row in zip(classes, used, strict=True)}}
            for at, name in enumerate(names)
        ]
    found = model.interval(level)
    parts = {one: [float(number) for number in found[one]] for one in ("estimate", "error", "low", "high")}
    return [
        {"name": name, "coefficient": float(used[0][at]), **{one: parts[one][at] for one in parts}}
        for at, name in enumerate(names)
    ]


def _facts(model: Any, out: Path, level: float, table: list[_Row]) -> dict[str, Any]:
    return {
        "file": str(out),
        "classes": [getattr(one, "item", lambda one=one: one)() for one in model.classes_],
        "coefficients": table,
        "level": level,
        "alpha": float(model.alpha_),
        "strength": model.strength_,
        "inside": bool(model.inside_),
        "projection_gap": float(model.projection_gap_),
        "iterations": int(model.n_iter_),
        "privacy": model.privacy_.sentence(),
    }


def _told(model: Any, out: Path, level: float, table: list[_Row]) -> str:
    classes = [str(one) for one in model.classes_]
    heads = {name: name for name in table[0]} | {"name": "column", "low": f"{level:.0%} from", "high": "to"}
    heads.pop("estimate", None)
    rows = [[_cell(row[name]) for name in heads] for row in table]
    place = (
        "The noisy statistic is one that labels could give, and was used as it is."
        if model.inside_
        else "The noisy statistic was one that no labels could give; it was moved to the nearest that some "
        f"could (to within {model.projection_gap_:.2g})."
    )
    return "\n".join(
        [
            f"{out}: tells {classes[-1]} from {' and '.join(reversed(classes[:-1]))}.",
            "",
            columns(list(heads.values()), rows),
            "",
            f"Strength of regularisation {model.alpha_:.4g}: {model.strength_}.",
            place,
            model.privacy_.sentence(),
        ]
    )


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return "-" if math.isnan(value) else f"{value:.5g}"
