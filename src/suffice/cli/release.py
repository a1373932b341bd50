"""`suffice release`: a spec in, a release out, paid for by a ledger."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import suffice as sf
from suffice.cli.option import Json, Overwrite, Quiet, Workers
from suffice.cli.output import Output, reported
from suffice.cli.spec import Spec, read
from suffice.core.errors import InputError
from suffice.releases.seal import sealed

if TYPE_CHECKING:
    from collections.abc import Callable

    from suffice.owner import Owner, Preview

__all__ = ["release"]


@reported
def release(
    spec: Annotated[Path, typer.Argument(help="The request, as `suffice check` writes it.")],
    *,
    ledger: Annotated[str, typer.Option("--ledger", help="The ledger that pays.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The release file to write; not needed with --dry-run.")
    ] = None,
    seal: Annotated[
        Path | None, typer.Option("--seal", help="A private key in PEM to seal the file with.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="A name for a draw of its own, charged even if asked before.")
    ] = None,
    part: Annotated[
        str | None, typer.Option("--part", help="One group of the ledger's partitions; only its rows.")
    ] = None,
    learner: Annotated[
        str | None, typer.Option("--learner", help="For whom it is, by the name in the ledger.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", help="Instead of the epsilon in the spec.")
    ] = None,
    delta: Annotated[float | None, typer.Option("--delta", help="Instead of the delta in the spec.")] = None,
    unprotected: Annotated[
        str | None, typer.Option("--unprotected", help="Why something without a guarantee may be released.")
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show cost and predicted noise; spend nothing, open no protected column."
        ),
    ] = False,
    workers: Workers = 1,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Release what a spec asks for.

    The cost is charged before any noise is drawn. The same request again is free and gives the
    same bytes.
    """
    asked, output = read(spec), Output(as_json, quiet)
    if seal is not None:
        sealed(b"", seal)  # a key that cannot seal is found out before anything is spent
    purse, private, home = sf.Ledger.open(ledger), None if seal is None else seal.absolute(), Path.cwd()
    with contextlib.chdir(asked.folder):
        owner = sf.Owner(asked.opened(), ledger=purse)
        statistic, mechanism = asked.made_statistic(), asked.made_mechanism(epsilon=epsilon, delta=delta)
        if dry_run:
            _forecast(output, owner.preview(statistic, mechanism, key=key, part=part))
            return

        def released_before() -> bool:
            return owner.preview(statistic, mechanism, key=key, part=part).reused

        target = _target(home, out, released_before, overwrite=overwrite)
        terms = {"key": key, "part": part, "learner": learner, "unprotected": unprotected}
        with output.progress("reading rows") as progress:
            made = owner.release(statistic, mechanism, **terms, progress=progress, workers=workers)
        made.save(target, seal=private, overwrite=overwrite)
    _report(output, owner, made, out, asked, part)


def _target(home: Path, out: Path | None, released_before: Callable[[], bool], *, overwrite: bool) -> Path:
    """Where to write; refused before anything is spent if it could not be written afterwards."""
    if out is None:
        raise InputError("Where should the release go? Give -o FILE.suffice, or --dry-run to see the cost.")
    target = home / out
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {str(target.parent)!r} to write to. Make it first.")
    if target.exists() and not overwrite and not released_before():
        raise InputError(
            f"There is a file {str(target)!r} already, and nothing was spent. "
            "Choose another name, or say --overwrite."
        )
    return target


def _report(
    output: Output, owner: Owner, made: sf.Release, out: Path | None, asked: Spec, part: str | None
) -> None:
    reused = owner.last is not None and owner.last.reused
    left = owner.ledger.remaining(part)
    paid = "It was released before, so it cost nothing" if reused else f"It cost {made.guarantee.promise}"
    why = owner.last.why if owner.last is not None else ""
    output.report(
        {
            "file": str(out),
            "reused": reused,
            "promise": str(made.guarantee.promise),
            "remaining": {"epsilon": left.epsilon, "rho": left.rho, "delta": left.delta},
            "charge": None if made.receipt is None else made.receipt.charge,
            "kind": made.kind,
            "source": asked.source,
            "why": why,
        },
        f"{out}: {made.kind} of {len(made.names)} columns. {paid}; {left} is left.\n"
        + (f"{why}.\n" if why else "")
        + made.guarantee.sentence(),
    )


def _forecast(output: Output, seen: Preview) -> None:
    """What the request would cost and how large its noise would be, from public facts."""
    data: dict[str, Any] = {
        "cost": seen.cost,
        "remaining": seen.remaining,
        "reused": seen.reused,
        "spent": False,
    }
    lines = [f"This would cost {seen.cost}; {seen.remaining} is left. Nothing was spent."]
    if seen.law is not None and seen.radius is not None:
        half, most = (seen.law.quantile(level) / seen.radius for level in (0.5, 0.95))
        law = type(seen.law).__name__
        data["noise"] = {"law": law, "median": half, "quantile_95": most, "in": "longest rows"}
        data |= {"radius": seen.radius, "rows": seen.count}
        rows = "" if seen.count is None else f" The sum is over {seen.count} rows."
        lines.append(
            f"Half of all draws of {law} noise are shorter than {half:.3g} times the "
            f"longest row, and 95 of 100 shorter than {most:.3g} times.{rows}"
        )
    if seen.why:
        data["why"] = seen.why
        lines.append(f"{seen.why}.")
    output.answer(data, "\n".join(lines))
