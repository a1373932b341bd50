"""Public facts that tie a release to its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

__all__ = ["Witness"]


@final
@dataclass(frozen=True, slots=True)
class Witness:
    """Count, column sums and an order-free hash of the public rows, all on the integer grid.

    The fingerprint (32 hexadecimal digits) guards against accidents, not against adversaries:
    the sum over rows of two 64-bit hashes. It is absent under units whose rows are not public.
    """

    count: int
    feature_sum: tuple[int, ...]
    fingerprint: str
