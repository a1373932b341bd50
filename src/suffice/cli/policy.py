"""`suffice ledger limit | revoke | approver | approve | checkpoint`: acts of a ledger's holder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import suffice as sf
from suffice.cli.ledger import Url, promise_of
from suffice.cli.option import Json, Overwrite, Quiet
from suffice.cli.output import Output, reported
from suffice.releases import notary
from suffice.releases.seal import public_text

__all__ = ["approve", "approver", "checkpoint", "limit", "revoke"]

Name = Annotated[str, typer.Argument(help="The learner, by the name that the owner gave.")]


@reported
def limit(
    url: Url,
    learner: Name,
    budget: Annotated[
        str, typer.Option("--budget", help="What this learner may spend, in the ledger's own currency.")
    ],
    reason: Annotated[str, typer.Option("--reason", help="Why; it is recorded for good.")] = "",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Name a learner and what it may spend of the budget.

    The budget stays that of all. A learner who was named before gets the new limit.
    """
    ledger = sf.Ledger.open(url)
    ledger.limit(learner, promise_of(budget), reason)
    left = ledger.admit(learner).remaining
    Output(as_json, quiet).report(
        {"learner": learner, "epsilon": left.epsilon, "rho": left.rho, "delta": left.delta},
        f"{learner!r} may spend up to {budget} of the budget of {ledger.dataset!r}; {left} is left.",
    )


@reported
def revoke(
    url: Url,
    learner: Name,
    reason: Annotated[str, typer.Option("--reason", help="Why; it is recorded for good.")],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Let a learner ask for nothing more, for good.

    What was released to it stays released.
    """
    sf.Ledger.open(url).revoke(learner, reason)
    Output(as_json, quiet).report(
        {"learner": learner, "revoked": True}, f"{learner!r} may ask for nothing more."
    )


@reported
def approver(
    url: Url,
    key: Annotated[Path, typer.Argument(help="The approver's public key, such as second.pub.")],
    approval: Annotated[
        Path | None, typer.Option("--approval", help="The present approver's private key, if there is one.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Let a larger budget need the signature of a second key from now on."""
    agreed = None if approval is None else notary.approved_by(approval)
    sf.Ledger.open(url).set_approver(public_text(key), approve=agreed)
    Output(as_json, quiet).report(
        {"approver": public_text(key)}, f"A larger budget now needs a signature of {str(key)!r}."
    )


@reported
def approve(
    url: Url,
    *,
    budget: Annotated[str, typer.Option("--budget", help="The new total that is asked for.")],
    reason: Annotated[str, typer.Option("--reason", help="The reason that is given for it.")],
    key: Annotated[Path, typer.Option("--key", help="The approver's private key.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The approval to write.")],
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Sign a larger budget, which `suffice ledger raise --approval` then records.

    The signature fits this ledger, this total and this reason, as the next such act, and nothing else.
    """
    ledger = sf.Ledger.open(url)
    notary.write(out, ledger.raise_statement(promise_of(budget), reason), key, overwrite=overwrite)
    Output(as_json, quiet).report(
        {"file": str(out), "budget": budget, "reason": reason},
        f"{out}: the approval of {budget} for {ledger.dataset!r}.",
    )


@reported
def checkpoint(
    url: Url,
    *,
    seal: Annotated[Path, typer.Option("--seal", help="The private key to sign with.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The checkpoint to write; keep it elsewhere.")],
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Sign how far a ledger has come.

    `suffice ledger verify --checkpoint` then notices an older copy, or one that was rewritten.
    """
    taken = sf.Ledger.open(url).checkpoint()
    notary.write(out, taken.to_bytes(), seal, overwrite=overwrite)
    Output(as_json, quiet).report(
        {"file": str(out), "number": taken.number, "hash": taken.hash, "day": taken.day},
        f"{out}: {taken.number} rows on {taken.day}.",
    )
