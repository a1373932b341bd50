"""`suffice audit`: whether what a release says of itself can be true."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import suffice as sf
from suffice.cli.data import Dialect, declared
from suffice.cli.option import Json, Quiet, Trust
from suffice.cli.output import Output, columns, reported

__all__ = ["audit"]

_WORDS = {True: "holds", False: "DOES NOT HOLD", None: "cannot be told"}


@reported
def audit(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A release file.")],
    *,
    trust: Trust = None,
    data: Annotated[
        str | None,
        typer.Option("--data", help="The public feature rows, to compute sensitivity and witness again."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check what a release claims against its own numbers.

    Law and sensitivity must give the promise, and witness, recipe, bound and values must fit each
    other; exit code 4 if something cannot be true. Passing is no proof of privacy.
    """
    release = sf.load(path, trust=trust or None)
    table = None if data is None else declared(data, Dialect(), release.recipe)
    found = sf.auditing.audit_release(release, rows=table)
    told = columns(("point", "", "seen"), [(one.name, _WORDS[one.holds], one.seen) for one in found.points])
    facts = {
        "file": str(path),
        "falsified": found.falsified,
        "sentence": found.sentence(),
        "points": [asdict(one) for one in found.points],
        "verified_by": list(release.verified_by),
    }
    Output(as_json, quiet).answer(facts, f"{told}\n{found.sentence()}")
    if found.falsified:
        raise typer.Exit(4)
