"""`suffice tune`: the best of several settings, judged by the release alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import suffice as sf
from suffice.cli.data import Dialect, declared
from suffice.cli.fit import strength
from suffice.cli.option import Decimal, Delimiter, Encoding, Json, Null, Overwrite, Quiet, Trust
from suffice.cli.output import Output, columns, reported
from suffice.core.errors import InputError, UnsupportedPair

__all__ = ["tune"]

_JUDGED = ("risk", "accuracy", "doubt")


@reported
def tune(
    release: Annotated[Path, typer.Argument(help="The release to learn from.")],
    data: Annotated[
        str,
        typer.Argument(
            help="The public rows: a .parquet, .csv, .tsv or .feather file, a folder or a pattern."
        ),
    ],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The model file to write.")],
    alpha: Annotated[
        str, typer.Option("--alpha", help="Strengths of regularisation, parted by commas; noise is one.")
    ] = "noise,1,0.1,0.01,0.001,0.0001,0.00001",
    loss: Annotated[
        str, typer.Option("--loss", help="Losses, parted by commas; several need --scoring accuracy.")
    ] = "logistic",
    l1_ratio: Annotated[
        str,
        typer.Option("--l1-ratio", help="Shares of the absolute values in the penalty, parted by commas."),
    ] = "0",
    scoring: Annotated[
        Literal["risk", "accuracy"],
        typer.Option("--scoring", help="What is predicted of each setting, and compared."),
    ] = "risk",
    rows: Annotated[
        Literal["same", "sample"],
        typer.Option(
            "--rows", help="same: the owner's rows, in any order. sample: others of the same population."
        ),
    ] = "same",
    trust: Trust = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    null: Null = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fit several settings to a release and keep the one that is predicted to do best.

    They are judged by the release itself, the law of its noise accounted for: no label is needed and
    nothing is spent. The model file is opened with `suffice predict` or sf.load_model.
    """
    loaded = sf.load(release, trust=trust or None)
    if loaded.recipe is None:
        raise UnsupportedPair(f"A release of kind {loaded.kind} brings no recipe to learn with.")
    source = declared(data, Dialect(delimiter, decimal, encoding, tuple(null or ())), loaded.recipe)
    grid = {"alpha": [strength(one) for one in _parted(alpha)], "loss": _parted(loss)}
    grid["l1_ratio"] = [_share(one) for one in _parted(l1_ratio)]
    output = Output(as_json, quiet)
    with output.progress("comparing"):
        model = sf.tune(
            sf.learners.MeanOperatorClassifier(), source, loaded, grid, scoring=scoring, rows=rows
        )
    sf.save_model(model, out, overwrite=overwrite)
    output.report(_facts(model, out, scoring), _told(model, out, scoring))


def _parted(written: str) -> list[Any]:
    return [one.strip() for one in written.split(",") if one.strip()]


def _share(written: str) -> float:
    try:
        return float(written)
    except ValueError:
        raise InputError(f"--l1-ratio takes numbers from 0 to 1, and got {written!r}.") from None


def _settings(model: Any) -> list[dict[str, Any]]:
    """A line per setting, in the order in which they were tried."""
    table = model.tuning_
    return [dict(zip(table, line, strict=True)) for line in zip(*table.values(), strict=True)]


def _facts(model: Any, out: Path, scoring: str) -> dict[str, Any]:
    return {
        "file": str(out),
        "scoring": scoring,
        "settings": _settings(model),
        "chosen": {name: getattr(model, name) for name in model.tuning_ if name not in _JUDGED},
        "privacy": model.privacy_.sentence(),
    }


def _told(model: Any, out: Path, scoring: str) -> str:
    lines = _settings(model)
    names = [name for name in lines[0] if name in _JUDGED or len({line[name] for line in lines}) > 1]
    kept = {name: getattr(model, name) for name in lines[0] if name not in _JUDGED}
    rows = [
        [
            *(_cell(line[name]) for name in names),
            "kept" if all(line[name] == value for name, value in kept.items()) else "",
        ]
        for line in lines
    ]
    heads = [f"predicted {name}" if name == scoring else name.replace("_", " ") for name in names]
    return "\n".join(
        [
            f"{out}: the best of {len(lines)} settings by the {scoring} that the release predicts.",
            "",
            columns([*heads, ""], rows),
            "",
            "Nothing was spent on the comparison, and no label was read.",
            model.privacy_.sentence(),
        ]
    )


def _cell(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)
