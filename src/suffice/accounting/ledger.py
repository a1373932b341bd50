"""The ledger: what may be spent on one dataset, durably, and what was spent."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, final

from suffice.accounting import balance, policy, statement
from suffice.accounting.address import engine_of
from suffice.accounting.balance import Remaining
from suffice.accounting.chain import (
    Charge,
    Entry,
    append,
    budget_of,
    charge_under,
    digest,
    edition_of,
    entry_of,
    lock,
    source_of,
    stored,
)
from suffice.accounting.charter import Charter, charter_of, named, today, total_of
from suffice.accounting.checkpoint import Checkpoint
from suffice.accounting.engine import FORMAT, Connection, Engine, check_format, migrate
from suffice.accounting.event import Event
from suffice.accounting.money import Amount, cost
from suffice.accounting.pld import tight_epsilon
from suffice.accounting.policy import Approve, Learner
from suffice.accounting.record import Verification, as_csv, as_json, verified
from suffice.accounting.replay import Holds
from suffice.core.errors import BudgetExceeded, InputError, UnprotectedRefused
from suffice.core.guarantees import ApproxDP, NotPrivate, Promise, PureDP
from suffice.core.units import Unit

__all__ = ["Charge", "Checkpoint", "Learner", "Ledger", "Remaining", "Verification"]

_SHOWN = 12  # charges that a refusal lists
_WHOLE = ""  # the account of a ledger without parts


@final
@dataclass(frozen=True, slots=True)
class Ledger:
    """The budget of one dataset (one group of people) for one unit of privacy, kept in a database.

    A ledger is a handle: it holds where the database is and what never changes in it, and no open
    connection. Copies, pickles and forks of a handle all speak of the same ledger.
    """

    engine: Engine
    charter: Charter

    @classmethod
    def create(
        cls,
        url: str | os.PathLike[str],
        *,
        dataset: str,
        unit: Unit,
        budget: Promise,
        partitions: tuple[str, Iterable[str]] | None = None,
        allow_unprotected: bool = False,
    ) -> Ledger:
        """Make a new ledger; one that exists is an InputError, and is left as it is."""
        engine = engine_of(url)
        charter = charter_of(dataset, unit, budget, partitions, allow_unprotected=allow_unprotected)
        if not _founded(engine, charter):
            raise InputError(
                f"There is something at {engine.url!r} already, and it was left as it is. "
                "Ledger.open opens a ledger; a new one needs another name."
            )
        return cls(engine, charter)

    @classmethod
    def open(cls, url: str | os.PathLike[str]) -> Ledger:
        """Open a ledger that exists, bringing its tables to the newest format."""
        engine = engine_of(url)
        found = engine.format()
        check_format(found, engine.url)
        if found < FORMAT:
            with engine.transaction(write=True) as db:
                if db.change(statement.LOCK, found):
                    migrate(db, engine.words, found)
        with engine.transaction() as db:
            return cls(engine, entry_of(db, "created", "").charter())

    @classmethod
    def open_or_create(
        cls,
        url: str | os.PathLike[str],
        *,
        dataset: str,
        unit: Unit,
        budget: Promise,
        partitions: tuple[str, Iterable[str]] | None = None,
        allow_unprotected: bool = False,
    ) -> Ledger:
        """Open the ledger, or make it; one that exists with any other attribute is an InputError."""
        engine = engine_of(url)
        charter = charter_of(dataset, unit, budget, partitions, allow_unprotected=allow_unprotected)
        if _founded(engine, charter):
            return cls(engine, charter)
        ledger = cls.open(url)
        for name in ("dataset", "unit", "budget", "partitions", "allow_unprotected"):
            wanted, found = getattr(charter, name), getattr(ledger, name)
            if wanted != found:
                raise InputError(
                    f"The ledger {engine.url!r} has {name} = {found!r}, and {wanted!r} was asked for. "
                    "Opening changes nothing: ask for what it has, or raise the budget, or make another."
                )
        return ledger

    @property
    def url(self) -> str:
        """Where the ledger is kept."""
        return self.engine.url

    @property
    def dataset(self) -> str:
        """The group of people whose privacy is counted."""
        return self.charter.dataset

    @property
    def unit(self) -> Unit:
        """What one protected change is."""
        return self.charter.unit

    @property
    def partitions(self) -> tuple[str, tuple[str, ...]] | None:
        """The public column and its closed list of groups that are counted apart, if any."""
        return self.charter.partitions

    def group(self, part: str) -> tuple[str, str]:
        """The public column and the value that make a part; an InputError when there is no such part."""
        self._account(part)
        return (self.partitions or ("", ()))[0], part

    @property
    def allow_unprotected(self) -> bool:
        """Whether something without a guarantee may be released, which voids the promise."""
        return self.charter.allow_unprotected

    @property
    def budget(self) -> Promise:
        """All that may be spent, raises included."""
        with self.engine.transaction() as db:
            return budget_of(db)

    @property
    def edition(self) -> str:
        """The edition of the data that requests are about now."""
        with self.engine.transaction() as db:
            return edition_of(db)

    def remaining(self, part: str | None = None) -> Remaining:
        """What may still be spent: on one group, or, without one, on all groups together."""
        with self.engine.transaction() as db:
            return balance.remaining(db, self._currency, self._account(part))

    def spent(self, part: str | None = None) -> Amount:
        """What was spent: on one group, or, without one, on the group with the most."""
        with self.engine.transaction() as db:
            return balance.spent(db, self._currency, self._account(part))

    def request_key(self, request: bytes) -> str:
        """The default key of a request: a hash of it, the dataset and the edition, and nothing else."""
        return digest(b"request", self.dataset.encode(), self.edition.encode(), request)

    def find(self, key: str, request: bytes) -> bytes | None:
        """The bytes that were released under the key, or None; another request under it is refused."""
        with self.engine.transaction() as db:
            charge = charge_under(db, key, digest(request))
            return None if charge is None else stored(db, charge)

    def bind_source(self, name: str) -> None:
        """Fix the public name of the rows of this edition; another name later is an InputError."""
        named(name, "The public name of a source")
        if self.check_source(name):
            return
        with self.engine.transaction(write=True) as db:
            lock(db)
            if source_of(db) is None:
                append(db, "source", edition_of(db), {"source": name, "day": today()})
                return
        self.check_source(name)

    def check_source(self, name: str) -> bool:
        """Whether this edition is of that source; False if of none yet, InputError if of another."""
        with self.engine.transaction() as db:
            bound = source_of(db)
        if bound is not None and bound != name:
            raise InputError(
                f"This edition of {self.dataset!r} is of the source {bound!r}, and got {name!r}. Give the "
                "source that name, or begin a new edition with ledger.new_edition(...) if the rows are new."
            )
        return bound is not None

    def charge(  # noqa: PLR0913  the fields of one recorded act
        self,
        key: str,
        request: bytes,
        promise: Promise,
        also: Iterable[Promise] = (),
        *,
        summary: str,
        part: str | None = None,
        learner: str | None = None,
        unprotected: str | None = None,
        event: Event | None = None,
    ) -> Charge:
        """Spend the cheapest of the promises that one draw keeps; on the disk when this returns.

        A key that was paid for by the same request returns that charge again and spends nothing.
        With a learner's name it also counts against that learner's limit. `event` says what the
        draw was, for `tight`.
        """
        named(key, "The key of a request")
        named(summary, "The summary of a charge")
        keeps, account, request_hash = (promise, *also), self._account(part), digest(request)
        with self.engine.transaction() as db:
            known = charge_under(db, key, request_hash)
            total = balance.total(db, self._currency)
            if learner is not None:
                policy.admit(db, learner, self._currency)
        if known is not None:
            return known
        price = self._price(keeps, total, unprotected)
        fields: dict[str, object] = {
            "request": request_hash,
            "summary": summary,
            "promise": promise,
            "also": keeps[1:],
            "cost": (price.currency, price.units, price.delta_units),
            "part": part,
            "unprotected": unprotected,
            "day": today(),
        }
        fields |= {name: told for name, told in (("learner", learner), ("event", event)) if told is not None}
        with self.engine.transaction(write=True) as db:
            charge = _spend(db, key, price, account, fields)
            if charge is not None:
                return charge
            db.undo()
            left, lines = balance.remaining(db, self._currency, account), _lines(db)
            if learner is not None and price.within(left.amount):
                left = policy.admit(db, learner, self._currency).remaining
        raise BudgetExceeded(price, left, lines)

    def store(self, charge: Charge, release: bytes) -> bytes:
        """Keep the bytes that the charge paid for; the first bytes win, and are what is returned."""
        with self.engine.transaction(write=True) as db:
            lock(db)
            if entry_of(db, "charge", charge.key).hash != charge.id:
                raise InputError(f"The charge {charge.id!r} is not of the ledger {self.url!r}.")
            db.change(statement.STORE, charge.number, bytes(release))
            return bytes(db.rows(statement.STORED, charge.number)[0][0])

    def new_edition(self, name: str) -> None:
        """Begin a new edition of the data: the same request is then a new one, and is charged."""
        named(name, "The name of an edition")
        with self.engine.transaction(write=True) as db:
            lock(db)
            if name == self.charter.edition or db.rows(statement.ENTRY, "edition", name):
                raise InputError(
                    f"There was an edition {name!r} already. Give the new one a name of its own."
                )
            append(db, "edition", name, {"edition": name, "day": today()})

    def raise_budget(self, promise: Promise, reason: str, *, approve: Approve | None = None) -> None:
        """Set a new, larger total; the act and its reason are recorded for good.

        Where the ledger has an approver, `approve` takes the words to sign and the approver's
        public key, and returns the signature, which is recorded too.
        """
        named(reason, "The reason for a larger budget")
        total, fields = total_of(promise), {"budget": promise, "reason": reason}
        self._check_raise(total, promise)
        agreed = self._agreed("budget", fields, approve)
        with self.engine.transaction(write=True) as db:
            lock(db)
            self._refuse_less(balance.total(db, self._currency), total, promise)
            policy.record_approved(db, "budget", fields, agreed)
            db.change(statement.RAISE, total.units, total.delta_units)

    def raise_statement(self, promise: Promise, reason: str) -> bytes:
        """The words that the approver signs for this larger budget."""
        named(reason, "The reason for a larger budget")
        self._check_raise(total_of(promise), promise)
        with self.engine.transaction() as db:
            return policy.proposal(db, "budget", {"budget": promise, "reason": reason})

    def set_approver(self, public_key: str, *, approve: Approve | None = None) -> None:
        """From now on a larger budget, and another approver, need a signature of this key."""
        named(public_key, "The approver's public key")
        fields = {"public_key": public_key}
        agreed = self._agreed("approver", fields, approve)
        with self.engine.transaction(write=True) as db:
            lock(db)
            policy.record_approved(db, "approver", fields, agreed)

    @property
    def approver(self) -> str | None:
        """The public key that larger budgets need a signature of, if any."""
        with self.engine.transaction() as db:
            return policy.approver_of(db)

    def limit(self, learner: str, promise: Promise, reason: str = "") -> None:
        """Name a learner and what it may spend of the budget, or set its limit anew.

        All that is charged for a learner counts, whatever the part. The budget stays that of all.
        """
        named(learner, "The name of a learner")
        total = total_of(promise)
        if total.currency != self._currency:
            raise InputError(
                f"The ledger counts {self.budget}, and got a limit of {promise}. Say it in the same currency."
            )
        with self.engine.transaction(write=True) as db:
            lock(db)
            policy.limit(db, learner, total, {"limit": promise, "reason": reason})

    def revoke(self, learner: str, reason: str) -> None:
        """Let a learner ask for nothing more, for good; what was released stays released."""
        named(reason, "The reason for a revocation")
        with self.engine.transaction(write=True) as db:
            lock(db)
            policy.revoke(db, learner, self._currency, reason)

    def admit(self, learner: str) -> Learner:
        """The learner of this name; Refused when nobody named it, or when it was revoked."""
        with self.engine.transaction() as db:
            return policy.admit(db, learner, self._currency)

    def learners(self) -> list[Learner]:
        """Everyone who was ever named, by name."""
        with self.engine.transaction() as db:
            return policy.learners_of(db, self._currency)

    def checkpoint(self) -> Checkpoint:
        """How far the ledger has come: to be signed, kept elsewhere, and given to `verify` later."""
        with self.engine.transaction() as db:
            first, last = db.rows(statement.NUMBERED, 1)[0], db.rows(statement.LAST)[0]
        return Checkpoint.of((Entry(*first), Entry(*last)))

    def tight(self, delta: float, part: str | None = None) -> float:
        """An epsilon for all charges together at this delta, by privacy loss distributions.

        For a report: charges are admitted by plain addition alone. Infinite once something
        unprotected was released. Needs the extra `accounting`.
        """
        self._account(part)
        charges = self.charges()
        if any(charge.unprotected for charge in charges):
            return math.inf
        wholes = self.partitions[1] if self.partitions and part is None else (part,)
        return max(tight_epsilon(_losses(charges, one), delta) for one in wholes)

    def charges(self) -> list[Charge]:
        """Every charge, the oldest first."""
        with self.engine.transaction() as db:
            return [Charge.of(Entry(*row)) for row in db.rows(statement.ACTS, "charge")]

    def verify(
        self,
        receipts: Iterable[str] = (),
        *,
        checkpoints: Iterable[Checkpoint | bytes] = (),
        holds: Holds | None = None,
    ) -> Verification:
        """Check every row against the chain and the totals; receipts and checkpoints must be known.

        `holds` says whether a signature of a public key fits some words; with it, every approval
        is checked too.
        """
        points = [Checkpoint.from_bytes(one) if isinstance(one, bytes) else one for one in checkpoints]
        with self.engine.transaction() as db:
            return verified(db, receipts, points, holds)

    def export(self, form: Literal["json", "csv"]) -> str:
        """The ledger as text: everything as JSON, or its charges as CSV."""
        if form not in {"json", "csv"}:
            raise InputError(f"A ledger is exported as 'json' or 'csv', and got {form!r}.")
        with self.engine.transaction() as db:
            return as_json(db) if form == "json" else as_csv(db)

    @property
    def _currency(self) -> str:
        return type(self.charter.budget).__name__

    def _check_raise(self, total: Amount, promise: Promise) -> None:
        with self.engine.transaction() as db:
            self._refuse_less(balance.total(db, self._currency), total, promise)

    def _refuse_less(self, before: Amount, total: Amount, promise: Promise) -> None:
        if total.currency != self._currency or total == before or not before.within(total):
            raise InputError(
                f"The budget is {before}, and {promise} was asked for. A raise names the new total, "
                "in the same currency, and no part of it is smaller."
            )

    def _agreed(
        self, act: Literal["budget", "approver"], fields: Mapping[str, object], approve: Approve | None
    ) -> tuple[bytes, str] | None:
        """The words and the approver's signature under them; None where the ledger has no approver."""
        with self.engine.transaction() as db:
            key, words = policy.approver_of(db), policy.proposal(db, act, fields)
        if key is None:
            return None
        if approve is None:
            raise InputError(
                "This ledger has an approver, whose signature this needs: `suffice ledger approve` writes it."
            )
        return words, approve(words, key)

    def _account(self, part: str | None) -> str | None:
        """The account that a part is charged to; None for all of them."""
        if part is None:
            return None
        if self.partitions is None:
            raise InputError(f"This ledger has no parts, and got part={part!r}. Leave it out.")
        if part not in self.partitions[1]:
            known = ", ".join(map(repr, self.partitions[1][:_SHOWN]))
            raise InputError(f"There is no part {part!r}. The parts of {self.partitions[0]!r} are: {known}.")
        return part

    def _price(self, keeps: tuple[Promise, ...], total: Amount, unprotected: str | None) -> Amount:
        if not isinstance(keeps[0], NotPrivate):
            if unprotected is not None:
                raise InputError(
                    "unprotected= is for a release without a guarantee, and this has one. Leave it out."
                )
            return cost(keeps[0], keeps[1:], total)
        if not self.allow_unprotected:
            raise UnprotectedRefused(
                f"This release has {keeps[0]}, and the ledger of {self.dataset!r} promises {self.budget}. "
                "Use a mechanism that protects, or a ledger made with allow_unprotected=True."
            )
        if unprotected is None or not unprotected.strip():
            raise UnprotectedRefused(
                f"This release has {keeps[0]}, and would void the promise of the ledger of {self.dataset!r}. "
                "Say why with unprotected='...', or use a mechanism that protects."
            )
        return Amount(self._currency, 0)


