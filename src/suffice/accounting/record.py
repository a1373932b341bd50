"""Reading a whole ledger: is it as it was written, and what does it say as text."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import final

from suffice.accounting import statement
from suffice.accounting.chain import GENESIS, Charge, Entry
from suffice.accounting.checkpoint import Checkpoint, absent
from suffice.accounting.engine import FORMAT, Connection
from suffice.accounting.replay import Holds, replayed, unapproved
from suffice.core.codec import encode

__all__ = ["Verification", "as_csv", "as_json", "verified"]

_CSV = (
    "number", "day", "edition", "part", "learner", "epsilon", "rho", "delta", "summary", "unprotected",
    "key", "id",
)  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class Verification:
    """Whether a ledger is as it was written; `row` is the first act that was edited, where one was."""

    ok: bool
    entries: int
    row: int | None = None
    problem: str | None = None
    unknown: tuple[str, ...] = field(default=())

    def __bool__(self) -> bool:
        """True when nothing was found."""
        return self.ok

    def __str__(self) -> str:
        """One sentence."""
        if self.ok:
            return f"All {self.entries} rows of the ledger are as they were written, and its totals add up."
        return f"The ledger was changed from outside: {self.problem}"


def verified(
    db: Connection,
    receipts: Iterable[str] = (),
    checkpoints: Iterable[Checkpoint] = (),
    holds: Holds | None = None,
) -> Verification:
    """Follow the chain from its first row, add up what it says, and compare with the totals."""
    entries = [Entry(*row) for row in db.rows(statement.ENTRIES)]
    broken = _first_broken(entries) or unapproved(entries, holds)
    if broken is not None:
        row, why = broken
        return Verification(ok=False, entries=len(entries), row=row, problem=why)
    problem = _totals_differ(db, entries) or absent(entries, checkpoints)
    if problem is not None:
        return Verification(ok=False, entries=len(entries), problem=problem)
    unknown = tuple(sorted(set(receipts) - {entry.hash for entry in entries if entry.act == "charge"}))
    if unknown:
        why = f"it does not know the charge {unknown[0]} of a release that exists; it may be an older copy."
        return Verification(ok=False, entries=len(entries), problem=why, unknown=unknown)
    return Verification(ok=True, entries=len(entries))


def as_json(db: Connection) -> str:
    """Everything that a ledger holds, but for the released bytes."""
    entries = [Entry(*row) for row in db.rows(statement.ENTRIES)]
    ((length, voided),) = db.rows(statement.LEDGER)
    acts = [
        {"number": e.number, "act": e.act, "key": e.key, "id": e.hash, **json.loads(e.body)} for e in entries
    ]
    accounts = [
        dict(zip(("part", "total", "total_delta", "spent", "spent_delta"), row, strict=True))
        for row in db.rows(statement.ACCOUNTS)
    ]
    learners = [
        dict(zip(("name", "total", "total_delta", "spent", "spent_delta", "revoked"), row, strict=True))
        for row in db.rows(statement.LEARNERS)
    ]
    whole = {
        "format": FORMAT,
        "length": length,
        "voided": voided,
        "accounts": accounts,
        "learners": learners,
        "acts": acts,
    }
    return json.dumps(encode(whole), indent=2, ensure_ascii=False) + "\n"


def as_csv(db: Connection) -> str:
    """The charges, one line each, for a spreadsheet."""
    page = io.StringIO()
    writer = csv.DictWriter(page, _CSV, lineterminator="\n")
    writer.writeheader()
    for row in db.rows(statement.ACTS, "charge"):
        writer.writerow(_line(Charge.of(Entry(*row))))
    return page.getvalue()


def _line(charge: Charge) -> dict[str, object]:
    line: dict[str, object] = {name: getattr(charge, name) for name in _CSV if hasattr(charge, name)}
    first, delta = (float(part) for part in charge.cost.exact)
    rho = charge.cost.currency == "ZeroConcentratedDP"
    prices = {"rho" if rho else "epsilon": first}
    if charge.cost.currency == "ApproxDP":
        prices["delta"] = delta
    return line | prices


def _first_broken(entries: list[Entry]) -> tuple[int, str] | None:
    previous = GENESIS
    for number, entry in enumerate(entries, 1):
        if entry.number != number:
            return number, f"row {number} is missing."
        if not entry.sealed():
            return number, f"row {number} ({entry.act}) does not say what it said when it was written."
        if entry.previous != previous:
            return number, f"row {number} ({entry.act}) does not follow the row before it."
        if (number == 1) != (entry.act == "created"):
            return number, f"row {number} ({entry.act}) is not where it may stand."
        previous = entry.hash
    return None if entries else (1, "row 1 is missing.")


def _totals_differ(db: Connection, entries: list[Entry]) -> str | None:
    ((length, voided),) = db.rows(statement.LEDGER)
    if length != len(entries):
        return f"it counts {length} rows and has {len(entries)}, so rows were taken away or added at the end."
    totals = replayed(entries)
    void = totals.voided[0] if totals.voided else None
    if voided != void:
        return f"it says that its promise was voided on {voided}, and its rows say {void}."
    accounts = {part: list(rest) for part, *rest in db.rows(statement.ACCOUNTS)}
    learners = {name: list(rest) for name, *rest in db.rows(statement.LEARNERS)}
    difference = _difference(accounts, totals.accounts) or _difference(learners, totals.learners)
    if difference is not None:
        return difference
    strays = db.rows(statement.ORPHANS, "charge")
    return f"it holds the bytes of row {strays[0][0]}, which is no charge." if strays else None


def _difference(held: dict[str, list[int]], due: dict[str, list[int]]) -> str | None:
    for name in sorted(held.keys() | due.keys()):
        if held.get(name) != due.get(name):
            where = f" of {name!r}" if name else ""
            return (
                f"the totals{where} (most and spent, in units) are {held.get(name)}, "
                f"and its rows add up to {due.get(name)}."
            )
    return None
