"""Vectors with every coordinate in one interval, and their unbiased rounding to bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from suffice.channels.dyadic import WHOLE, events
from suffice.core.errors import BoundsError, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Interval", "whole"]


@final
@dataclass(frozen=True, slots=True)
class Interval:
    """Vectors of `dimension` numbers from `lower` to `upper`."""

    dimension: int
    lower: float
    upper: float

    def __post_init__(self) -> None:
        """Refuse what has no coordinates or no length."""
        whole("dimension", self.dimension)
        if not (np.isfinite([self.lower, self.upper]).all() and self.lower < self.upper):
            raise BoundsError(f"lower= is below upper=, and got {self.lower!r} and {self.upper!r}.")

    @property
    def width(self) -> float:
        """The length of the interval."""
        return self.upper - self.lower

    def rows(self, truth: Any) -> NDArray[np.float64]:
        """The vectors as numbers; one outside the interval is refused."""
        rows = np.asarray(truth, dtype=np.float64)
        if rows.ndim == 0 or rows.shape[-1] != self.dimension:
            raise InputError(f"A truth is a vector of {self.dimension} numbers, and got shape {rows.shape}.")
        if not ((rows >= self.lower) & (rows <= self.upper)).all():
            raise BoundsError(
                f"Every coordinate is between {self.lower:g} and {self.upper:g}, and one is not. "
                "Cut the values to the interval, or state a wider one."
            )
        return rows

    def thresholds(self, rows: NDArray[np.float64]) -> NDArray[np.uint64]:
        """Counts over 2^53 with which each coordinate is rounded up."""
        return np.asarray((rows - self.lower) / self.width * WHOLE, dtype=np.uint64)

    def rounded(self, rows: NDArray[np.float64]) -> NDArray[np.bool_]:
        """A bit per coordinate, on with the share of the interval that lies below the value."""
        return events(self.thresholds(rows))

    def chances(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of each such bit."""
        return np.asarray(self.thresholds(rows) / WHOLE)


_MOST = 1 << 20


def whole(name: str, value: int, least: int = 1, most: int = _MOST) -> int:
    """The number, if it is whole and within these ends."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= most:
        raise InputError(f"{name}= is a whole number from {least} to {most}, and got {value!r}.")
    return int(value)
