"""The acts of a ledger, each holding the hash of the act before it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final, Literal, final

from suffice.accounting import statement
from suffice.accounting.engine import FORMAT, Connection, check_format
from suffice.accounting.money import Amount
from suffice.core.codec import canonical, decode
from suffice.core.errors import FormatTooNew, InputError
from suffice.core.guarantees import PROMISES, Promise
from suffice.core.units import UNITS, Unit

__all__ = ["GENESIS", "Act", "Charge", "Charter", "Entry", "append", "digest", "lock", "named", "today"]

Act = Literal["created", "charge", "budget", "edition", "source"]
GENESIS: Final = "0" * 64


@final
@dataclass(frozen=True, slots=True)
class Charter:
    """What is fixed when a ledger is made; `nonce` tells two ledgers with the same words apart."""

    dataset: str
    unit: Unit
    budget: Promise
    edition: str
    nonce: str
    day: str
    partitions: tuple[str, tuple[str, ...]] | None = None
    allow_unprotected: bool = False


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
        return dict(decode(json.loads(self.body), (*PROMISES, *UNITS)))

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
        return f"{self.day}  {price}{where}  {self.summary}"


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


def today() -> str:
    """The day in UTC, the finest time that a ledger keeps."""
    return datetime.now(UTC).date().isoformat()


def named(text: object, what: str) -> str:
    """A text that is not blank, or an InputError."""
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{what} is a text that is not blank, and got {text!r}.")
    return text


def _hash(number: int, act: str, key: str, body: str, previous: str) -> str:
    return digest(str(number).encode(), act.encode(), key.encode(), body.encode(), previous.encode())
