"""`suffice verify`: does the seal of a release hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import suffice as sf
from suffice.cli.option import Json, Quiet
from suffice.cli.output import Output, reported

__all__ = ["verify"]


@reported
def verify(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A release file.")],
    trust: Annotated[
        list[Path],
        typer.Option("--trust", help="A public key in PEM whose seal is believed; may be given again."),
    ],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check the seal of a release.

    It must be whole and sealed by a key that you trust; exit code 4 if it is not.
    """
    release = sf.load(path, trust=trust)
    held = ", ".join(one[:16] for one in release.verified_by)
    Output(as_json, quiet).answer(
        {"ok": True, "file": str(path), "verified_by": list(release.verified_by)},
        f"{path}: the seal holds, by key {held}.\n{release.guarantee.sentence()}",
    )
