"""Who may ask for how much, and whose word a larger budget needs: acts of the ledger's holder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

from suffice.accounting import statement
from suffice.accounting.balance import Remaining
from suffice.accounting.chain import Act, Entry, append
from suffice.accounting.charter import today
from suffice.accounting.engine import Connection
from suffice.accounting.money import Amount
from suffice.core.codec import canonical
from suffice.core.errors import InputError, Refused

__all__ = [
    "Approve",
    "Learner",
    "admit",
    "approver_of",
    "learner_of",
    "learners_of",
    "limit",
    "proposal",
    "record_approved",
    "revoke",
    "take_limit",
    "words_of",
]

Approve = Callable[[bytes, str], str]  # a statement and the approver's public key; returns a signature
_APPROVED = ("budget", "approver")


@final
@dataclass(frozen=True, slots=True)
class Learner:
    """One who may ask: a name that the owner gave, a limit, what was spent of it."""

    name: str
    limit: Amount
    spent: Amount
    revoked: bool = False

    @property
    def remaining(self) -> Remaining:
        """What this learner may still spend, as long as the budget of all has it."""
        return Remaining(self.limit.minus(self.spent), learner=self.name)


def learners_of(db: Connection, currency: str) -> list[Learner]:
    """Everyone who was ever named, by name."""
    return [_learner(name, currency, row) for name, *row in db.rows(statement.LEARNERS)]


def learner_of(db: Connection, name: str, currency: str) -> Learner:
    """The learner of this name; one whom nobody named is refused."""
    found = db.rows(statement.LEARNER, name)
    if not found:
        raise Refused(
            f"There is no learner {name!r} in this ledger. Its holder names one with a limit: "
            "`suffice ledger limit`."
        )
    return _learner(name, currency, found[0])


def admit(db: Connection, name: str, currency: str) -> Learner:
    """The learner, unless revoked."""
    found = learner_of(db, name, currency)
    if found.revoked:
        raise Refused(f"The learner {name!r} was revoked, and may ask for nothing more.")
    return found


def take_limit(db: Connection, name: str, price: Amount) -> bool:
    """Add the price to what the learner has spent, or say that the limit lacks it or that it is revoked."""
    values = (price.units, price.delta_units) * 2
    return db.change(statement.SPEND_LEARNER, *values, name) == 1


def limit(db: Connection, name: str, total: Amount, fields: Mapping[str, object]) -> None:
    """Name a learner, or set another limit; the caller holds the lock."""
    found = db.rows(statement.LEARNER, name)
    if found:
        before = admit(db, name, total.currency)
        if not before.spent.within(total):
            raise InputError(
                f"{name!r} has spent {before.spent} already, and a limit of {total} was asked for. "
                "A limit is at least what is spent; revoking ends all further spending."
            )
        db.change(statement.LIMIT, total.units, total.delta_units, name)
    else:
        db.change(statement.BEGIN_LEARNER, name, total.units, total.delta_units)
    append(db, "limit", _number(db), {**fields, "learner": name, "day": today()})


def revoke(db: Connection, name: str, currency: str, reason: str) -> None:
    """End all further spending of a learner, for good; the caller holds the lock."""
    admit(db, name, currency)
    db.change(statement.REVOKE, name)
    append(db, "revoke", name, {"learner": name, "reason": reason, "day": today()})


def approver_of(db: Connection) -> str | None:
    """The public key that larger budgets need a signature of, or None."""
    found = db.rows(statement.LAST_ACTS, "approver", 1)
    return str(Entry(*found[0]).fields()["public_key"]) if found else None


def proposal(db: Connection, act: Act, fields: Mapping[str, object]) -> bytes:
    """The words that the approver signs: what, of which ledger, and the how-manieth such act it is."""
    ((turn,),) = db.rows(statement.COUNT_OF_TWO, *_APPROVED)
    return words_of(Entry(*db.rows(statement.NUMBERED, 1)[0]).hash, act, turn + 1, fields)


def words_of(ledger: str, act: str, turn: int, fields: Mapping[str, Any]) -> bytes:
    """A proposal as bytes; approvals and days are no part of it."""
    told = {name: value for name, value in fields.items() if name not in {"approval", "day"}}
    return canonical({"approve": act, "ledger": ledger, "turn": turn, **told})


def record_approved(
    db: Connection, act: Act, fields: Mapping[str, object], agreed: tuple[bytes, str] | None
) -> None:
    """Append the act with its approval, given for exactly these words; the caller holds the lock."""
    approval = {}
    if approver_of(db) is not None:
        if agreed is None or agreed[0] != proposal(db, act, fields):
            raise InputError("The ledger changed while this was being approved. Ask for approval again.")
        approval = {"approval": agreed[1]}
    append(db, act, _number(db), {**fields, **approval, "day": today()})


def _learner(name: str, currency: str, row: Any) -> Learner:
    units, delta, spent, spent_delta, revoked = row
    return Learner(name, Amount(currency, units, delta), Amount(currency, spent, spent_delta), bool(revoked))


def _number(db: Connection) -> str:
    ((length, _),) = db.rows(statement.LEDGER)
    return str(length + 1)
