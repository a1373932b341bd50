"""`suffice predict`: classes, or their probabilities, of new rows."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated, Any

import typer

import suffice as sf
from suffice.cli.data import Dialect, declared, kind_of
from suffice.cli.option import Decimal, Delimiter, Encoding, Json, Null, Overwrite, Quiet
from suffice.cli.output import Output, reported
from suffice.core.errors import InputError
from suffice.releases import file

__all__ = ["predict"]


@reported
def predict(
    model: Annotated[Path, typer.Argument(help="A model file that `suffice fit` wrote.")],
    data: Annotated[
        str, typer.Argument(help="The rows: a .parquet, .csv, .tsv or .feather file, a folder or a pattern.")
    ],
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The predictions to write: .csv, .tsv, .parquet or .feather.")
    ],
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    null: Null = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict the class of each row, in the order of the rows."""
    kind = kind_of(str(out))
    known = sf.load_model(model)
    recipe = getattr(known, "recipe_", None)
    source = declared(data, Dialect(delimiter, decimal, encoding, tuple(null or ())), recipe)
    found: dict[str, Any] = {"prediction": known.predict(source)}
    if proba:
        chances = known.predict_proba(source)
        found |= {f"probability {name}": chances[:, at] for at, name in enumerate(known.classes_)}
    file.write(out, _written(found, kind, out), overwrite=overwrite)
    counts = {str(name): int((found["prediction"] == name).sum()) for name in known.classes_}
    total = sum(counts.values())
    told = ", ".join(f"{count} {name}" for name, count in counts.items())
    Output(as_json, quiet).report(
        {"file": str(out), "rows": total, "counts": counts}, f"{out}: {total} predictions ({told})."
    )


def _written(columns: dict[str, Any], kind: str, out: Path) -> bytes:
    """The columns in the format that the file's name says."""
    import pyarrow as pa  # noqa: PLC0415  the help page loads no pyarrow
    import pyarrow.csv  # noqa: PLC0415
    import pyarrow.feather  # noqa: PLC0415
    import pyarrow.parquet  # noqa: PLC0415

    table, sink = pa.table(columns), io.BytesIO()
    if kind == "Parquet":
        pa.parquet.write_table(table, sink)
    elif kind == "Feather":
        pa.feather.write_feather(table, sink)
    elif out.suffix in {".csv", ".tsv"}:
        options = pa.csv.WriteOptions(delimiter="\t" if out.suffix == ".tsv" else ",", quoting_style="needed")
        pa.csv.write_csv(table, sink, options)
    else:
        raise InputError(
            f"Predictions are written as .csv, .tsv, .parquet or .feather, and got {str(out)!r}."
        )
    return sink.getvalue()
