"""The acts of a ledger, each holding the hash of the act before it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Literal, final

from suffice.accounting import statement
from suffice.accounting.charter import Charter
from suffice.accounting.engine import FORMAT, Connection, check_format
from suffice.accounting.event import Event
from suffice.accounting.money import Amount
from suffice.core.codec import canonical, decode
from suffice.core.errors import FormatTooNew, InputError
from suffice.core.guarantees import PROMISES, Promise
from suffice.core.units import UNITS

__all__ = [
    "GENESIS",
    "Act",
    "Charge",
    "Entry",
    "append",
    "budget_of",
    "charge_under",
    "digest",
    "edition_of",
    "entry_of",
    "lock",
    "source_of",
    "stored",
]

Act = Literal["created", "charge", "budget", "edition", "source", "limit", "revoke", "approver"]
GENESIS: Final = "0" * 64


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """One act as it is stored: its number from 1, what it was, and two hashes."""

    number: int
    act: Act
    key: str
    body: str
    previous: str
    hash: str

    def fields(self) -> dict[str, Any]:
        """What the act says."""
        return dict(decode(json.loads(self.body), (*PROMISES, *UNITS, Event)))

    def charter(self) -> Charter:
        """The first act, which fixes what the ledger is."""
        return Charter(**self.fields())

    def sealed(self) -> bool:
        """The row's own hash is the hash of what the row says."""
        return self.hash == _hash(self.number, self.act, self.key, self.body, self.previous)


@final
@dataclass(frozen=True, slots=True)
class Charge:
    """A spend that is on the disk, by the id that a release carries as its receipt."""

    id: str
    number: int
    key: str
    request: str
    summary: str
    promise: Promise
    also: tuple[Promise, ...]
    cost: Amount
    part: str | None
    edition: str
    unprotected: str | None
    day: date
    learner: str | None = None
    event: Event | None = None

    @classmethod
    def of(cls, entry: Entry) -> Charge:
        """The charge that an act records."""
        fields = entry.fields()
        fields["cost"] = Amount(*fields["cost"])
        fields["day"] = date.fromisoformat(fields["day"])
        return cls(id=entry.hash, number=entry.number, key=entry.key, **fields)

    def line(self) -> str:
        """One line for a list of charges."""
        price = f"unprotected ({self.unprotected})" if self.unprotected else str(self.cost)
        where = f" in {self.part}" if self.part is not None else ""
        whose = f" for {self.learner}" if self.learner is not None else ""
        return f"{self.day}  {price}{where}{whose}  {self.summary}"


def lock(db: Connection) -> None:
    """Hold the ledger against every other act until the transaction ends."""
    if db.change(statement.LOCK, FORMAT) == 1:
        return
    ((found,),) = db.rows(statement.FORMAT)
    check_format(found, "in use")
    raise FormatTooNew(f"The ledger has format {found}, older than {FORMAT}. Open it once with Ledger.open.")


def append(db: Connection, act: Act, key: str, fields: object, voided: str | None = None) -> Entry:
    """Write the next act; the caller holds the lock."""
    body = canonical(fields).decode()
    (number, previous), *_ = [*db.rows(statement.HEAD), (0, GENESIS)]
    entry = Entry(number + 1, act, key, body, previous, _hash(number + 1, act, key, body, previous))
    db.change(statement.APPEND, entry.number, act, key, body, previous, entry.hash)
    db.change(statement.LENGTHEN, entry.number, voided)
    return entry


def digest(*parts: bytes) -> str:
    """A hash of the parts that no other division into parts shares."""
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "big"))
        total.update(part)
    return total.hexdigest()


def entry_of(db: Connection, act: str, key: str) -> Entry:
    """The act of this kind under this key; without it the file is not what the caller knew."""
    found = db.rows(statement.ENTRY, act, key)
    if not found:
        raise InputError(
            f"The ledger has no {act} {key!r}. It may be an older copy: run `suffice ledger verify`."
        )
    return Entry(*found[0])


def charge_under(db: Connection, key: str, request_hash: str) -> Charge | None:
    """The charge under a key, or None; a charge of another request is an InputError."""
    found = db.rows(statement.ENTRY, "charge", key)
    if not found:
        return None
    charge = Charge.of(Entry(*found[0]))
    if charge.request != request_hash:
        raise InputError(
            f"The key {key!r} was used on {charge.day} for another request ({charge.summary}). Nothing was "
            "spent. Use a new key for a new request, or none."
        )
    return charge


def stored(db: Connection, charge: Charge) -> bytes | None:
    """The bytes that the charge paid for, or None while they are not made."""
    found = db.rows(statement.STORED, charge.number)
    return bytes(found[0][0]) if found else None


def budget_of(db: Connection) -> Promise:
    """The total as it was last set."""
    fields = Entry(*db.rows(statement.LAST_OF_TWO, "created", "budget")[0]).fields()
    budget: Promise = fields["budget"]
    return budget


def edition_of(db: Connection) -> str:
    """The edition that began last."""
    return str(Entry(*db.rows(statement.LAST_OF_TWO, "created", "edition")[0]).fields()["edition"])


def source_of(db: Connection) -> str | None:
    """The public name that the rows of this edition are bound to, or None."""
    found = db.rows(statement.ENTRY, "source", edition_of(db))
    return str(Entry(*found[0]).fields()["source"]) if found else None


def _hash(number: int, act: str, key: str, body: str, previous: str) -> str:
    return digest(str(number).encode(), act.encode(), key.encode(), body.encode(), previous.encode())
