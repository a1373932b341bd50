from __future__ import annotations

import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from suffice.core.errors import SchemaError
from suffice.sources.frame import batches
from suffice.sources.group import Group
from suffice.sources.parquet import Parquet
from suffice.sources.table import Table

REGIONS = ["north", "south", None, "north", "east", "south"] * 50
ROWS = pa.table({"region": REGIONS, "age": list(range(len(REGIONS)))})
WANTED = [row for row, region in enumerate(REGIONS) if region == "south"]


def ages(source):
    return [one for batch in batches(source, ["age"]) for one in batch.column("age").to_pylist()]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_a_group_is_the_rows_with_its_value_in_order(kind):
    column = ROWS["region"].combine_chunks()
    column = column.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else column.cast(kind)
    group = Group(Table(ROWS.set_column(0, "region", column)), "region", "south")
    assert ages(group) == WANTED
    assert group.name == "table where region is south"
    assert group.schema.names == ROWS.schema.names
    assert not hasattr(group, "rows")


def test_a_group_of_whole_numbers_is_named_by_its_digits():
    table = pa.table({"site": [1, 2, 10, 1], "age": [0, 1, 2, 3]})
    assert ages(Group(Table(table), "site", "1")) == [0, 3]


def test_a_column_of_groups_is_there_and_has_names():
    with pytest.raises(SchemaError, match="'site'"):
        Group(Table(ROWS), "site", "1")
    with pytest.raises(SchemaError, match="Groups are texts or whole numbers"):
        Group(Table(pa.table({"x": [1.5]})), "x", "1.5")


def test_fragments_of_a_group_travel(tmp_path):
    for number in range(3):
        pq.write_table(ROWS.slice(100 * number, 100), tmp_path / f"{number}.parquet", row_group_size=30)
    group = Group(Parquet(tmp_path), "region", "south")
    sent = [pickle.loads(pickle.dumps(one)) for one in group.fragments(["age"])]
    assert [
        age for one in sent for batch in one.batches() for age in batch.column("age").to_pylist()
    ] == WANTED


def test_an_error_in_a_group_is_moved_to_the_row_of_the_source(tmp_path):
    for number in range(3):
        pq.write_table(ROWS.slice(100 * number, 100), tmp_path / f"{number}.parquet", row_group_size=30)
    group = Group(Parquet(tmp_path), "region", "south")
    seen = []
    for fragment in group.fragments(["age"]):
        found = [age for batch in fragment.batches() for age in batch.column("age").to_pylist()]
        for at in range(len(found)):
            error = SchemaError.bad_value("age", at, "a wrong value", "Mend it.").moved(fragment.start)
            seen.append(group.located(error).place[1])
    assert seen == WANTED
    whole = SchemaError("The column is not there.")
    assert group.located(whole) is whole
