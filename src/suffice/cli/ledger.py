"""`suffice ledger`: the budget of one dataset, made, shown, checked and raised."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import suffice as sf
from suffice.cli.option import Json, Overwrite, Quiet
from suffice.cli.output import Output, columns, reported
from suffice.core.codec import encode
from suffice.core.errors import InputError
from suffice.releases import file, notary

if TYPE_CHECKING:
    from suffice.core.guarantees import Promise
    from suffice.core.units import Unit

__all__ = ["app", "promise_of", "unit_of"]

app = typer.Typer(no_args_is_help=True, help="The budget of one dataset, and what was spent of it.")

Url = Annotated[str, typer.Argument(metavar="LEDGER", help="The ledger: a path such as owner.db.")]
_FAILED = 4


@app.command()
@reported
def create(
    url: Url,
    *,
    dataset: Annotated[str, typer.Option("--dataset", help="The people whose privacy is counted, in words.")],
    unit: Annotated[
        str,
        typer.Option("--unit", help="label:COLUMN, feature:COLUMN, record:replace or record:add-remove."),
    ],
    budget: Annotated[
        str, typer.Option("--budget", help="What may be spent: epsilon=2, epsilon=2,delta=1e-6 or rho=0.1.")
    ],
    person: Annotated[
        str | None, typer.Option("--person", help="The public column that says whose row it is.")
    ] = None,
    at_most: Annotated[int, typer.Option("--at-most", help="The rows that one person may have.")] = 1,
    partitions: Annotated[
        str | None,
        typer.Option(
            "--partitions", help="A public column and its groups, counted apart: region=north,south."
        ),
    ] = None,
    allow_unprotected: Annotated[
        bool,
        typer.Option(
            "--allow-unprotected", help="Allow releases without a guarantee; they void the promise."
        ),
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make the ledger of a dataset.

    It counts one budget for one unit of privacy. A ledger that exists is left as it is.
    """
    ledger = sf.Ledger.create(
        url,
        dataset=dataset,
        unit=unit_of(unit, person, at_most),
        budget=promise_of(budget),
        partitions=None if partitions is None else groups_of(partitions),
        allow_unprotected=allow_unprotected,
    )
    Output(as_json, quiet).report(
        _facts(ledger),
        f"{ledger.url}: the ledger of {dataset!r}.\n"
        f"It protects {ledger.unit.sentence()}, and {ledger.budget} may be spent.",
    )


