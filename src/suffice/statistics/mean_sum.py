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
    """Rows so far: how many of each class, their totals, and the sums that make the witness.

    `reach` holds the largest 1-norm, squared 2-norm and max norm of a shortened row.
    """

    counts: NDArray[np.int64]
    totals: NDArray[np.int64]
    feature_sum: NDArray[np.int64]
    fingerprint: tuple[int, int]
    reach: tuple[int, int, int] = (0, 0, 0)

    @property
    def count(self) -> int:
        """All rows."""
        return int(self.counts.sum())


@final
@dataclass(frozen=True, slots=True)
class MeanSum:
    """Σ y·q over the rows, q being the row on the grid, shortened to the radius; exact integers.

    Two classes make one block, the sum with signs. K classes make K blocks Σ 1[y=k]·q. Where the
    number of rows is protected, each row carries one more coordinate, a constant, whose noisy sum
    is their number.
    """

    encoder: Encoder
    label: str
    classes: Classes
    bound: Bound
    radius: int
    unit: Unit

    @property
    def binary(self) -> bool:
        """Whether labels are ±1."""
        return len(self.classes.values) == 2

    @property
    def count_weight(self) -> int:
        """The constant that counts rows where their number is protected; a quarter of the radius."""
        hidden = isinstance(self.unit, RecordOf) and self.unit.relation == "add-remove"
        return -(-self.radius // 4) if hidden else 0

    @property
    def dimension(self) -> int:
        """Coordinates of one block."""
        return self.encoder.recipe.dimension

    @property
    def shape(self) -> tuple[int, int]:
        """For the noise: coordinates of a block, and classes that share it in contrast.

        Blocks add up to the public Σ q under a label unit. Elsewhere they are one long vector.
        """
        if isinstance(self.unit, LabelOf):
            return self.dimension, len(self.classes.values)
        width = self.dimension + bool(self.count_weight)
        return width if self.binary else width * len(self.classes.values), 2

    def reads(self) -> tuple[str, ...]:
        """The feature columns and the label."""
        return (*self.encoder.recipe.reads(), self.label)

    def init(self) -> State:
        """No rows."""
        kinds = len(self.classes.values)
        blocks = 1 if self.binary else kinds
        return State(
            np.zeros(kinds, np.int64),
            np.zeros((blocks, self.dimension), np.int64),
            np.zeros(self.dimension, np.int64),
            (0, 0),
        )

    def update(self, state: State, batch: pa.RecordBatch) -> State:
        """These rows too."""
        codes = self.classes.codes(batch)
        labels = 2 * codes - 1 if self.binary else codes
        norm, kinds = self.bound.norm, len(self.classes.values)
        sums = self.encoder.sums(batch, labels, norm, self.radius, None if self.binary else kinds)
        counts = _counted(codes, kinds)
        return self.merge(state, State(counts, sums.totals, sums.feature_sum, sums.fingerprint, sums.reach))

    def merge(self, one: State, two: State) -> State:
        """The rows of both."""
        prints = zip(one.fingerprint, two.fingerprint, strict=True)
        low, high = ((first + second) % _WORD for first, second in prints)
        l1, l2, linf = (max(pair) for pair in zip(one.reach, two.reach, strict=True))
        return State(
            one.counts + two.counts,
            one.totals + two.totals,
            one.feature_sum + two.feature_sum,
            (low, high),
            (l1, l2, linf),
        )

    def finalise(self, state: State) -> NDArray[np.int64]:
        """The exact sum: one row for two classes, K rows for K; the number of rows last, if protected."""
        if state.count == 0:
            raise InputError("The source has no rows, so there is nothing to release.")
        if not self.count_weight:
            return state.totals
        rows = np.array([state.count]) if self.binary else state.counts
        return np.column_stack([state.totals, self.count_weight * rows])

    def public(self) -> PublicRows:
        """The pass over feature columns alone that tells how far rows reach, before labels are read."""
        return PublicRows(self)

    def sensitivity(self, unit: Unit, public: State | None = None) -> Sensitivity:
        """The furthest that one neighbour moves the sum (docs/proofs/mean_operator.md).

        Where the rows are public, it is that of the row that reaches furthest; else of any row
        that the bound admits.
        """
        row = self._row(public if unit.rows_are_public else None)
        if isinstance(unit, LabelOf):
            return _flip(row, binary=self.binary).times(unit.at_most)
        if isinstance(unit, RecordOf) and unit.relation == "add-remove":
            return _norms(row).times(unit.at_most)
        at_most = unit.at_most if isinstance(unit, RecordOf) else 1
        return _norms(row).times(2 * at_most)

    def _row(self, public: State | None) -> tuple[int, int, int]:
        """The largest 1-norm, squared 2-norm and max norm of a row, with the coordinate that counts it."""
        if public is not None and public.count:
            return public.reach
        one, weight = Sensitivity.of_row(self.bound.norm, self.radius, self.dimension), self.count_weight
        square = self.radius**2 * (self.dimension if self.bound.norm == "inf" else 1)
        return one.l1 + weight, square + weight**2, max(one.linf, weight)

    def witness(self, state: State) -> Witness:
        """Count, sums and hash of the rows before they were shortened."""
        digits = "".join(f"{lane:016x}" for lane in state.fingerprint)
        return Witness(state.count, tuple(int(value) for value in state.feature_sum), digits)

    def facts(self, state: State, unit: Unit) -> Facts:
        """What the release says of this statistic."""
        public, weight = unit.rows_are_public, self.count_weight
        about = {"label": self.label, "classes": list(self.classes.values)}
        return Facts(
            kind="MeanOperator",
            names=(*self.encoder.recipe.names, "rows") if weight else self.encoder.recipe.names,
            recipe=self.encoder.recipe,
            bound=self.bound,
            bits=self.encoder.bits,
            radius=self.radius,
            witness=self.witness(state) if public else None,
            about=about | ({"count_weight": weight} if weight else {"count": state.count}),
            assumes=assumptions(unit),
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
        elif isinstance(unit, RecordOf) and unit.relation == "add-remove":
            yield pa.concat_batches([batch.slice(0, row), batch.slice(row + 1)])
            yield pa.concat_batches([batch, batch.slice(other, 1)])
        else:
            copied = batch
            for name in batch.schema.names:
                copied = _put(copied, row, name, batch.column(name)[other].as_py())
            for value in self.classes.values:
                yield _put(copied, row, self.label, value)


@final
@dataclass(frozen=True, slots=True)
class PublicRows:
    """The sum over feature columns alone: what the reader of a label release knows of the rows."""

    settled: MeanSum

    def reads(self) -> tuple[str, ...]:
        """The feature columns, and no label."""
        return self.settled.encoder.recipe.reads()

    def init(self) -> State:
        """No rows."""
        return self.settled.init()

    def update(self, state: State, batch: pa.RecordBatch) -> State:
        """These rows too, as if all were of the first class."""
        settled = self.settled
        kinds = len(settled.classes.values)
        counts = np.bincount([0], [batch.num_rows], kinds).astype(np.int64)
        unsigned = np.ones(batch.num_rows, np.int8)
        sums = settled.encoder.sums(batch, unsigned, settled.bound.norm, settled.radius, None)
        totals = np.zeros_like(state.totals)
        return self.merge(state, State(counts, totals, sums.feature_sum, sums.fingerprint, sums.reach))

    def merge(self, one: State, two: State) -> State:
        """The rows of both."""
        return self.settled.merge(one, two)


def assumptions(unit: Unit) -> tuple[str, ...]:
    """What must be true for a guarantee on a sum over rows, in words."""
    if unit.rows_are_public:
        return (_KNOWN_ROWS, _CALENDAR, _VALID)
    if isinstance(unit, RecordOf) and unit.relation == "add-remove":
        return (_STATED, _CALENDAR, _VALID)
    count = "the number of records is public"
    if isinstance(unit, FeatureOf):
        return (_STATED, "labels and all other columns are known to the reader", count, _CALENDAR, _VALID)
    return (_STATED, count, _CALENDAR, _VALID)


_KNOWN_ROWS = (
    "the reader already knows the feature rows, which rows are present, and that each of them has a label"
)
_STATED = "bounds, centres, scales and levels were stated without looking at protected values"
_CALENDAR = "release times and editions were not chosen by looking at protected values"
_VALID = "the rows passed validation; a refusal is seen by the owner alone"


def _counted(codes: NDArray[np.int8], kinds: int) -> NDArray[np.int64]:
    """How many rows there are of each class."""
    if kinds > 2:
        return np.bincount(codes, minlength=kinds).astype(np.int64)
    second = int(np.count_nonzero(codes))
    return np.array([len(codes) - second, second])


def _norms(row: tuple[int, int, int]) -> Sensitivity:
    l1, square, linf = row
    return Sensitivity(l1, least_root(square), linf)


def _flip(row: tuple[int, int, int], *, binary: bool) -> Sensitivity:
    """One label: twice the row for signs; the row out of one block and into another for K classes."""
    l1, square, linf = row
    if binary:
        return Sensitivity(2 * l1, least_root(4 * square), 2 * linf)
    return Sensitivity(2 * l1, least_root(2 * square), linf)


def _put(batch: pa.RecordBatch, row: int, name: str, value: object) -> pa.RecordBatch:
    place = batch.schema.get_field_index(name)
    column = batch.column(place).to_pylist()
    column[row] = value
    return batch.set_column(
        place, batch.schema.field(place), pa.array(column, batch.schema.field(place).type)
    )
