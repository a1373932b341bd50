"""The running sum of a mean operator once everything public is settled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
import pyarrow as pa

from suffice.core.bounds import Sensitivity, least_root
from suffice.core.errors import InputError
from suffice.core.facts import Facts
from suffice.core.units import FeatureOf, LabelOf, RecordOf
from suffice.core.witness import Witness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from suffice.core.bounds import Bound
    from suffice.core.units import Unit
    from suffice.statistics.encoder import Encoder
    from suffice.statistics.label import Classes

__all__ = ["MeanSum", "State"]

_WORD = 1 << 64


@final
@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Rows so far: how many, their total (a row per class block), and the sums that make the witness."""

    count: int
    totals: NDArray[np.int64]
    feature_sum: NDArray[np.int64]
    fingerprint: tuple[int, int]


@final
@dataclass(frozen=True, slots=True)
class MeanSum:
    """Σ y·q over the rows, q being the row on the grid, shortened to the radius; exact integers.

    Two classes make one block, the sum with signs. K classes make K blocks Σ 1[y=k]·q, of which
    the last is left out of the release, since they add up to the public Σ q.
    """

    encoder: Encoder
    label: str
    classes: Classes
    bound: Bound
    radius: int

    @property
    def binary(self) -> bool:
        """Whether labels are ±1."""
        return len(self.classes.values) == 2

    @property
    def dimension(self) -> int:
        """Coordinates of one block."""
        return self.encoder.recipe.dimension

    @property
    def blocks(self) -> int:
        """How many classes the noise is shared over."""
        return len(self.classes.values)

    def reads(self) -> tuple[str, ...]:
        """The feature columns and the label."""
        return (*self.encoder.recipe.reads(), self.label)

    def init(self) -> State:
        """No rows."""
        blocks = 1 if self.binary else len(self.classes.values)
        return State(
            0, np.zeros((blocks, self.dimension), np.int64), np.zeros(self.dimension, np.int64), (0, 0)
        )

    def update(self, state: State, batch: pa.RecordBatch) -> State:
        """These rows too."""
        codes = self.classes.codes(batch)
        labels = 2 * codes - 1 if self.binary else codes
        norm, blocks = self.bound.norm, None if self.binary else len(self.classes.values)
        totals, count, ties = self.encoder.sums(batch, labels, norm, self.radius, blocks)
        return self.merge(state, State(count, totals, *ties))

    def merge(self, one: State, two: State) -> State:
        """The rows of both."""
        prints = zip(one.fingerprint, two.fingerprint, strict=True)
        low, high = ((first + second) % _WORD for first, second in prints)
        return State(
            one.count + two.count,
            one.totals + two.totals,
            one.feature_sum + two.feature_sum,
            (low, high),
        )

    def finalise(self, state: State) -> NDArray[np.int64]:
        """The exact sum: one row of d numbers for two classes, K rows for K."""
        if state.count == 0:
            raise InputError("The source has no rows, so there is nothing to release.")
        return state.totals

    def sensitivity(self, unit: Unit, public: object = None) -> Sensitivity:
        """The furthest that one neighbour moves the sum (docs/proofs/mean_operator.md)."""
        if isinstance(unit, FeatureOf):
            return self._moved(2, 2, 2)
        if isinstance(unit, RecordOf):
            return self._moved(2, 2, 2).times(unit.at_most)
        if isinstance(unit, LabelOf) and self.binary:
            return self._moved(2, 2, 2).times(unit.at_most)
        at_most = unit.at_most if isinstance(unit, LabelOf) else 1
        return self._moved(2, 2, 1, square_l2=2).times(at_most)

    def _moved(self, l1: int, l2: int, linf: int, *, square_l2: int | None = None) -> Sensitivity:
        """The sensitivity when a neighbour moves the sum by these multiples of one row."""
        row = Sensitivity.of_row(self.bound.norm, self.radius, self.dimension)
        squared = l2 * l2 if square_l2 is None else square_l2
        longest = self.dimension * self.radius**2 if self.bound.norm == "inf" else self.radius**2
        return Sensitivity(l1 * row.l1, least_root(squared * longest), linf * row.linf)

    def witness(self, state: State) -> Witness:
        """Count, sums and hash of the rows before they were shortened."""
        digits = "".join(f"{lane:016x}" for lane in state.fingerprint)
        return Witness(state.count, tuple(int(value) for value in state.feature_sum), digits)

    def facts(self, state: State, unit: Unit) -> Facts:
        """What the release says of this statistic."""
        public = unit.rows_are_public
        return Facts(
            kind="MeanOperator",
            names=self.encoder.recipe.names,
            recipe=self.encoder.recipe,
            bound=self.bound,
            bits=self.encoder.bits,
            radius=self.radius,
            witness=self.witness(state) if public else None,
            about={"label": self.label, "classes": list(self.classes.values), "count": state.count},
            assumes=_LABEL_ASSUMES if public else _RECORD_ASSUMES,
        )

    def neighbours(
        self, batch: pa.RecordBatch, unit: Unit, draw: Callable[[int], int]
    ) -> Iterator[pa.RecordBatch]:
        """Batches that differ from this one as the unit says; `draw(n)` picks a number below n."""
        row, other = draw(batch.num_rows), draw(batch.num_rows)
        if isinstance(unit, LabelOf):
            for value in self.classes.values:
                yield _put(batch, row, self.label, value)
        elif isinstance(unit, FeatureOf):
            yield _put(batch, row, unit.column, batch.column(unit.column)[other].as_py())
        else:
            copied = batch
            for name in batch.schema.names:
                copied = _put(copied, row, name, batch.column(name)[other].as_py())
            for value in self.classes.values:
                yield _put(copied, row, self.label, value)


_LABEL_ASSUMES = (
    "the reader already knows the feature rows, which rows are present, and that each of them has a label",
    "release times and editions were not chosen by looking at protected values",
    "the rows passed validation; a refusal is seen by the owner alone",
)
_RECORD_ASSUMES = (
    "bounds, centres, scales and levels were stated without looking at the records",
    "the number of records is public",
    "release times and editions were not chosen by looking at protected values",
    "the rows passed validation; a refusal is seen by the owner alone",
)


def _put(batch: pa.RecordBatch, row: int, name: str, value: object) -> pa.RecordBatch:
    place = batch.schema.get_field_index(name)
    column = batch.column(place).to_pylist()
    column[row] = value
    return batch.set_column(
        place, batch.schema.field(place), pa.array(column, batch.schema.field(place).type)
    )