def _founded(engine: Engine, charter: Charter) -> bool:
    total = total_of(charter.budget)

    def fill(db: Connection) -> None:
        migrate(db, engine.words, 0)
        for part in charter.partitions[1] if charter.partitions else (_WHOLE,):
            db.change(statement.BEGIN_ACCOUNT, part, total.units, total.delta_units)
        append(db, "created", "", {name: getattr(charter, name) for name in Charter.__dataclass_fields__})

    return engine.create(fill)


def _spend(
    db: Connection, key: str, price: Amount, account: str | None, fields: Mapping[str, object]
) -> Charge | None:
    """The charge under this key, made now unless it was made before; None when the budget lacks it."""
    lock(db)
    known = charge_under(db, key, str(fields["request"]))
    if known is not None:
        return known
    learner = fields.get("learner")
    limited = learner is not None and not policy.take_limit(db, str(learner), price)
    if limited or not balance.take(db, price, account):
        return None
    voided = str(fields["day"]) if fields["unprotected"] else None
    entry = append(db, "charge", key, {**fields, "edition": edition_of(db)}, voided)
    return Charge.of(entry)


def _losses(charges: Iterable[Charge], part: str | None) -> list[Event | Promise]:
    """What each charge on a part may have given away, as tightly as it was recorded."""
    touching = (charge for charge in charges if part is None or charge.part in {None, part})
    return [charge.event or _strongest(charge) for charge in touching]


def _strongest(charge: Charge) -> Promise:
    """A pure promise if the draw keeps one, else a pair, else what there is."""
    kept = (charge.promise, *charge.also)
    order = (PureDP, ApproxDP)
    return min(kept, key=lambda one: order.index(type(one)) if type(one) in order else len(order))


def _lines(db: Connection) -> list[str]:
    """The newest charges, one line each, and how many came before."""
    shown = [Charge.of(Entry(*row)) for row in db.rows(statement.LAST_ACTS, "charge", _SHOWN)]
    ((count,),) = db.rows(statement.COUNT, "charge")
    earlier = [f"and {count - len(shown)} earlier"] if count > len(shown) else []
    return [charge.line() for charge in shown] + earlier
