"""`suffice features`: a public feature table from public rows, without their labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import suffice as sf
from suffice.cli.data import Dialect, opened
from suffice.cli.option import Decimal, Delimiter, Encoding, Json, Null, Overwrite, Quiet
from suffice.cli.output import Output, reported
from suffice.cli.spec import recipe_table
from suffice.cli.toml import document
from suffice.core.errors import InputError
from suffice.releases import file

__all__ = ["features"]


@reported
def features(
    kinds: Annotated[
        str,
        typer.Argument(
            metavar="KINDS",
            help="Families of coordinates, joined by +: spectral, columns, pca, fourier, nystroem, splines, "
            "kmeans; such as spectral+columns.",
        ),
    ],
    data: Annotated[str, typer.Argument(metavar="FILE", help="The public rows, without the label.")],
    *,
    key: Annotated[str, typer.Option("--key", help="The column that tells rows apart on both sides.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The feature table to write, .parquet.")],
    columns: Annotated[
        str | None,
        typer.Option("--columns", help="The columns to use, parted by commas; else all but the key."),
    ] = None,
    leave_out: Annotated[
        str | None,
        typer.Option("--leave-out", help="Columns not to use, parted by commas; the label, if it is there."),
    ] = None,
    components: Annotated[
        int, typer.Option("--components", min=1, help="Coordinates of the neighbour graph.")
    ] = 400,
    neighbours: Annotated[
        int, typer.Option("--neighbours", min=1, help="Neighbours that each row is joined to.")
    ] = 10,
    seed: Annotated[int, typer.Option("--seed", help="The same seed and rows give the same table.")] = 0,
    new: Annotated[
        str | None,
        typer.Option("--new", help="Rows to give the same coordinates without learning from them."),
    ] = None,
    new_out: Annotated[
        Path | None, typer.Option("--new-out", help="The table of the rows of --new, .parquet.")
    ] = None,
    recipe: Annotated[
        Path | None,
        typer.Option("--recipe", help="Also write a recipe.toml that weighs coordinates for a release."),
    ] = None,
    epsilon: Annotated[float, typer.Option("--epsilon", help="The epsilon that the recipe is for.")] = 1.0,
    delta: Annotated[float, typer.Option("--delta", help="Its delta; above 0 noise is Gaussian.")] = 0.0,
    classes: Annotated[
        int, typer.Option("--classes", min=2, help="How many classes the label of that release has.")
    ] = 2,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    null: Null = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn features from public rows and write a table that both sides can hold.

    No label is read, so nothing is spent. The label owner joins the table on its key, checks it and
    releases on it; `suffice fit` and `suffice predict` take the same tables.
    """
    output, dialect = Output(as_json, quiet), Dialect(delimiter, decimal, encoding, tuple(null or ()))
    if (new is None) != (new_out is None):
        raise InputError("--new and --new-out belong together: rows, and where their table goes.")
    source = _typed(data, dialect)
    left = {key, *_split(leave_out)}
    used = _split(columns) or [name for name in source.schema.names if name not in left]
    with output.progress("neighbours") as progress:
        spectral = sf.features.SpectralMap(
            components, neighbours=neighbours, random_state=seed, progress=progress
        )
        maps = {kind: spectral if kind == "spectral" else kind for kind in kinds.split("+")}
        learned = sf.features.FeatureMap(maps, columns=used, random_state=seed).fit(source)
    table = learned.table(source, key=key, provenance=f"from {Path(data).name}")
    table.write(out, overwrite=overwrite)
    if new is not None and new_out is not None:
        added = learned.table(_typed(new, dialect), key=key, provenance=f"from {Path(new).name}")
        added.write(new_out, overwrite=overwrite)
    if recipe is not None:
        mechanism = sf.Gaussian(epsilon=epsilon, delta=delta) if delta else sf.L2Laplace(epsilon=epsilon)
        written = document(_columns(recipe_table(table.recipe(mechanism, classes=classes))))
        file.write(recipe, written.encode(), overwrite=overwrite)
    output.report(
        {
            "file": str(out),
            "rows": len(table.keys),
            "coordinates": len(table.names),
            "fingerprint": table.fingerprint,
            "provenance": table.provenance,
            "recipe": None if recipe is None else str(recipe),
        },
        f"{out}: {len(table.names)} coordinates of {len(table.keys)} rows, "
        f"fingerprint {table.fingerprint[:16]}.\n{table.provenance}\n"
        "No label was read and nothing was spent.",
    )


def _typed(path: str, dialect: Dialect) -> Any:
    """The rows; columns of a text file have the types that its public beginning suggests."""
    source = opened({"path": path, **dialect.options(path)} if Path(path).suffix != ".parquet" else path)
    suggested = getattr(source, "suggested_types", None)
    if suggested is None:
        return source
    types = {name: kind for name, kind in suggested().items() if kind != "string"}
    return opened({"kind": "CSV", "path": path, **dialect.options(path), "types": types})


def _columns(table: dict[str, Any]) -> dict[str, Any]:
    return {("columns" if name == "features" else name): item for name, item in table.items()}


def _split(words: str | None) -> list[str]:
    return [word.strip() for word in words.split(",") if word.strip()] if words else []
