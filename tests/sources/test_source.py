"""What is true of every source: the same rows, whatever they lie in."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from suffice.core.column import Categorical, Numeric
from suffice.core.errors import SchemaError
from suffice.core.protocols import Source
from suffice.core.recipe import Recipe
from suffice.sources.csv import CSV
from suffice.sources.duckdb import DuckDB
from suffice.sources.feather import Feather
from suffice.sources.frame import batches
from suffice.sources.join import Join
from suffice.sources.parquet import Parquet
from suffice.sources.table import Table

ROWS = 1000
COLUMNS = ("id", "age", "region", "code", "bought")
KINDS = ("table", "parquet", "csv", "feather", "duckdb", "duckdb file", "join", "parquet of text keys")


def people() -> pa.Table:
    draw = np.random.default_rng(5)
    region = np.array(["north", "south", None], dtype=object)[draw.integers(0, 3, ROWS)]
    return pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "age": pa.array(np.where(draw.random(ROWS) < 0.1, None, draw.integers(0, 90, ROWS) / 4.0)),
            "region": pa.array(region),
            "code": pa.array([f"{i % 40:03}" for i in range(ROWS)]),
            "bought": pa.array(draw.random(ROWS) < 0.5),
        }
    ).cast(
        pa.schema(
            {
                "id": pa.int64(),
                "age": pa.float64(),
                "region": pa.string(),
                "code": pa.string(),
                "bought": pa.bool_(),
            }
        )
    )


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Return the same rows in every kind of source, most of them in two files."""
    home, table = tmp_path_factory.mktemp("people"), people()
    for at, half in enumerate((table.slice(0, 377), table.slice(377))):
        pq.write_table(half, home / f"{at}.parquet", row_group_size=100)
        pyarrow.csv.write_csv(half, home / f"{at}.csv")
        pyarrow.feather.write_feather(half, home / f"{at}.feather", chunksize=50)
    labels = table.select(["id", "bought"]).take(np.random.default_rng(1).permutation(ROWS))
    pattern = f"SELECT * FROM '{home}/*.parquet'"  # noqa: S608
    _database(home / "people.db", pattern)
    return {
        "table": Table(table),
        "parquet": Parquet(f"{home}/*.parquet"),
        "csv": CSV([home / "0.csv", home / "1.csv"], types={"id": int, "age": float, "bought": bool}),
        "feather": Feather(home),
        "duckdb": DuckDB(pattern),
        "duckdb file": DuckDB("people", database=home / "people.db"),
        "join": Join(Table(labels), Table(table.drop_columns("bought")), on="id"),
        "parquet of text keys": Join(Table(_text(labels)), _text_keyed(home, table), on="key"),
    }


def _database(path, query):
    import duckdb

    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE people AS {query}")


def _text(labels):
    keys = [f"k{key}" for key in labels["id"].to_pylist()]
    return pa.table({"key": keys, "bought": labels["bought"]})


def _text_keyed(home, table):
    keys = [f"k{key}" for key in table["id"].to_pylist()]
    pq.write_table(
        table.drop_columns("bought").append_column("key", [keys]), home / "keyed.pq", row_group_size=90
    )
    return Parquet(home / "keyed.pq")


def as_rows(found, columns) -> list:
    """Return what a list of batches says, types of text aside."""
    return [
        row
        for batch in found
        for row in zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_same_rows_in_the_order_of_columns_that_was_asked_for(sources, kind):
    columns = ("bought", "age", "code", "region")
    found = list(batches(sources[kind], columns))
    assert all(batch.schema.names == list(columns) for batch in found)
    assert all(batch.schema.metadata is None for batch in found)
    assert as_rows(found, columns) == as_rows(people().to_batches(), columns)


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_is_that_of_the_batches(sources, kind):
    source = sources[kind]
    assert isinstance(source, Source)
    assert set(source.schema.names) - {"key"} == set(COLUMNS)
    for batch in batches(source, COLUMNS):
        assert batch.schema == pa.schema([source.schema.field(name) for name in COLUMNS])


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_same_integers(sources, kind):
    recipe = Recipe(
        (
            Numeric("age", 40.0, 12.5, missing="indicate"),
            Categorical("region", ("north", "south"), "indicate"),
        )
    )
    grids = [recipe.grid(batch, 20) for batch in batches(sources[kind], recipe.reads())]
    expected = recipe.grid(people().combine_chunks().to_batches()[0], 20)
    assert np.concatenate(grids).tobytes() == expected.tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_a_fragment_pickles_and_knows_its_place(sources, kind):
    if kind == "duckdb":
        assert [fragment.start for fragment in sources[kind].fragments(("id",))] == [0]
    source = pickle.loads(pickle.dumps(sources[kind]))
    rows, ids = 0, []
    for fragment in source.fragments(("code", "id")):
        sent = pickle.loads(pickle.dumps(fragment))
        assert sent.start == rows
        first = next(iter(sent.batches())).column("id")[0].as_py()
        assert first == rows
        rows += sum(batch.num_rows for batch in sent.batches())
        ids.append(sent.id)
    assert rows == ROWS
    assert len(set(ids)) == len(ids)
    assert ids == [fragment.id for fragment in sources[kind].fragments(("age",))]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_counted_or_unknown(sources, kind):
    assert sources[kind].rows in {ROWS, None}
    assert sources["parquet"].rows == ROWS


@pytest.mark.parametrize("kind", KINDS)
def test_no_column_at_all_still_counts_rows(sources, kind):
    assert sum(b.num_rows for f in sources[kind].fragments(()) for b in f.batches()) == ROWS


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_column_is_named_before_anything_is_read(sources, kind):
    with pytest.raises(SchemaError, match=r"no column 'agee'\. Did you mean 'age'\?"):
        list(sources[kind].fragments(("agee",)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_says_its_public_name_and_no_row(sources, kind):
    assert sources[kind].name
    assert "north" not in repr(sources[kind])


@pytest.mark.parametrize("module", ["table", "frame", "parquet", "csv", "feather", "join", "duckdb"])
def test_a_source_loads_no_library_that_it_may_not_need(module):
    heavy = ("pandas", "polars", "duckdb", "pyarrow.dataset", "narwhals", "sklearn", "scipy")
    code = f"import suffice.sources.{module}, sys; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
