"""Parquet: files, patterns, folders, partitions, and how little of them is in memory at a time."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from suffice.core.errors import InputError, SchemaError
from suffice.core.fold import fold
from suffice.sources.frame import batches
from suffice.sources.parquet import Parquet
from tests.laws.test_fold import IntegerSum


def numbers(first: int, last: int) -> pa.Table:
    return pa.table(
        {"v": pa.array(range(first, last), pa.int64()), "s": [f"t{i % 3}" for i in range(first, last)]}
    )


def column(source, name) -> list:
    return [value for batch in batches(source, (name,)) for value in batch.column(name).to_pylist()]


@pytest.fixture
def home(tmp_path):
    """Return a folder of two files of 10 rows each, one of them further down, and some that are not meant."""
    (tmp_path / "b").mkdir()
    pq.write_table(numbers(0, 10), tmp_path / "a.parquet", row_group_size=4)
    pq.write_table(numbers(10, 20), tmp_path / "b" / "c.parquet")
    (tmp_path / "_temporary").mkdir()
    pq.write_table(numbers(0, 5), tmp_path / "_temporary" / "x.parquet")
    (tmp_path / ".hidden.parquet").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("not a table")
    return tmp_path


@pytest.mark.parametrize("pattern", ["", "**/[abc].parquet", "**/?.parquet"])
def test_a_folder_and_a_pattern_name_the_same_files(home, pattern):
    assert column(Parquet(home / pattern), "v") == list(range(20))


@pytest.mark.parametrize("pattern", ["", "/**/[abc].parquet", "/**/?.parquet"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_another_filesystem_is_read_by_the_same_rules(home, pattern, wrapped):
    filesystem = pafs.SubTreeFileSystem(str(home.parent), pafs.LocalFileSystem())
    if wrapped:
        fsspec = pytest.importorskip("fsspec")
        filesystem, folder = fsspec.filesystem("file"), str(home)
    else:
        folder = home.name
    source = pickle.loads(pickle.dumps(Parquet(folder + pattern, filesystem=filesystem)))
    assert column(source, "v") == list(range(20))
    assert source.name == folder + pattern


def test_an_address_names_its_filesystem(home):
    assert column(Parquet(f"file://{home}/a.parquet"), "v") == list(range(10))


def test_a_pattern_does_not_cross_folders_unless_it_says_so(home):
    assert column(Parquet(home / "*.parquet"), "v") == list(range(10))
    filesystem = pafs.SubTreeFileSystem(str(home), pafs.LocalFileSystem())
    assert column(Parquet("*.parquet", filesystem=filesystem), "v") == list(range(10))


def test_a_list_keeps_its_order_and_names_no_file_twice(home):
    files = [home / "b" / "c.parquet", home / "a.parquet"]
    assert column(Parquet(files), "v") == [*range(10, 20), *range(10)]
    with pytest.raises(InputError, match="listed twice"):
        Parquet([home, home / "a.parquet"])


@pytest.mark.parametrize("path", ["absent.parquet", "*.nothing", []])
def test_no_file_is_an_error(home, path):
    with pytest.raises(InputError, match=r"No file is found|empty"):
        Parquet(path if path == [] else home / path)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"a,b\n1,2\n" * 10])
def test_a_file_that_is_no_parquet_is_named(tmp_path, content):
    (tmp_path / "x.parquet").write_bytes(content)
    with pytest.raises(InputError, match=r"x\.parquet' cannot be read as Parquet"):
        Parquet(tmp_path)


def test_a_file_that_is_cut_after_the_source_was_made_is_named(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(numbers(0, 1000), path)
    source = Parquet(path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(InputError, match=r"x\.parquet' cannot be read"):
        column(source, "v")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"v": [1.5]}, r"'v' holds int64 in .*0\.parquet' and double in .*1\.parquet'"),
        ({"v": [1], "w": [2]}, r"0\.parquet' has no column 'w'"),
        ({"w": [1]}, r"1\.parquet' has no column 'v'"),
    ],
)
def test_files_with_other_columns_or_types_are_refused(tmp_path, other, message):
    pq.write_table(pa.table({"v": [1]}), tmp_path / "0.parquet")
    pq.write_table(pa.table(other), tmp_path / "1.parquet")
    with pytest.raises(SchemaError, match=message):
        Parquet(tmp_path)


def test_files_may_order_their_columns_as_they_like(tmp_path):
    pq.write_table(pa.table({"v": [1], "w": [2]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"w": [4], "v": [3]}), tmp_path / "1.parquet")
    assert column(Parquet(tmp_path), "w") == [2, 4]


def test_a_name_that_occurs_twice_is_refused(tmp_path):
    pq.write_table(pa.Table.from_arrays([pa.array([1])] * 2, names=["v", "v"]), tmp_path / "x.parquet")
    with pytest.raises(SchemaError, match="2 columns 'v'"):
        Parquet(tmp_path)


def test_names_with_dots_and_nested_columns_do_not_confuse_the_projection(tmp_path):
    pq.write_table(pa.table({"a.b": ["x"], "a": [{"b": 1}], "c": [2]}), tmp_path / "x.parquet")
    assert column(Parquet(tmp_path), "a.b") == ["x"]
    assert column(Parquet(tmp_path), "a") == [{"b": 1}]


def test_text_has_one_type_whoever_wrote_it(tmp_path):
    frame = {"s": ["x", "y", None]}
    pd.DataFrame(frame).to_parquet(tmp_path / "pandas.parquet")
    pd.DataFrame(frame).astype({"s": pd.CategoricalDtype(["y", "x"], ordered=True)}).to_parquet(
        tmp_path / "cat.parquet"
    )
    pl.DataFrame(frame).write_parquet(tmp_path / "polars.parquet")
    pq.write_table(pa.table(frame), tmp_path / "arrow.parquet")
    source = Parquet(tmp_path)
    assert source.schema.field("s").type == pa.dictionary(pa.int32(), pa.string())
    assert column(source, "s") == ["x", "y", None] * 4
    assert source.schema.metadata is None


def test_a_dictionary_is_never_longer_than_its_batch(tmp_path):
    texts = [f"person-{i}" for i in range(200_000)]
    pq.write_table(
        pa.table({"s": texts, "few": [f"{i % 9}" for i in range(200_000)]}), tmp_path / "x.parquet"
    )
    source = Parquet(tmp_path)
    for batch in batches(source, ("few", "s")):
        assert len(batch.column("few").dictionary) == 9
        assert len(batch.column("s").dictionary) <= batch.num_rows
    assert column(source, "s") == texts


def test_small_row_groups_share_a_fragment_and_large_ones_do_not(tmp_path):
    pq.write_table(numbers(0, 1000), tmp_path / "small.parquet", row_group_size=10)
    assert [fragment.groups for fragment in Parquet(tmp_path).fragments(("v",))] == [tuple(range(100))]
    pq.write_table(pa.table({"v": np.zeros(400_000)}), tmp_path / "small.parquet", row_group_size=150_000)
    fragments = list(Parquet(tmp_path).fragments(("v",)))
    assert [(f.groups, f.start) for f in fragments] == [((0,), 0), ((1,), 150_000), ((2,), 300_000)]


def test_folders_state_public_columns(tmp_path):
    for year in (2025, 2026):
        for region in ("north", "__HIVE_DEFAULT_PARTITION__", "a%2Fb"):
            folder = tmp_path / f"year={year}" / f"region={region}" / "month=01"
            folder.mkdir(parents=True)
            pq.write_table(pa.table({"v": [year]}), folder / "x.parquet")
    source = Parquet(tmp_path)
    assert source.partition_columns == ("year", "region", "month")
    assert source.schema.field("year").type == pa.int64()
    assert source.schema.field("month").type == pa.string()
    assert column(source, "year") == column(source, "v")
    assert sorted(set(column(source, "region")), key=str) == [None, "a/b", "north"]
    assert set(column(source, "month")) == {"01"}
    found = next(iter(batches(source, ("region", "v", "year"))))
    assert found.schema.names == ["region", "v", "year"]


def test_a_column_in_the_file_wins_over_its_folder_which_is_still_named(tmp_path):
    folder = tmp_path / "v=7"
    folder.mkdir()
    pq.write_table(pa.table({"v": [1]}), folder / "x.parquet")
    source = Parquet(tmp_path)
    assert source.partition_columns == ("v",)
    assert column(source, "v") == [1]


def test_a_single_file_in_a_partition_still_says_what_its_path_says(tmp_path):
    folder = tmp_path / "bought=yes"
    folder.mkdir()
    pq.write_table(pa.table({"v": [1]}), folder / "x.parquet")
    assert Parquet(folder / "x.parquet").partition_columns == ("bought",)
    assert Parquet(folder / "*.parquet").partition_columns == ("bought",)


def test_folders_that_state_different_columns_are_refused(tmp_path):
    for name in ("year=2025", "month=3"):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"v": [1]}), tmp_path / name / "x.parquet")
    with pytest.raises(SchemaError, match="same key=value folders"):
        Parquet(tmp_path)


def test_the_sum_is_the_same_with_two_workers_and_errors_name_the_row_of_the_source(tmp_path):
    values = np.arange(500_000)
    pq.write_table(pa.table({"v": values}), tmp_path / "x.parquet", row_group_size=140_000)
    source, told = Parquet(tmp_path), []
    state = fold(IntegerSum(), source, workers=2, progress=lambda *rows: told.append(rows))
    assert tuple(state) == (int(values.sum()), 500_000)
    assert told[-1] == (500_000, 500_000)
    values[321_987] = -1
    pq.write_table(pa.table({"v": values}), tmp_path / "x.parquet", row_group_size=140_000)
    with pytest.raises(SchemaError, match="row 321987 "):
        fold(IntegerSum(), Parquet(tmp_path), workers=2)


WRITE = """
import sys, numpy as np, pyarrow as pa, pyarrow.parquet as pq
path, rows, group = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
draw = np.random.default_rng(0)
schema = pa.schema({f"x{i}": pa.float64() for i in range(20)} | {"v": pa.int64()})
with pq.ParquetWriter(path, schema, compression="zstd", compression_level=1) as file:
    for start in range(0, rows, group):
        columns = [pa.array(draw.random(group)) for _ in range(20)] + [pa.array(range(start, start + group))]
        file.write_table(pa.Table.from_arrays(columns, schema=schema), row_group_size=group)
