"""A table in memory: slices that share its buffers, and pickle without them."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

from suffice.core.errors import InputError, SchemaError
from suffice.core.fold import fold
from suffice.sources.table import Table
from tests.laws.test_fold import IntegerSum

ROWS = 300_000


def numbers() -> pa.Table:
    return pa.table({"v": pa.array(range(ROWS), pa.int64()), "w": np.ones(ROWS)})


def test_a_long_table_is_cut_into_slices_with_names_of_their_own():
    fragments = list(Table(numbers()).fragments(("v",)))
    assert [fragment.start for fragment in fragments] == [0, 131_072, 262_144]
    assert len({fragment.id for fragment in fragments}) == 3
    assert sum(batch.num_rows for fragment in fragments for batch in fragment.batches()) == ROWS
    assert max(batch.num_rows for fragment in fragments for batch in fragment.batches()) <= 32_768


@pytest.mark.parametrize("workers", [1, 2])
def test_the_sum_of_a_long_table_is_exact(workers):
    assert fold(IntegerSum(), Table(numbers()), workers=workers).tolist() == [sum(range(ROWS)), ROWS]


def test_slices_share_the_buffers_of_the_table():
    table = numbers()
    held = pa.total_allocated_bytes()
    fragments = list(Table(table).fragments(("v", "w")))
    assert pa.total_allocated_bytes() - held < 10_000
    assert len(fragments) == 3


def test_a_slice_pickles_its_own_rows_and_no_more():
    last = list(Table(numbers()).fragments(("v",)))[-1]
    sent = pickle.dumps(last)
    assert len(sent) < 8 * last.table.num_rows + 2_000
    assert pickle.loads(sent).table.equals(last.table)


def test_a_table_of_many_small_chunks_comes_in_batches_of_useful_size():
    chunks = pa.chunked_array([pa.array([at]) for at in range(2_000)])
    fragments = list(Table(pa.table({"v": chunks})).fragments(("v",)))
    assert [batch.num_rows for fragment in fragments for batch in fragment.batches()] == [2_000]


def test_a_table_has_a_public_name():
    assert Table(numbers()).name == "table"
    assert Table(numbers(), name="sales 2026").name == "sales 2026"


def test_an_empty_table_is_a_source_without_rows():
    with pytest.raises(InputError, match="'table' has no rows"):
        fold(IntegerSum(), Table(numbers().slice(0, 0)))


def test_a_bad_row_is_named_as_a_row_of_the_table():
    values = np.arange(ROWS)
    values[200_001] = -1
    with pytest.raises(SchemaError, match="row 200001 "):
        fold(IntegerSum(), Table({"v": values}), workers=2)
