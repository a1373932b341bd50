"""What a statistic must fulfil: an exact monoid, blind to what is protected, as sensitive as it says."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pyarrow as pa

from suffice.auditing.neighbour import neighbours
from suffice.core.bounds import Sensitivity
from suffice.core.codec import canonical, encode
from suffice.core.fold import fold
from suffice.sources.table import Table
from suffice.testing.law import choices, must, trying

if TYPE_CHECKING:
    from suffice.core.protocols import Fragment, Resolved, Source, Statistic
    from suffice.core.units import Unit

__all__ = ["Checked", "check_statistic"]

_CUTS = 6


@final
@dataclass(frozen=True, slots=True)
class Checked:
    """How many neighbours were executed, and the largest share of the sensitivity that one reached."""

    neighbours: int
    attained: float


def check_statistic(statistic: Statistic, source: Source, unit: Unit, *, pairs: int = 200) -> Checked:
    """Raise LawBroken unless the statistic keeps every law on the rows of this source.

    The source is small: some twenty rows that reach to the bound. Each of up to `pairs` neighbours by
    the unit is summed in full. An `attained` of 1 says that the declared sensitivity is the least one.
    """
    rows = _rows(source)
    settled = _resolved(statistic, source, unit)
    _check_request(statistic)
    _check_sum(settled, rows, unit)
    _check_monoid(settled, rows, unit)
    _check_order(settled, rows, unit)
    return _check_neighbours(statistic, settled, rows, unit, pairs)


@final
@dataclass(frozen=True, slots=True)
class _Spy:
    """A source that notes which columns are opened."""

    inner: Source
    opened: set[str]

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def schema(self) -> pa.Schema:
        return self.inner.schema

    def fragments(self, columns: Sequence[str]) -> Iterable[Fragment]:
        self.opened.update(columns)
        return self.inner.fragments(columns)


def _rows(source: Source) -> pa.Table:
    batches = [b for part in source.fragments(source.schema.names) for b in part.batches()]
    table = pa.Table.from_batches(batches, source.schema)
    must(
        table.num_rows >= 4, "the source has rows to check on", f"It has {table.num_rows}; give four or more."
    )
    return table


def _resolved(statistic: Statistic, source: Source, unit: Unit) -> Resolved:
    """Settle it under the eyes of a spy, twice."""
    spy = _Spy(source, set())
    with trying("resolve takes workers= and progress=, and settles what is public", "resolving it"):
        settled = statistic.resolve(spy, unit, workers=1, progress=None)
        again = statistic.resolve(spy, unit, workers=2, progress=None)
    hidden = unit.protected()
    seen = sorted(spy.opened if hidden is None else spy.opened & hidden)
    law = "resolve reads no protected column"
    must(not seen, law, f"It opened {seen}, and {unit.sentence()} is protected.")
    must(_known(settled) == _known(again), "resolve is deterministic", "Two calls settled different things.")
    if unit.rows_are_public and hidden is not None:
        shown = sorted(set(settled.public().reads()) & hidden)
        must(not shown, "the public pass reads no protected column", f"It reads {shown}.")
    return settled


def _known(settled: Resolved) -> tuple[object, ...]:
    return settled.shape, settled.radius, tuple(settled.reads())


def _check_request(statistic: Statistic) -> None:
    with trying("a statistic is a frozen dataclass whose words make the request", "encoding it"):
        must(canonical(statistic), "a statistic is written down in words", "It encodes to nothing.")


def _sum(settled: Resolved, batches: Iterable[pa.RecordBatch]) -> Any:
    state = settled.init()
    for batch in batches:
        state = settled.update(state, batch)
    return state


def _batches(rows: pa.Table, edges: Sequence[int]) -> list[pa.RecordBatch]:
    whole = rows.combine_chunks()
    ends = [*edges[1:], whole.num_rows]
    return [
        whole.slice(low, high - low).to_batches()[0]
        for low, high in zip(edges, ends, strict=True)
        if high > low
    ]


def _told(settled: Resolved, state: Any, unit: Unit) -> tuple[object, ...]:
    """All that a state says: the sum to the last byte, the facts, the sensitivity."""
    total = settled.finalise(state)
    return (
        total.tobytes(),
        total.shape,
        repr(encode(settled.facts(state, unit))),
        settled.sensitivity(unit, state),
    )


def _check_sum(settled: Resolved, rows: pa.Table, unit: Unit) -> None:
    state = _sum(settled, _batches(rows, [0]))
    total = settled.finalise(state)
    must(
        total.dtype == np.int64,
        "the sum is exact: whole numbers of grid units in int64",
        f"finalise returned {total.dtype}.",
    )
    names = settled.facts(state, unit).names
    must(
        total.shape[-1] == len(names),
        "every coordinate has a name",
        f"There are {total.shape[-1]} coordinates and {len(names)} names.",
    )
    blocks, classes = settled.shape
    must(
        total.size == blocks * (1 if classes == 2 else classes),
        "shape tells the noise how many coordinates there are",
        f"shape is {settled.shape}, and there are {total.size} numbers.",
    )
    declared = settled.sensitivity(unit, state)
    must(
        isinstance(declared, Sensitivity) and all(isinstance(one, int) for one in _norms(declared)),
        "the sensitivity is three whole numbers of grid units",
        f"It is {declared!r}.",
    )


def _check_monoid(settled: Resolved, rows: pa.Table, unit: Unit) -> None:
    pick, size = choices("monoid"), rows.num_rows
    whole = _told(settled, _sum(settled, _batches(rows, [0])), unit)
    for _ in range(_CUTS):
        low, high = sorted((1 + pick(size - 2), 1 + pick(size - 2)))
        high = max(high, low + 1)
        one, two, three = (_sum(settled, [batch]) for batch in _batches(rows, [0, low, high]))
        before = _told(settled, one, unit)
        settled.merge(one, two)
        must(
            _told(settled, one, unit) == before,
            "merge and update leave their arguments as they were",
            "A state changed while it was merged.",
        )
        pairs = {
            "merge is associative": (
                settled.merge(settled.merge(one, two), three),
                settled.merge(one, settled.merge(two, three)),
            ),
            "merge is commutative": (settled.merge(one, two), settled.merge(two, one)),
            "init is the identity of merge": (settled.merge(settled.init(), one), one),
            "update from the identity is the same as merging": (
                settled.update(one, _batches(rows, [0, low, high])[1]),
                settled.merge(one, two),
            ),
        }
        for law, (left, right) in pairs.items():
            must(
                _told(settled, left, unit) == _told(settled, right, unit),
                law,
                f"It fails where the rows are cut at {low} and {high}.",
            )
        must(
            _told(settled, settled.merge(settled.merge(one, two), three), unit) == whole,
            "the sum of the parts is the sum of the whole",
            f"It fails where the rows are cut at {low} and {high}.",
        )


def _check_order(settled: Resolved, rows: pa.Table, unit: Unit) -> None:
    pick, size = choices("order"), rows.num_rows
    expected = _told(settled, _sum(settled, _batches(rows, [0])), unit)
    for _ in range(_CUTS):
        order = sorted(range(size), key=lambda _row: pick(1 << 60))
        mixed = rows.take(pa.array(order, pa.int64()))
        edges = sorted({0, *(pick(size) for _ in range(3))})
        again = _told(settled, _sum(settled, _batches(mixed, edges)), unit)
        must(
            again == expected,
            "any order and any split of the rows give the same bytes",
            f"They differ for the order {order[:8]}... cut at {edges}.",
        )
    threads = _told(settled, fold(settled, Table(rows), workers=2), unit)
    must(threads == expected, "two workers give what one gives", "They gave other bytes.")


def _norms(declared: Sensitivity) -> tuple[int, int, int]:
    return declared.l1, declared.l2, declared.linf


def _check_neighbours(
    statistic: Statistic, settled: Resolved, rows: pa.Table, unit: Unit, pairs: int
) -> Checked:
    """Execute neighbours: none moves the sum further than declared, and nothing else may move at all."""
    state = _sum(settled, _batches(rows, [0]))
    total, declared = settled.finalise(state), settled.sensitivity(unit, state)
    facts, attained, count = settled.facts(state, unit), 0.0, 0
    for other in islice(_others(settled, rows, unit), pairs):
        count += 1
        source = Table(other, name="rows")
        resettled = statistic.resolve(source, unit)
        moved = fold(resettled, source)
        must(
            _known(resettled) == _known(settled),
            "what is settled does not depend on protected values",
            f"A neighbour changed {_known(settled)} to {_known(resettled)}.",
        )
        must(
            resettled.sensitivity(unit, moved) == declared,
            "the sensitivity does not depend on protected values",
            f"A neighbour changed {declared} to {resettled.sensitivity(unit, moved)}.",
        )
        must(
            encode(resettled.facts(moved, unit)) == encode(facts),
            "no public fact depends on protected values",
            "A neighbour changed the facts that the release would carry.",
        )
        attained = max(attained, _share(resettled.finalise(moved), total, declared))
    must(count, "the rows have neighbours", "None could be made: give rows of several labels and values.")
    return Checked(count, attained)


def _others(settled: Resolved, rows: pa.Table, unit: Unit) -> Iterator[pa.Table]:
    """Neighbours by the unit, and those that the statistic knows of itself, in turn."""
    own, pick = getattr(settled, "neighbours", None), choices("neighbours")
    batch = rows.combine_chunks().to_batches()[0]
    for at, other in enumerate(neighbours(rows, unit)):
        yield other
        if own is not None and at < _CUTS and getattr(unit, "at_most", 1) == 1:
            yield from (pa.Table.from_batches([one]) for one in own(batch, unit, pick))


def _share(one: Any, two: Any, declared: Sensitivity) -> float:
    must(
        one.shape == two.shape, "neighbours have sums of one shape", f"They have {one.shape} and {two.shape}."
    )
    exact = [abs(int(high) - int(low)) for high, low in zip(one.ravel(), two.ravel(), strict=True)]
    l1, square, linf = sum(exact), sum(value * value for value in exact), max(exact)
    must(
        l1 <= declared.l1 and square <= declared.l2**2 and linf <= declared.linf,
        "no neighbour moves the sum by more than its sensitivity",
        f"One moved it by {l1}, {math.sqrt(square):.6g}, {linf} in the three norms; declared is {declared}.",
    )
    if not l1:
        return 0.0
    return max(l1 / declared.l1, math.sqrt(square) / declared.l2, linf / declared.linf)
