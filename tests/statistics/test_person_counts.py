from __future__ import annotations

import datetime as dt
import os
import stat
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import suffice
from suffice.core.errors import SchemaError, UnboundedSensitivity
from suffice.core.fold import fold
from suffice.sources.table import Table
from suffice.statistics.person_counts import PersonCounts

IDS = {
    "whole numbers": st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1),
    "texts": st.text(max_size=3),
    "dates": st.dates(dt.date(2000, 1, 1), dt.date(2000, 1, 9)),
}


def batch(persons, groups=None, kind=None):
    columns = {"id": pa.array(persons, kind)}
    if groups is not None:
        columns["region"] = pa.array(groups)
    return pa.RecordBatch.from_pydict(columns)


def counted(statistic, state):
    found = {}
    for table in statistic.counts(state):
        for person, rows in zip(table["person"].to_pylist(), table["rows"].to_pylist(), strict=True):
            assert person not in found
            found[person] = rows
    return found


def tallied(statistic, batches):
    state = statistic.init()
    for one in batches:
        state = statistic.update(state, one)
    return state


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("held", [1, 10_000])
@settings(max_examples=15)
@given(data=st.data())
def test_the_counts_are_those_of_a_counter_in_any_order_and_any_memory(kind, held, data):
    pieces = data.draw(st.lists(st.lists(IDS[kind], min_size=1, max_size=12), min_size=1, max_size=5))
    statistic = PersonCounts("id", held=held)
    states = [tallied(statistic, [batch(piece)]) for piece in pieces]
    merged = statistic.init()
    for state in data.draw(st.permutations(states)):
        merged = statistic.merge(merged, state)
    expected = Counter(one for piece in pieces for one in piece)
    assert counted(statistic, merged) == expected
    assert counted(statistic, merged) == expected  # reading takes nothing away
    whole = tallied(statistic, [batch(piece) for piece in pieces])
    assert counted(statistic, whole) == expected
    assert counted(statistic, states[0]) == Counter(pieces[0])  # merging left it as it was


def test_a_category_is_the_person_that_it_names():
    column = pa.array(["ann", "bob", "ann"]).dictionary_encode()
    statistic = PersonCounts("id", held=1)
    state = statistic.update(statistic.init(), pa.RecordBatch.from_arrays([column], ["id"]))
    assert counted(statistic, state) == {"ann": 2, "bob": 1}


@pytest.mark.parametrize("held", [2, 1000])
def test_one_row_too_many_is_refused_and_the_person_named(held):
    statistic = PersonCounts("id", held=held)
    state = tallied(statistic, [batch(list("abcabca")), batch(list("def"))])
    statistic.check(state, 3)
    with pytest.raises(UnboundedSensitivity, match=r"1 of 'id' have more than 2 rows each; 'a' has 3"):
        statistic.check(state, 2)
    with pytest.raises(UnboundedSensitivity, match="3 of 'id' have more than 1 rows"):
        statistic.check(state, 1)


@pytest.mark.parametrize("held", [2, 1000])
def test_a_person_in_two_groups_is_refused(held):
    statistic = PersonCounts("id", "region", held=held)
    inside = batch(["a", "a", "b", "c"], ["north", "north", "south", None])
    state = statistic.update(statistic.init(), inside)
    statistic.check(state, 2)
    for other in ("south", None):
        astray = statistic.update(state, batch(["a"], pa.array([other], pa.string())))
        with pytest.raises(UnboundedSensitivity, match="1 of 'id' lie in more than one group of 'region'"):
            statistic.check(astray, 9)


def test_a_row_of_nobody_is_refused_with_its_row():
    statistic = PersonCounts("id")
    with pytest.raises(SchemaError, match="'id', row 2 there is no person"):
        fold(statistic, Table(pa.table({"id": ["a", "b", None]})))


def test_persons_are_told_apart_by_exact_values():
    schema = pa.schema({"id": pa.int32(), "name": pa.string(), "size": pa.float64()})
    PersonCounts("id").check_schema(schema)
    PersonCounts("name", "id").check_schema(schema)
    with pytest.raises(SchemaError, match="holds double"):
        PersonCounts("size").check_schema(schema)
    with pytest.raises(SchemaError, match="'who'"):
        PersonCounts("who").check_schema(schema)


@pytest.mark.skipif(os.name != "posix", reason="the rights of files are those of POSIX")
def test_what_is_written_away_has_no_name_and_is_its_owners_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    statistic = PersonCounts("id", held=1)
    state = tallied(statistic, [batch(list("abc"))])
    state.spill.drawer.file.flush()
    held = os.fstat(state.spill.drawer.file.fileno())
    assert held.st_size > 0
    assert stat.S_IMODE(held.st_mode) == 0o600
    assert held.st_nlink == 0
    assert list(tmp_path.iterdir()) == []


@dataclass(frozen=True)
class Piece:
    start: int
    step: int

    @property
    def id(self):
        return f"{self.start}"

    def batches(self):
        for at in range(self.start, self.start + self.step, 1 << 15):
            yield batch(np.arange(at, min(at + (1 << 15), self.start + self.step)) * 7919 % 2_000_003)


class Many:
    """Two million persons, one row each, made as they are read."""

    name, schema = "many", pa.schema({"id": pa.int64()})

    def fragments(self, columns):
        return [Piece(at, 250_000) for at in range(0, 2_000_000, 250_000)]


COUNT = """
import resource, sys
import pyarrow as pa
from suffice.core.fold import fold
from suffice.statistics.person_counts import PersonCounts
from tests.statistics.test_person_counts import Many
statistic = PersonCounts("id", held=int(sys.argv[1]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
state = fold(statistic, Many())
statistic.check(state, 1)
persons = sum(table.num_rows for table in statistic.counts(state))
whole = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(persons, pa.default_memory_pool().max_memory() >> 20, whole >> 10)
"""


def peak_of(held):
    """Count two million persons in a process; return how many, and the most megabytes: Arrow's, and all."""
    path = os.pathsep.join([str(Path(suffice.__file__).parents[1]), str(Path(__file__).parents[2])])
    run = subprocess.run(
        [sys.executable, "-c", COUNT, str(held)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return tuple(map(int, run.stdout.split()))


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured the way of Linux")
def test_two_million_persons_are_counted_in_bounded_memory():
    persons, arrow, whole = peak_of(1 << 17)
    assert persons == 2_000_000
    assert arrow < 40
    assert whole < 300


@pytest.mark.laws
def test_without_the_file_two_million_persons_take_much_more_memory():
    persons, arrow, whole = peak_of(1 << 30)
    assert persons == 2_000_000
    assert arrow > 200
    assert whole > 300
