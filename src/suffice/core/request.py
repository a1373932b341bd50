"""Requests that the owner resolves before anything is charged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from suffice.core.guarantees import ApproxDP, PureDP

__all__ = ["Auto"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Auto:
    """Whichever admissible mechanism has the least predicted error, computed from public facts."""

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no promise could be made of."""
        self.promise()

    def promise(self) -> PureDP | ApproxDP:
        """What may be spent."""
        return PureDP(self.epsilon) if self.delta == 0 else ApproxDP(self.epsilon, self.delta)
