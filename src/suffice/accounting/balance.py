"""What of a budget is spent and what is left, and the one statement that spends."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import final

from suffice.accounting import statement
from suffice.accounting.engine import Connection
from suffice.accounting.money import Amount

__all__ = ["Remaining", "remaining", "spent", "take", "total"]


@final
@dataclass(frozen=True, slots=True)
class Remaining:
    """What may still be spent, by all or by one learner; it prints like the promise, and says if void."""

    amount: Amount
    voided: date | None = None
    learner: str | None = None

    @property
    def epsilon(self) -> float | None:
        """The epsilon that is left, or None where rho is counted."""
        return None if self.amount.currency == "ZeroConcentratedDP" else float(self.amount.exact[0])

    @property
    def rho(self) -> float | None:
        """The rho that is left, or None where epsilon is counted."""
        return float(self.amount.exact[0]) if self.amount.currency == "ZeroConcentratedDP" else None

    @property
    def delta(self) -> float:
        """The delta that is left, zero where none is counted."""
        return float(self.amount.exact[1])

    def __str__(self) -> str:
        """The way the promise is printed."""
        void = f" (void since {self.voided}: something unprotected was released)" if self.voided else ""
        whose = f" of the limit of {self.learner!r}" if self.learner is not None else ""
        return f"{self.amount}{whose}{void}"


def take(db: Connection, price: Amount, account: str | None) -> bool:
    """Add the price to every account it concerns, or say that one of them lacks it."""
    values = (price.units, price.delta_units) * 2
    if account is not None:
        return db.change(statement.SPEND_PART, *values, account) == 1
    return db.change(statement.SPEND, *values) == len(db.rows(statement.ACCOUNTS))


def total(db: Connection, currency: str) -> Amount:
    """The budget, the same for every account."""
    _, units, delta_units, *_ = db.rows(statement.ACCOUNTS)[0]
    return Amount(currency, units, delta_units)


def spent(db: Connection, currency: str, account: str | None) -> Amount:
    """What one account has spent, or the most that any has."""
    rows = [row for row in db.rows(statement.ACCOUNTS) if account in {None, row[0]}]
    return Amount(currency, max(row[3] for row in rows), max(row[4] for row in rows))


def remaining(db: Connection, currency: str, account: str | None) -> Remaining:
    """What one account, or every account, may still spend."""
    ((_, voided),) = db.rows(statement.LEDGER)
    left = total(db, currency).minus(spent(db, currency, account))
    return Remaining(left, date.fromisoformat(voided) if voided else None)
