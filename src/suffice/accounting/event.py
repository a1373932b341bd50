"""What a draw was, beyond what it promises: enough to say how its privacy loss is spread."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, final

from suffice.core.bounds import Sensitivity
from suffice.core.laws import Gaussian, Laplace, Law

__all__ = ["Event", "event_of"]


@final
@dataclass(frozen=True, slots=True)
class Event:
    """Noise of one kind and how many sensitivities wide it is: 1-norm for Laplace, 2-norm for Gaussian."""

    noise: Literal["Laplace", "Gaussian"]
    width: Fraction

    def __str__(self) -> str:
        """In a few words."""
        return f"{self.noise} noise of {float(self.width):.6g} sensitivities"


def event_of(law: Law | None, sensitivity: Sensitivity | None) -> Event | None:
    """The event of a noisy sum, or None where the promise alone is known (docs/proofs/composition.md)."""
    if sensitivity is None:
        return None
    if isinstance(law, Laplace) and sensitivity.l1 > 0:
        return Event("Laplace", Fraction(law.scale) / sensitivity.l1)
    if isinstance(law, Gaussian) and sensitivity.l2 > 0:
        return Event("Gaussian", Fraction(law.stddev) / sensitivity.l2)
    return None
