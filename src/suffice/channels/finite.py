"""What all finite channels share: a list of truths, a list of answers, and a table between them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from suffice.channels.label import Label, named, places
from suffice.channels.table import Table
from suffice.core.guarantees import Guarantee
from suffice.core.units import Answer

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ASSUMED", "Finite", "logs", "table_of"]

ASSUMED = (
    "each person gives one answer, drawn by this channel on their own device",
    "noise is drawn from the operating system's randomness, which is taken to be uniform",
)


class Finite(Protocol):
    """A channel given by a table; whoever inherits states its truths, its answers and the table."""

    __slots__ = ()

    def __hash__(self) -> int:
        """The hash of the value; equal channels have the same table."""
        return object.__hash__(self)

    def truths(self) -> tuple[Label, ...]:
        """The labels that a truth may have."""
        ...

    def answers(self) -> tuple[Label, ...]:
        """The labels that an answer may have."""
        ...

    def table(self) -> Table:
        """The law that is sampled: whole-number probabilities over 2^53."""
        ...

    def guarantee(self) -> Guarantee:
        """What one answer keeps secret: the largest log-ratio of the table, rounded up."""
        return Guarantee(table_of(self).promise(), Answer(), assumes=ASSUMED)

    def matrix(self) -> NDArray[np.float64]:
        """The probability of each answer, a row per truth; exactly what is sampled."""
        return table_of(self).matrix()

    def randomise(self, truth: Any) -> Any:
        """One fresh answer for each truth; a single truth gives a single answer."""
        codes = places(self.truths(), truth, "truth")
        return named(self.answers(), table_of(self).draw(codes.ravel()).reshape(codes.shape))

    def log_density(self, answer: Any, truth: Any) -> NDArray[np.float64]:
        """The logarithm of the probability of each answer given its truth."""
        rows, columns = places(self.truths(), truth, "truth"), places(self.answers(), answer, "answer")
        return logs(self.matrix())[rows, columns]

    def unbias(self, answer: Any) -> NDArray[np.float64]:
        """A row per answer and a column per truth; its mean given a truth is 1 there and 0 elsewhere."""
        table = table_of(self)
        table.check_rank()
        return table.unbias()[places(self.answers(), answer, "answer")]


@lru_cache(maxsize=256)
def table_of(channel: Finite) -> Table:
    """The channel's table, computed once for equal channels."""
    return channel.table()


def logs(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms, minus infinity for what cannot happen."""
    with np.errstate(divide="ignore"):
        return np.log(probabilities)
