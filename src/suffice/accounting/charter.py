"""What a ledger is for: fixed when it is made, and checked before anything is written."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, final

from suffice.accounting.money import Amount
from suffice.core.errors import InputError, UnsupportedPair
from suffice.core.guarantees import NotPrivate, Promise
from suffice.core.units import FeatureOf, LabelOf, RecordOf, Unit

__all__ = ["Charter", "charter_of", "named", "today", "total_of"]

_FIRST_EDITION: Final = "1"


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


def charter_of(
    dataset: str,
    unit: Unit,
    budget: Promise,
    partitions: tuple[str, Iterable[str]] | None,
    *,
    allow_unprotected: bool,
) -> Charter:
    """What is asked for, as it will be fixed; an InputError when it means nothing."""
    named(dataset, "The name of a dataset")
    total_of(budget)
    return Charter(
        dataset=dataset,
        unit=unit,
        budget=budget,
        edition=_FIRST_EDITION,
        nonce=secrets.token_hex(16),
        day=today(),
        partitions=None if partitions is None else _partitions(unit, *partitions),
        allow_unprotected=bool(allow_unprotected),
    )


def _partitions(unit: Unit, column: str, values: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """Groups that no neighbour can move a row between, or an error that says why they are not."""
    groups = tuple(values)
    if (
        not groups
        or len(set(groups)) < len(groups)
        or not all(isinstance(one, str) and one for one in groups)
    ):
        raise InputError(f"The groups of {column!r} are different texts, at least one, and got {groups!r}.")
    movable = isinstance(unit, RecordOf) and unit.relation == "replace"
    protected = isinstance(unit, LabelOf | FeatureOf) and column in unit.protected()
    if movable or protected or not isinstance(unit, LabelOf | FeatureOf | RecordOf):
        raise UnsupportedPair(
            f"Groups of {column!r} cannot be counted apart for the unit {unit}: a neighbour could move from "
            "one group to another. Use a public column, RecordOf('add-remove'), or no groups."
        )
    return column, groups


def total_of(budget: Promise) -> Amount:
    """The budget in units; only a finite promise is one."""
    if isinstance(budget, NotPrivate):
        raise InputError(
            "A budget is a finite promise, such as PureDP(1.0). For releases without a guarantee, add "
            "allow_unprotected=True."
        )
    return Amount.of(budget)


def today() -> str:
    """The day in UTC, the finest time that a ledger keeps."""
    return datetime.now(UTC).date().isoformat()


def named(text: object, what: str) -> str:
    """A text that is not blank, or an InputError."""
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise InputError(f"{what} is a text that is not blank, and got {text!r}.")
    return text
