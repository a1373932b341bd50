"""`suffice show`: a release in plain words."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Annotated, Any

import typer

import suffice as sf
from suffice.cli.option import Json, Overwrite, Quiet, Trust
from suffice.cli.output import Output, plain, reported
from suffice.core.codec import encode
from suffice.core.errors import InputError
from suffice.releases import file

__all__ = ["facts", "show"]

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>
<body>{card}</body></html>
"""


@reported
def show(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A release file.")],
    *,
    trust: Trust = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write the card to this file as a page.")
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option("--ledger", help="The owner's ledger: its other releases are listed beside this one."),
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show a release in plain words.

    What it is, what it protects and how strongly, and what it does not protect. With --trust
    nothing in the file is read before its seal holds. With --ledger the owner sees the other releases
    of the same people, which add up with this one.
    """
    release = sf.load(path, trust=trust or None)
    beside = () if ledger is None else _beside(release, sf.Ledger.open(ledger))
    if html is not None:
        page = _PAGE.format(title=escape(plain(path.name)), card=release.card(beside=beside, html=True))
        file.write(html, page.encode(), overwrite=overwrite)
    told = facts(release) | ({} if ledger is None else {"beside": list(beside)})
    Output(as_json, quiet).answer(told, release.card(beside=beside))


def _beside(release: sf.Release, ledger: sf.Ledger) -> tuple[str, ...]:
    """The other charges of the ledger that paid for this release, and what is left of its budget."""
    charges = ledger.charges()
    own = None if release.receipt is None else release.receipt.charge
    if own not in {charge.id for charge in charges}:
        raise InputError(
            f"This release was not paid for by the ledger of {ledger.dataset!r}. Give the ledger that did."
        )
    others = tuple(charge.line() for charge in charges if charge.id != own)
    return (*others, f"all of them add up; {ledger.remaining()} is left of {ledger.budget}")


def facts(release: sf.Release) -> dict[str, Any]:
    """A release as plain data, noisy values included."""
    return {
        "kind": release.kind,
        "sentence": release.guarantee.sentence(),
        "guarantee": encode(release.guarantee),
        "names": [" x ".join(name) if isinstance(name, tuple) else name for name in release.names],
        "values": release.values.tolist(),
        "grid_bits": None if release.grid is None else release.grid.bits,
        "law": None if release.law is None else encode(release.law),
        "bound": None if release.bound is None else encode(release.bound),
        "recipe": None if release.recipe is None else encode(release.recipe),
        "rows": None if release.witness is None else release.witness.count,
        "about": encode(release.about),
        "charge": None if release.receipt is None else release.receipt.charge,
        "made_by": release.made_by,
        "format": release.format,
        "verified_by": list(release.verified_by),
    }
