"""Any finite channel, given by its matrix."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Self, final

import numpy as np

from suffice.channels.bound import share
from suffice.channels.finite import Finite
from suffice.channels.label import Label, distinct
from suffice.channels.table import Table
from suffice.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

__all__ = ["Matrix"]

_ROUNDED = Fraction(1, 10**9)


@final
@dataclass(frozen=True, slots=True)
class Matrix(Finite):
    """The probability of each answer given each truth: a row per truth, each adding up to 1.

    The rows must be linearly independent, or the frequencies of the truths could not be estimated;
    `condition()` says how much of them the noise eats.
    """

    labels: tuple[Label, ...]
    rows: tuple[tuple[float, ...], ...]
    replies: tuple[Label, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse rows that are not laws, or that depend on each other."""
        put = object.__setattr__
        put(self, "labels", distinct(self.labels))
        put(self, "rows", tuple(tuple(map(float, row)) for row in self.rows))
        if self.replies is not None:
            put(self, "replies", distinct(self.replies, "replies"))
        wide = {len(row) for row in self.rows}
        if len(self.rows) != len(self.labels) or wide != {len(self.answers())}:
            raise InputError(
                f"rows= has a row for each of {len(self.labels)} truths and a column for each of "
                f"{len(self.answers())} answers, and got {np.shape(self.rows) if len(wide) == 1 else wide}."
            )
        if any(
            abs(sum((share("rows", part) for part in row), start=Fraction(0)) - 1) > _ROUNDED
            for row in self.rows
        ):
            raise InputError("Every row of rows= adds up to 1: it is the law of the answer given one truth.")
        self.table().check_rank()

    @classmethod
    def of(
        cls, matrix: ArrayLike, labels: Sequence[Label], *, replies: Sequence[Label] | None = None
    ) -> Self:
        """The channel of an array, a row per truth."""
        rows = tuple(map(tuple, np.asarray(matrix, dtype=np.float64).tolist()))
        return cls(tuple(labels), rows, None if replies is None else tuple(replies))

    def truths(self) -> tuple[Label, ...]:
        """The labels that a truth may have."""
        return self.labels

    def answers(self) -> tuple[Label, ...]:
        """The labels that an answer may have; the truths' own unless `replies` says otherwise."""
        return self.labels if self.replies is None else self.replies

    def table(self) -> Table:
        """The law that is sampled: the nearest whole numbers over 2^53."""
        return Table.of([[Fraction(part) for part in row] for row in self.rows])

    def condition(self) -> float:
        """The largest singular value of the matrix over the least."""
        return self.table().condition()
