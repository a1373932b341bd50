"""Frames, arrays and lists of every library, handed over as Arrow."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from suffice.core.errors import InputError, SchemaError
from suffice.sources.frame import batches, rows_per_batch, to_arrow
from suffice.sources.table import Table

PLAIN = {"a": [1, 2, 3], "s": ["x", "y", None]}


def structured():
    return np.array([(1, "x"), (2, "y"), (3, None)], dtype=[("a", "i8"), ("s", "O")])


FRAMES = {
    "arrow table": lambda: pa.table(PLAIN),
    "record batch": lambda: pa.record_batch(PLAIN),
    "reader": lambda: pa.RecordBatchReader.from_batches(
        pa.table(PLAIN).schema, pa.table(PLAIN).to_batches(max_chunksize=2)
    ),
    "pandas": lambda: pd.DataFrame(PLAIN),
    "pandas with an index": lambda: pd.DataFrame(PLAIN, index=[7, 3, 5]),
    "pandas categorical": lambda: pd.DataFrame(PLAIN).astype(
        {"s": pd.CategoricalDtype(["y", "x"], ordered=True)}
    ),
    "polars": lambda: pl.DataFrame(PLAIN),
    "polars categorical": lambda: pl.DataFrame(PLAIN, schema_overrides={"s": pl.Categorical}),
    "polars enum": lambda: pl.DataFrame(PLAIN, schema_overrides={"s": pl.Enum(["y", "x"])}),
    "polars lazy": lambda: pl.LazyFrame(PLAIN).filter(pl.col("a") > 0),
    "duckdb": lambda: duckdb.sql("SELECT * FROM (VALUES (1, 'x'), (2, 'y'), (3, NULL)) t(a, s)"),
    "mapping": lambda: PLAIN,
    "rows": lambda: [{"a": 1, "s": "x"}, {"a": 2, "s": "y"}, {"a": 3, "s": None}],
    "structured array": structured,
    "view types": lambda: pa.table({"a": [1, 2, 3], "s": pa.array(["x", "y", None], pa.string_view())}),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_every_frame_becomes_the_same_columns_without_metadata(kind):
    table = to_arrow(FRAMES[kind]())
    assert table.to_pydict() == PLAIN
    assert table.schema.metadata is None
    assert all(field.metadata is None for field in table.schema)
    assert "view" not in str(table.schema)


def test_the_number_of_rows_that_pandas_writes_into_its_metadata_is_left_behind():
    frame = pd.DataFrame({"a": np.zeros(48842)})
    assert b"48842" in pa.table(frame).schema.metadata[b"pandas"]
    assert b"48842" not in to_arrow(frame).schema.serialize().to_pybytes()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["f8", "f4", "i2", "?", "O"])
def test_an_array_has_columns_by_number(order, kind):
    array = np.array([[0, 1, 0], [1, 1, 0]], dtype=kind, order=order)
    table = to_arrow(array)
    assert table.column_names == ["x0", "x1", "x2"]
    assert [[float(v) for v in column.to_pylist()] for column in table.columns] == array.T.astype(
        float
    ).tolist()


def test_an_array_takes_names():
    assert to_arrow(np.zeros((2, 2)), names=["age", "visits"]).column_names == ["age", "visits"]
    with pytest.raises(InputError, match="2 columns, and 1 names"):
        to_arrow(np.zeros((2, 2)), names=["age"])
    with pytest.raises(SchemaError, match="distinct"):
        to_arrow(np.zeros((2, 2)), names=["age", "age"])


def test_a_list_of_lists_is_an_array():
    assert to_arrow([[1.0, 2.0], [3.0, 4.0]]).to_pydict() == {"x0": [1.0, 3.0], "x1": [2.0, 4.0]}


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (sparse.eye(3, format="csr"), r"sparse matrix .*toarray"),
        (sparse.coo_array((3, 3)), "sparse matrix"),
        (np.zeros(3), "two dimensions.* has 1"),
        (np.zeros((2, 2, 2)), "two dimensions.* has 3"),
        (np.zeros((3, 0)), "no column"),
        ([[1, 2], [3]], "rows of equal length"),
        ({}, "no column"),
        (object(), "Rows cannot be read from object"),
        ("people.csv", "Rows cannot be read from str"),
    ],
)
def test_what_holds_no_table_is_refused_with_a_sentence(frame, message):
    with pytest.raises(InputError, match=message):
        to_arrow(frame)


@pytest.mark.parametrize(
    "frame",
    [
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]),
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
    ],
)
def test_a_name_that_occurs_twice_is_refused(frame):
    with pytest.raises(SchemaError, match="own name"):
        to_arrow(frame)


@pytest.mark.parametrize("frame", [pd.DataFrame({"a": [1, "x"]}), {"a": [1, "x"]}, {"a": [1, 2], "b": [1]}])
def test_columns_of_mixed_types_or_lengths_are_refused(frame):
    with pytest.raises(SchemaError, match="Arrow"):
        to_arrow(frame)


@pytest.mark.parametrize("x", [pa.table(PLAIN), pd.DataFrame(PLAIN), Table(pa.table(PLAIN))])
def test_batches_come_alike_from_a_frame_and_a_source(x):
    found = list(batches(x, ["s", "a"]))
    assert [batch.to_pydict() for batch in found] == [{"s": PLAIN["s"], "a": PLAIN["a"]}]
    with pytest.raises(SchemaError, match="no column 'b'"):
        list(batches(x, ["b"]))


def test_batches_of_an_array_go_by_the_names_that_are_given():
    found = list(batches(np.array([[1.0, 2.0]]), ["visits"], names=["age", "visits"]))
    assert found[0].to_pydict() == {"visits": [2.0]}


def test_a_frame_whose_columns_are_called_like_a_source_is_still_a_frame():
    frame = pd.DataFrame({"name": ["x"], "schema": ["y"], "fragments": ["z"]})
    assert next(iter(batches(frame, ["schema"]))).to_pydict() == {"schema": ["y"]}


def test_wide_rows_come_in_shorter_batches():
    assert rows_per_batch(2) == 32768
    assert rows_per_batch(1 << 14) == 256
    sizes = [
        batch.num_rows
        for batch in batches(np.zeros((3000, 4096), dtype=np.int8), [f"x{i}" for i in range(4096)])
    ]
    assert max(sizes) == 1024
    assert sum(sizes) == 3000
