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

__all__ = ["fit"]

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
    model = sf.learners.MeanOperatorClassifier(loss=loss, alpha=_strength(alpha)).fit(
        source, loaded, rows=rows
    )
    table = _table(model, level)
    sf.save_model(model, out, overwrite=overwrite)
    Output(as_json, quiet).report(_facts(model, out, level, table), _told(model, out, level, table))


def _strength(written: str) -> float | str:
    if written == "noise":
        return written
    try:
        return float(written)
    except ValueError:
        raise InputError(f"--alpha is a number or noise, and got {written!r}.") from None


def _table(model: Any, level: float) -> list[_Row]:
    """The coefficients that predict, and the intervals around the unregularised ones."""
    intervals = model.interval(level)
    used = [*model.coef_[0], *model.intercept_]
    names = ("estimate", "error", "low", "high")
    return [
        {
            "name": str(name),
            "coefficient": float(coefficient),
            **{one: float(number[at]) for at, one in enumerate(names)},
        }
        for name, coefficient, *number in zip(
            intervals["name"], used, *(intervals[one] for one in names), strict=True
        )
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
    negative, positive = model.classes_
    shown = ("name", "coefficient", "error", "low", "high")
    rows = [[_cell(row[name]) for name in shown] for row in table]
    place = (
        "The noisy statistic is one that labels could give, and was used as it is."
        if model.inside_
        else "The noisy statistic was one that no labels could give; it was moved to the nearest that some "
        f"could (to within {model.projection_gap_:.2g})."
    )
    heads = ("column", "coefficient", "error", f"{level:.0%} from", "to")
    return "\n".join(
        [
            f"{out}: tells {positive!s} from {negative!s}.",
            columns(heads, rows),
            f"Strength of regularisation {model.alpha_:.4g}: {model.strength_}.",
            place,
            model.privacy_.sentence(),
        ]
    )


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return "-" if math.isnan(value) else f"{value:.5g}"
