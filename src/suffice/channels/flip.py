"""Flips: every coordinate of a vector of states stays, or becomes another state at random."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from suffice.channels.bound import log_above, share
from suffice.channels.dyadic import WHOLE
from suffice.channels.finite import ASSUMED
from suffice.channels.interval import whole
from suffice.channels.table import Table
from suffice.core.errors import InputError
from suffice.core.guarantees import Guarantee, PureDP
from suffice.core.units import Answer

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Flip"]


@final
@dataclass(frozen=True, slots=True)
class Flip:
    """A vector of `dimension` states 0, ..., states - 1; each is replaced with probability `flip`.

    What replaces it is any of the other states alike. The promise for the whole vector is that of
    one coordinate times their number: for images it is in the thousands, and says next to nothing.
    """

    dimension: int
    flip: float
    states: int = 2

    def __post_init__(self) -> None:
        """Refuse a vector without coordinates, a single state, and flips that say nothing."""
        whole("dimension", self.dimension)
        whole("states", self.states, 2)
        each = self._each()
        if each == 0 or each * self.states == WHOLE or (share("flip", self.flip) == 1 and self.states == 2):
            raise InputError(
                f"flip={self.flip!r} of {self.states} states keeps all, makes them alike, or only renames "
                "them. Take a probability between."
            )

    def coordinate(self) -> PureDP:
        """The promise for one coordinate: the log-ratio of staying to becoming one other state."""
        each = self._each()
        stay = WHOLE - (self.states - 1) * each
        return PureDP(log_above(Fraction(max(stay, each), min(stay, each))))

    def guarantee(self) -> Guarantee:
        """The promise for the whole vector: the coordinates' own add up."""
        each = self._each()
        stay = WHOLE - (self.states - 1) * each
        widest = Fraction(max(stay, each), min(stay, each))
        return Guarantee(PureDP(log_above(widest, self.dimension)), Answer(), assumes=ASSUMED)

    def table(self) -> Table:
        """The law of one coordinate, a row per state."""
        each = self._each()
        rows = np.full((self.states, self.states), each, dtype=np.int64)
        np.fill_diagonal(rows, WHOLE - (self.states - 1) * each)
        return Table(rows)

    def matrix(self) -> NDArray[np.float64]:
        """The probabilities of one coordinate's states, a row per true state."""
        return self.table().matrix()

    def randomise(self, truth: Any) -> NDArray[np.int64]:
        """A fresh vector of states for each truth."""
        states = self._vectors(truth)
        turn = Table(self.table().counts[:1])
        drawn = turn.draw(np.zeros(states.size, dtype=np.intp)).reshape(states.shape)
        return np.asarray((states + drawn) % self.states, dtype=np.int64)

    def log_density(self, answer: Any, truth: Any) -> NDArray[np.float64]:
        """The logarithm of the probability of each answer given its truth."""
        stay, each = self._chances()
        terms: NDArray[np.float64] = np.where(
            self._vectors(answer) == self._vectors(truth), math.log(stay), math.log(each)
        )
        return np.asarray(terms.sum(axis=-1))

    def unbias(self, answer: Any) -> NDArray[np.float64]:
        """For each answer a row per coordinate, whose mean is 1 at the true state and 0 elsewhere."""
        stay, each = self._chances()
        here = self._vectors(answer)[..., None] == np.arange(self.states)
        return np.asarray((here - each) / (stay - each))

    def _chances(self) -> tuple[float, float]:
        """The probabilities of staying, and of becoming one given other state."""
        each = self._each()
        return (WHOLE - (self.states - 1) * each) / WHOLE, each / WHOLE

    def _each(self) -> int:
        return round(share("flip", self.flip) * WHOLE / (self.states - 1))

    def _vectors(self, values: Any) -> NDArray[np.int64]:
        rows = np.asarray(values)
        if rows.ndim == 0 or rows.shape[-1] != self.dimension or rows.dtype.kind not in "iub":
            raise InputError(
                f"A vector has {self.dimension} whole numbers, and got {rows.dtype} {rows.shape}."
            )
        if rows.size and not (rows.min() >= 0 and rows.max() < self.states):
            raise InputError(f"States are numbered from 0 to {self.states - 1}, and one here is not.")
        return rows.astype(np.int64)
