"""A checkpoint: how far a ledger had come, in words that its holder signs and keeps elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from suffice.accounting.chain import Entry
from suffice.accounting.charter import today
from suffice.core.codec import canonical
from suffice.core.errors import InputError

__all__ = ["Checkpoint", "absent"]


@final
@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The ledger's first hash, and the number and hash of the act that was its last."""

    ledger: str
    number: int
    hash: str
    day: str

    @classmethod
    def of(cls, entries: tuple[Entry, Entry]) -> Checkpoint:
        """The checkpoint of a ledger whose first and last acts these are."""
        first, last = entries
        return cls(first.hash, last.number, last.hash, today())

    @classmethod
    def from_bytes(cls, data: bytes) -> Checkpoint:
        """The checkpoint that these words are."""
        try:
            found = cls(**json.loads(data))
        except (ValueError, TypeError) as error:
            raise InputError("This is not a checkpoint of a ledger.") from error
        if not isinstance(found.number, int) or not isinstance(found.hash, str):
            raise InputError("This is not a checkpoint of a ledger.")
        return found

    def to_bytes(self) -> bytes:
        """The words to sign."""
        return canonical({name: getattr(self, name) for name in ("ledger", "number", "hash", "day")})


def absent(entries: list[Entry], checkpoints: Iterable[Checkpoint]) -> str | None:
    """What is wrong when the ledger does not hold the act of a checkpoint, or None."""
    for one in checkpoints:
        if entries[0].hash != one.ledger:
            return f"the checkpoint of {one.day} is of another ledger."
        if len(entries) < one.number:
            return (
                f"it has {len(entries)} rows, and had {one.number} at the checkpoint of {one.day}; "
                "it is an older copy, or rows were taken away at its end."
            )
        if entries[one.number - 1].hash != one.hash:
            return f"row {one.number} is not what it was at the checkpoint of {one.day}; it was rewritten."
    return None