"""

READ = """
import resource, sys, pyarrow as pa
from suffice.core.fold import fold
from suffice.sources.parquet import Parquet

class Sum:
    def reads(self): return tuple([f"x{i}" for i in range(20)] + ["v"])
    def init(self): return 0
    def update(self, state, batch): return state + int(batch.column("v").to_numpy().sum())
    def merge(self, one, two): return one + two

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
total = fold(Sum(), Parquet(sys.argv[1]), workers=int(sys.argv[2]))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(total, pa.default_memory_pool().max_memory() // 2**20, (after - before) // 2**10)
"""


def peak(path, rows, group, workers) -> tuple[int, int]:
    """Return the most that Arrow held, and by how much the process grew, in MiB."""
    subprocess.run([sys.executable, "-c", WRITE, path, str(rows), str(group)], check=True)
    done = subprocess.run(
        [sys.executable, "-c", READ, path, str(workers)], capture_output=True, text=True, check=True
    )
    total, arrow, grown = map(int, done.stdout.split())
    assert total == rows * (rows - 1) // 2
    return arrow, grown


@pytest.mark.skipif(sys.platform == "win32", reason="the operating system does not say")
def test_only_some_batches_of_a_file_are_in_memory(tmp_path):
    """655,360 rows of 21 columns are 105 MiB."""
    arrow, grown = peak(tmp_path / "x.parquet", 20 << 15, 1 << 15, 1)
    assert arrow < 50
    assert grown < 200


@pytest.mark.laws
@pytest.mark.skipif(sys.platform == "win32", reason="the operating system does not say")
@pytest.mark.parametrize(
    ("groups", "group", "workers", "most"),
    [(32, 1 << 17, 1, 120), (32, 1 << 17, 2, 240), (2, 2_000_000, 1, 120)],
)
def test_memory_does_not_grow_with_the_file(tmp_path, groups, group, workers, most):
    """Four million rows of 21 columns are 640 MiB."""
    arrow, grown = peak(tmp_path / "x.parquet", groups * group, group, workers)
    assert arrow < most
    assert grown < most + 200