@app.command()
@reported
def show(
    url: Url,
    tight: Annotated[
        float | None,
        typer.Option("--tight", help="Also the epsilon of all charges together at this delta, for a report."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what a ledger protects, what is left, and every charge."""
    ledger = sf.Ledger.open(url)
    total = None if tight is None else ledger.tight(tight)
    charges = [_charge(charge) for charge in ledger.charges()]
    heads = ("day", "edition", "cost", "release", "charge")
    rows = [(one["day"], one["edition"], one["cost"], one["release"], one["charge"][:16]) for one in charges]
    lines = [
        f"Ledger of {ledger.dataset!r} ({ledger.url})",
        f"  protected:  {ledger.unit.sentence()}",
        f"  budget:     {ledger.budget}",
        f"  left:       {ledger.remaining()}",
        *_left_in_parts(ledger),
        *(f"  learner:    {one.name}: {_standing(one)}" for one in ledger.learners()),
        *([] if total is None else [f"  tight:      epsilon = {total:.6g} at delta = {tight:g}"]),
        f"  edition:    {ledger.edition}",
        "",
        columns(heads, rows) if rows else "Nothing was released yet.",
    ]
    facts = _facts(ledger) | ({} if total is None else {"tight": {"epsilon": total, "delta": tight}})
    Output(as_json, quiet).answer({**facts, "charges": charges}, "\n".join(lines))


@app.command()
@reported
def verify(
    url: Url,
    releases: Annotated[
        list[Path] | None,
        typer.Option("--release", help="A release whose charge the ledger should know; may be given again."),
    ] = None,
    checkpoints: Annotated[
        list[Path] | None,
        typer.Option("--checkpoint", help="A signed checkpoint of the ledger; may be given again."),
    ] = None,
    trust: Annotated[
        list[Path] | None, typer.Option("--trust", help="The public key that signed the checkpoints.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check that a ledger was not changed from outside.

    No row may be edited, taken away or added behind its back; exit code 4 if one was. Releases and
    checkpoints that it does not know show that it is an older copy. Approvals are checked too.
    """
    if checkpoints and not trust:
        raise InputError("A checkpoint is believed by its signature. Give the key with --trust OWNER.pub.")
    points = [notary.opened(one, trust or []) for one in checkpoints or ()]
    known = [sf.load(one).receipt for one in releases or ()]
    receipts = [receipt.charge for receipt in known if receipt is not None]
    found = sf.Ledger.open(url).verify(receipts, checkpoints=points, holds=notary.holds)
    Output(as_json, quiet).answer(
        {"ok": found.ok, "entries": found.entries, "row": found.row, "problem": found.problem}, str(found)
    )
    if not found:
        raise typer.Exit(_FAILED)


@app.command()
@reported
def export(
    url: Url,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A file, instead of standard output.")
    ] = None,
    form: Annotated[
        Literal["json", "csv"], typer.Option("--form", help="Everything as json, or the charges as csv.")
    ] = "json",
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a ledger as text; the released bytes are left out."""
    told = sf.Ledger.open(url).export(form)
    if out is None:
        print(json.dumps({"csv": told}) if as_json and form == "csv" else told.rstrip("\n"))
        return
    file.write(out, told.encode(), overwrite=overwrite)
    Output(as_json, quiet).report({"file": str(out), "form": form}, f"{out}: the ledger as {form}.")


@app.command(name="raise")
@reported
def raise_(
    url: Url,
    budget: Annotated[str, typer.Option("--budget", help="The new total, in the ledger's own currency.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; it is recorded for good.")],
    approval: Annotated[
        Path | None,
        typer.Option("--approval", help="What `suffice ledger approve` wrote, where it is needed."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Set a new, larger total.

    The act and its reason stay in the ledger.
    """
    ledger = sf.Ledger.open(url)
    agreed = None if approval is None else notary.approved_in(approval)
    ledger.raise_budget(promise_of(budget), reason, approve=agreed)
    Output(as_json, quiet).report(
        _facts(ledger),
        f"The budget of {ledger.dataset!r} is now {ledger.budget}; {ledger.remaining()} is left.",
    )


@app.command()
@reported
def edition(
    url: Url,
    name: Annotated[str, typer.Argument(help="The name of the new edition, such as 2026-12.")],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Begin a new edition of the data.

    The same request is then a new one, drawn afresh and charged.
    """
    ledger = sf.Ledger.open(url)
    ledger.new_edition(name)
    Output(as_json, quiet).report(
        _facts(ledger), f"Requests to {ledger.dataset!r} are now about edition {name!r}."
    )


def unit_of(written: str, person: str | None = None, at_most: int = 1) -> Unit:
    """The unit that a word stands for: label:bought, feature:income, record:replace, record:add-remove."""
    kind, _, rest = written.partition(":")
    if kind == "label" and rest:
        return sf.LabelOf(*rest.split(","), person=person, at_most=at_most)
    if kind == "record" and rest in {"replace", "add-remove"}:
        return sf.RecordOf(rest, person=person, at_most=at_most)  # type: ignore[arg-type]
    if kind == "feature" and rest and person is None:
        return sf.FeatureOf(rest)
    raise InputError(
        "A unit is written label:COLUMN, feature:COLUMN, record:replace or record:add-remove, "
        f"and got {written!r}."
    )


def promise_of(written: str) -> Promise:
    """The promise that a text stands for: epsilon=2, epsilon=2,delta=1e-6 or rho=0.1."""
    parts = dict(_numbered(part, written) for part in written.split(","))
    if set(parts) == {"epsilon"}:
        return sf.PureDP(parts["epsilon"])
    if set(parts) == {"epsilon", "delta"}:
        return sf.ApproxDP(parts["epsilon"], parts["delta"])
    if set(parts) == {"rho"}:
        return sf.ZeroConcentratedDP(parts["rho"])
    raise _unpromising(written)


def groups_of(written: str) -> tuple[str, tuple[str, ...]]:
    """The column and the groups that a text stands for: region=north,south."""
    column, mark, groups = written.partition("=")
    if not (column.strip() and mark and groups.strip()):
        raise InputError(
            f"Groups are written COLUMN=ONE,TWO, such as region=north,south, and got {written!r}."
        )
    return column.strip(), tuple(one.strip() for one in groups.split(","))


def _left_in_parts(ledger: sf.Ledger) -> list[str]:
    parts = ledger.partitions[1] if ledger.partitions else ()
    return [f"    {one}: {ledger.remaining(one)}" for one in parts]


def _standing(learner: Any) -> str:
    return f"{learner.spent} of {learner.limit} is spent" + ("; revoked" if learner.revoked else "")


def _numbered(part: str, written: str) -> tuple[str, float]:
    name, _, number = part.partition("=")
    try:
        return name.strip(), float(number)
    except ValueError:
        raise _unpromising(written) from None


def _unpromising(written: str) -> InputError:
    return InputError(
        f"A budget is written epsilon=2, or epsilon=2,delta=1e-6, or rho=0.1, and got {written!r}."
    )


def _facts(ledger: sf.Ledger) -> dict[str, Any]:
    left = ledger.remaining()
    return {
        "ledger": ledger.url,
        "dataset": ledger.dataset,
        "unit": encode(ledger.unit),
        "protects": ledger.unit.sentence(),
        "budget": encode(ledger.budget),
        "remaining": {"epsilon": left.epsilon, "rho": left.rho, "delta": left.delta},
        "voided": None if left.voided is None else left.voided.isoformat(),
        "edition": ledger.edition,
        "allow_unprotected": ledger.allow_unprotected,
        "partitions": encode(ledger.partitions),
        "learners": [
            {"name": one.name, "limit": str(one.limit), "spent": str(one.spent), "revoked": one.revoked}
            for one in ledger.learners()
        ],
    }


def _charge(charge: Any) -> dict[str, Any]:
    return {
        "charge": charge.id,
        "day": str(charge.day),
        "edition": str(charge.edition),
        "cost": f"unprotected ({charge.unprotected})" if charge.unprotected else str(charge.cost),
        "release": charge.summary,
        "key": charge.key,
        "part": charge.part,
        "learner": charge.learner,
    }
