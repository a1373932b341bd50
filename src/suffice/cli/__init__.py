"""The command line: one verb each, the same words as the library."""

from __future__ import annotations

import typer

from suffice.cli import keys, ledger, policy, survey
from suffice.cli.audit import audit
from suffice.cli.check import check
from suffice.cli.features import features
from suffice.cli.fit import fit
from suffice.cli.output import EXITS
from suffice.cli.predict import predict
from suffice.cli.release import release
from suffice.cli.show import show
from suffice.cli.tune import tune
from suffice.cli.verify import verify

__all__ = ["app", "main"]

_HELP = "Learn models from what data owners are willing to release."
_EPILOG = "Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in EXITS.items()) + "."

app = typer.Typer(
    name="suffice",
    help=_HELP,
    epilog=_EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for verb in (check, release, show, verify, fit, tune, predict, features, audit):
    app.command(name=verb.__name__)(verb)
for act in (policy.limit, policy.revoke, policy.approver, policy.approve, policy.checkpoint):
    ledger.app.command(name=act.__name__)(act)
app.add_typer(ledger.app, name="ledger")
app.add_typer(keys.app, name="keys")
app.add_typer(survey.app, name="survey")


def main() -> None:
    """Run the command that the arguments name, and end with its exit code."""
    app()
