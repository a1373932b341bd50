"""DuckDB: a query or a table, streamed over a connection of its own."""

from __future__ import annotations

import pickle
import sys

import duckdb
import pytest

from suffice.core.errors import InputError, MissingExtra
from suffice.core.fold import fold
from suffice.sources.duckdb import DuckDB
from suffice.sources.frame import batches
from tests.laws.test_fold import IntegerSum


@pytest.fixture
def database(tmp_path):
    """Return a database file with one table of 100,000 rows."""
    path = tmp_path / "people.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            'CREATE TABLE people AS SELECT range AS v, range % 7 AS "odd ""name" FROM range(100000)'
        )
        connection.execute("CREATE SCHEMA sales; CREATE TABLE sales.orders AS SELECT 5::BIGINT AS v")
    return path


EXPECTED = [sum(range(100_000)), 100_000]


@pytest.mark.parametrize(
    "query", ["people", "SELECT * FROM people", "FROM people;", " with p as (from people) from p "]
)
def test_a_table_and_a_query_are_read_alike(database, query):
    assert fold(IntegerSum(), DuckDB(query, database)).tolist() == EXPECTED


def test_a_table_in_a_schema_is_a_table(database):
    assert fold(IntegerSum(), DuckDB("sales.orders", database)).tolist() == [5, 1]


def test_an_open_connection_is_used_and_stays_open(database):
    with duckdb.connect(str(database)) as connection:
        source = DuckDB("people", connection)
        assert fold(IntegerSum(), source, workers=2).tolist() == EXPECTED
        assert connection.sql("SELECT count(*) FROM people").fetchall() == [(100_000,)]


def test_several_readers_and_one_that_stops_early_do_not_disturb_each_other(database):
    source = DuckDB("people", database)
    first, second = batches(source, ("v",)), batches(source, ("v",))
    assert next(first).column("v")[0].as_py() == next(second).column("v")[0].as_py() == 0
    first.close()
    assert next(second).num_rows
    assert fold(IntegerSum(), source).tolist() == EXPECTED


def test_names_are_quoted(database):
    source = DuckDB("people", database)
    found = next(iter(batches(source, ('odd "name',))))
    assert found.schema.names == ['odd "name']


def test_a_source_over_a_file_pickles_and_one_over_a_connection_says_why_not(database):
    assert pickle.loads(pickle.dumps(DuckDB("people", database))).name == "people"
    with duckdb.connect(str(database)) as connection, pytest.raises(TypeError):
        pickle.dumps(DuckDB("people", connection))


@pytest.mark.parametrize("query", ["absent", "SELECT nothing FROM people", "SELEC", "source"])
def test_what_the_database_does_not_answer_is_said(database, query):
    with pytest.raises(InputError, match="DuckDB does not answer"):
        DuckDB(query, database)


def test_an_error_in_a_row_is_an_error_of_ours(database):
    source = DuckDB("SELECT CASE WHEN v = 90000 THEN error('bad row') ELSE v END AS v FROM people", database)
    with pytest.raises(InputError, match="bad row"):
        fold(IntegerSum(), source)


def test_a_database_that_is_not_there_or_in_use_is_said(tmp_path, database):
    with pytest.raises(InputError, match="cannot be opened"):
        DuckDB("people", tmp_path / "absent.db")
    with duckdb.connect(str(database)), pytest.raises(InputError, match="give the connection"):
        DuckDB("people", database)


def test_without_the_library_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtra, match=r"pip install 'suffice\[duckdb\]'"):
        DuckDB("SELECT 1")
