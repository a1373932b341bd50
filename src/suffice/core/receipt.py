"""What a release remembers of its charge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

__all__ = ["Receipt"]


@final
@dataclass(frozen=True, slots=True)
class Receipt:
    """The charge that paid for a release, by its id in the owner's ledger, and nothing else."""

    charge: str
