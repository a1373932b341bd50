"""`suffice keys`: pairs of keys for seals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import suffice as sf
from suffice.cli.option import Json, Quiet
from suffice.cli.output import Output, reported

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Keys that seal releases.")


@app.command()
@reported
def new(
    name: Annotated[str, typer.Argument(help="The name of the pair: NAME.key and NAME.pub are written.")],
    folder: Annotated[Path, typer.Option("--folder", help="Where to put them.")] = Path(),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a fresh pair of Ed25519 keys.

    NAME.key seals releases and is for its holder alone; NAME.pub is for everyone who is to
    believe the seal. Existing files are never overwritten.
    """
    private, public = sf.new_keys(name, folder)
    Output(as_json, quiet).report(
        {"private": str(private), "public": str(public)},
        f"{private}: seals your releases. Keep it to yourself.\n{public}: give it to your readers.",
    )
