"""What the acts of a ledger add up to, computed from the acts alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

from suffice.accounting.chain import Entry
from suffice.accounting.money import Amount
from suffice.accounting.policy import words_of

__all__ = ["Holds", "Totals", "replayed", "unapproved"]

Holds = Callable[[bytes, str, str], bool]  # a statement, a public key, a signature


@final
@dataclass(frozen=True, slots=True)
class Totals:
    """Rows of the tables by name: budget and spent of each part, limit, spent and revoked of each learner."""

    accounts: dict[str, list[int]]
    learners: dict[str, list[int]] = field(default_factory=dict)
    voided: list[str] = field(default_factory=list)


def replayed(entries: list[Entry]) -> Totals:
    """The totals, and the days of unprotected releases, as the acts make them."""
    charter = entries[0].charter()
    total = Amount.of(charter.budget)
    parts = charter.partitions[1] if charter.partitions else ("",)
    totals = Totals({part: [total.units, total.delta_units, 0, 0] for part in parts})
    for entry in entries[1:]:
        _replay(totals, entry.act, entry.fields())
    return totals


def _replay(totals: Totals, act: str, fields: dict[str, Any]) -> None:
    if act == "budget":
        total = Amount.of(fields["budget"])
        for sums in totals.accounts.values():
            sums[:2] = [total.units, total.delta_units]
    elif act == "limit":
        total = Amount.of(fields["limit"])
        row = totals.learners.setdefault(fields["learner"], [0] * 5)
        row[:2] = [total.units, total.delta_units]
    elif act == "revoke":
        totals.learners.setdefault(fields["learner"], [0] * 5)[4] = 1
    elif act == "charge":
        _charge(totals, fields)


def _charge(totals: Totals, fields: dict[str, Any]) -> None:
    _, units, delta_units = fields["cost"]
    touched = [*totals.accounts] if fields["part"] is None else [fields["part"]]
    rows = [totals.accounts[part] for part in touched if part in totals.accounts]
    if fields.get("learner") is not None:
        rows.append(totals.learners.setdefault(fields["learner"], [0] * 5))
    for row in rows:
        row[2] += units
        row[3] += delta_units
    if fields["unprotected"]:
        totals.voided.append(fields["day"])


def unapproved(entries: list[Entry], holds: Holds | None) -> tuple[int, str] | None:
    """The first act that needed an approval and has none, or one whose signature does not hold."""
    key: str | None = None
    turn = 0
    for entry in entries:
        if entry.act not in {"budget", "approver"}:
            continue
        fields, turn = entry.fields(), turn + 1
        if key is not None:
            words = words_of(entries[0].hash, entry.act, turn, fields)
            given = fields.get("approval")
            if not given or (holds is not None and not holds(words, key, given)):
                return entry.number, f"row {entry.number} ({entry.act}) was not approved by the second key."
        if entry.act == "approver":
            key = fields["public_key"]
    return None
