"""The fold: any order, split, number of workers or engine gives the same integers, each row counted once."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.core.errors import InputError, SchemaError
from suffice.core.fold import fold


@dataclass(frozen=True)
class IntegerSum:
    """The sum of a column of whole numbers, and how many there are; a value of -1 cannot be used."""

    column: str = "v"

    def reads(self):
        return (self.column,)

    def init(self):
        return np.zeros(2, dtype=np.int64)

    def update(self, state, batch):
        values = batch.column(self.column).to_numpy(zero_copy_only=False)
        bad = values == -1
        if bad.any():
            raise SchemaError.bad_value(self.column, int(np.argmax(bad)), "-1", "Use another number.")
        return state + np.array([values.sum(), len(values)], dtype=np.int64)

    def merge(self, one, two):
        return one + two


@dataclass(frozen=True)
class Piece:
    id: str
    start: int
    values: tuple[int, ...]
    batch: int

    def batches(self) -> Iterator[pa.RecordBatch]:
        for at in range(0, len(self.values), self.batch):
            yield pa.record_batch({"v": np.array(self.values[at : at + self.batch], dtype=np.int64)})


@dataclass(frozen=True)
class Pieces:
    """A source cut at the given places."""

    pieces: tuple[Piece, ...]
    name: str = "pieces"

    @property
    def schema(self):
        return pa.schema({"v": pa.int64()})

    @property
    def rows(self):
        return sum(len(piece.values) for piece in self.pieces)

    def fragments(self, columns):
        return iter(self.pieces)


def cut(values, places, batch) -> Pieces:
    edges = sorted({0, len(values), *(place % (len(values) + 1) for place in places)})
    pieces = [Piece(f"{one}", one, tuple(values[one:two]), batch) for one, two in pairwise(edges)]
    return Pieces(tuple(pieces))


def oracle(values) -> tuple[int, int]:
    """Big integers and nothing else."""
    total = 0
    for value in values:
        total += int(value)
    return total, len(values)


values = st.lists(st.integers(0, 2**40), min_size=1, max_size=60)
places = st.lists(st.integers(0, 100), max_size=8)


@given(values, places, st.integers(1, 9), st.integers(1, 4), st.randoms(use_true_random=False))
def test_any_order_split_and_number_of_workers_gives_the_same_bytes(rows, where, batch, workers, shuffler):
    source = cut(rows, where, batch)
    mixed = list(source.pieces)
    shuffler.shuffle(mixed)
    expected = np.array(oracle(rows), dtype=np.int64).tobytes()
    assert fold(IntegerSum(), source).tobytes() == expected
    assert fold(IntegerSum(), Pieces(tuple(mixed)), workers=workers).tobytes() == expected


@pytest.mark.laws
@given(values, places, st.integers(1, 9), st.integers(1, 8), st.randoms(use_true_random=False))
def test_any_order_split_and_number_of_workers_gives_the_same_bytes_at_length(
    rows, where, batch, workers, shuffler
):
    test_any_order_split_and_number_of_workers_gives_the_same_bytes.hypothesis.inner_test(
        rows, where, batch, workers, shuffler
    )


def delivered_twice(task, fragments):
    """An engine that retries: every second fragment arrives twice, late, after a trip through a pickle."""
    task = pickle.loads(pickle.dumps(task))
    results = [task(pickle.loads(pickle.dumps(fragment))) for fragment in fragments]
    late = results + results[::2]
    late.reverse()
    return iter(late)


@given(values, places)
def test_a_fragment_that_is_delivered_twice_is_counted_once(rows, where):
    state = fold(IntegerSum(), cut(rows, where, 5), map=delivered_twice)
    assert tuple(state) == oracle(rows)


def test_a_fold_that_counts_every_delivery_would_be_caught(monkeypatch):
    def every_delivery(statistic, source, expected, results):
        return sum((state for _, (_, state) in results), statistic.init())

    monkeypatch.setattr("suffice.core.fold._merged", every_delivery)
    with pytest.raises(AssertionError):
        test_a_fragment_that_is_delivered_twice_is_counted_once.hypothesis.inner_test([1, 2, 3], [1])


def test_a_fragment_that_is_not_delivered_is_an_error():
    source = cut(range(1, 41), [7, 19], 5)
    with pytest.raises(InputError, match="2 of 3 fragments; '7' is missing"):
        fold(IntegerSum(), source, map=lambda task, fragments: [task(f) for f in fragments if f.id != "7"])


def test_a_fragment_of_another_source_is_an_error():
    other = Piece("elsewhere", 0, (1,), 1)
    with pytest.raises(InputError, match="'elsewhere'"):
        fold(
            IntegerSum(),
            cut([1, 2], [1], 1),
            map=lambda task, fragments: [task(f) for f in [*fragments, other]],
        )


def test_two_fragments_with_one_id_are_an_error():
    twin = Piece("0", 0, (1,), 1)
    with pytest.raises(InputError, match="one id"):
        fold(IntegerSum(), Pieces((twin, twin)))


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_the_first_bad_row_is_named_as_a_row_of_the_source(workers):
    rows = list(range(100))
    rows[37] = rows[52] = rows[90] = -1
    with pytest.raises(SchemaError, match=r"column 'v', row 37 there is -1\. Use another"):
        fold(IntegerSum(), cut(rows, [20, 41, 60, 61], 6), workers=workers)


@pytest.mark.parametrize("pieces", [(), (Piece("0", 0, (), 1),)])
def test_a_source_without_rows_is_an_error(pieces):
    with pytest.raises(InputError, match="'pieces' has no rows"):
        fold(IntegerSum(), Pieces(pieces))


def test_a_missing_column_is_named_with_the_nearest_spelling():
    with pytest.raises(SchemaError, match=r"no column 'vv'\. Did you mean 'v'"):
        fold(IntegerSum("vv"), cut([1], [], 1))


@pytest.mark.parametrize("workers", [0, -1, 1.0, True, None])
def test_the_number_of_workers_is_a_whole_number(workers):
    with pytest.raises(InputError, match="workers="):
        fold(IntegerSum(), cut([1], [], 1), workers=workers)


@pytest.mark.parametrize("how", [{}, {"workers": 3}, {"map": delivered_twice}])
def test_progress_counts_every_row_once_and_never_goes_back(how):
    told = []
    fold(
        IntegerSum(), cut(range(50), [9, 30], 4), progress=lambda done, rows: told.append((done, rows)), **how
    )
    assert told[-1] == (50, 50)
    assert told == sorted(told)
