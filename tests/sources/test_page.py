"""Columns of plain numbers are read without decoding, and are what pyarrow decodes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from suffice.core.errors import InputError
from suffice.maths import kernels
from suffice.maths.kernels import reference
from suffice.sources.page import plain_arrays
from suffice.sources.parquet import Parquet

KINDS = [pa.float32(), pa.float64(), *(pa.from_numpy_dtype(f"{s}{n}") for s in "iu" for n in (1, 2, 4, 8))]
NAMES = {str(kind) for kind in KINDS}
ROWS = 50_000

compiled = pytest.mark.skipif(not kernels.COMPILED, reason="pyarrow decodes everything where no kernel is")


def table(missing=0.0, rows=ROWS):
    rng = np.random.default_rng(3)
    columns = {}
    for kind in KINDS:
        values = rng.integers(0, 120, rows).astype(kind.to_pandas_dtype())
        if pa.types.is_floating(kind):
            values[:4] = -0.0, np.nan, np.inf, 5e-324
        else:
            info = np.iinfo(kind.to_pandas_dtype())
            values[:2] = info.min, info.max
        columns[str(kind)] = pa.array(values, mask=rng.random(rows) < missing)
    columns["word"] = pa.array(rng.choice(["yes", "no", "perhaps"], rows))
    columns["true"] = pa.array(rng.random(rows) < 0.5)
    return pa.table(columns)


def written(path, whole, **options):
    plain = {"compression": "none", "use_dictionary": ["word"] if "word" in whole.column_names else False}
    pq.write_table(whole, path, **(plain | {"row_group_size": 20_000, "data_page_size": 9_999} | options))
    return str(path)


def read(path, columns):
    source = Parquet(path)
    parts = [batch for fragment in source.fragments(columns) for batch in fragment.batches()]
    return pa.Table.from_batches(parts, source.schema.empty_table().select(columns).schema)


def same(one, two):
    """Bit for bit, whatever lies under what is missing; text by its letters."""
    assert one.num_rows == two.num_rows
    for name in two.column_names:
        ours, theirs = one[name].combine_chunks(), two[name].combine_chunks()
        if pa.types.is_dictionary(ours.type):
            ours = ours.dictionary_decode()
        assert ours.is_null().equals(theirs.is_null())
        if pa.types.is_floating(theirs.type):
            whole = pa.int32() if theirs.type == pa.float32() else pa.int64()
            ours, theirs = ours.fill_null(7).view(whole), theirs.fill_null(7).view(whole)
        assert ours.equals(theirs), name


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("missing", [0.0, 0.0001, 0.3, 1.0])
@pytest.mark.parametrize("compression", ["none", "snappy"])
def test_every_type_and_page_is_read_as_pyarrow_reads_it(tmp_path, version, missing, compression):
    whole = table(missing)
    path = written(tmp_path / "a.parquet", whole, data_page_version=version, compression=compression)
    names = whole.column_names[::-1]
    if kernels.COMPILED and (missing in {0.0, 0.3} or compression == "snappy"):
        plain = NAMES if not missing and compression == "none" else set()
        assert set(plain_arrays(path, 1, names)) == plain
    same(read(path, names), whole.select(names))
    same(read(path, ["float", "int8"]), whole.select(["float", "int8"]))
    same(read(path, ["word", "int16", "true"]), whole.select(["word", "int16", "true"]))


def test_pyarrow_reads_it_all_where_no_kernel_is(tmp_path, monkeypatch):
    whole = table()
    path = written(tmp_path / "a.parquet", whole)
    monkeypatch.setattr(kernels, "join_pages", reference.join_pages)
    assert plain_arrays(path, 0, whole.column_names) == {}
    same(read(path, whole.column_names), whole)


@compiled
def test_columns_that_are_never_missing_are_plain_and_columns_in_lists_are_not(tmp_path):
    schema = pa.schema([pa.field("x", pa.float64(), nullable=False), ("y", pa.list_(pa.float64()))])
    whole = pa.table({"x": np.arange(ROWS) / 2, "y": [[1.0, None]] * ROWS}, schema=schema)
    path = written(tmp_path / "a.parquet", whole)
    assert set(plain_arrays(path, 0, ["x", "y"])) == {"x"}
    assert read(path, ["x"])["x"].equals(whole["x"])
    assert read(path, ["y", "x"])["y"].equals(whole["y"])


@pytest.mark.parametrize(
    "options",
    [{"use_dictionary": True}, {"column_encoding": {"x": "BYTE_STREAM_SPLIT"}, "use_dictionary": False}],
)
def test_other_encodings_are_left_to_pyarrow(tmp_path, options):
    whole = pa.table({"x": np.random.default_rng(0).integers(9, size=ROWS) / 2})
    path = written(tmp_path / "a.parquet", whole, **options)
    assert plain_arrays(path, 0, ["x"]) == {}
    assert read(path, ["x"]).equals(whole)


def test_a_file_that_was_written_again_is_read_again(tmp_path):
    for size in (5_000, 50_000):
        whole = pa.table({"x": np.arange(ROWS) / size})
        path = written(tmp_path / "a.parquet", whole, data_page_size=size)
        assert read(path, ["x"]).equals(whole)


@pytest.mark.parametrize("seed", range(60))
def test_damaged_pages_are_an_error_or_other_numbers_and_nothing_worse(tmp_path, seed):
    whole = pa.table({"x": np.arange(20_000.0)})
    version = "2.0" if seed % 3 else "1.0"
    path = written(tmp_path / "a.parquet", whole, data_page_size=5_000, data_page_version=version)
    chunk = pq.read_metadata(path).row_group(0).column(0)
    start, end = chunk.data_page_offset, chunk.data_page_offset + chunk.total_compressed_size
    data = bytearray((tmp_path / "a.parquet").read_bytes())
    rng = np.random.default_rng(seed)
    first = start if seed % 2 else int(rng.integers(start, end))
    for at in rng.integers(first, min(first + 40, end), 3):
        data[at] = rng.integers(256)
    (tmp_path / "a.parquet").write_bytes(data)
    try:
        rows = len(read(path, ["x"]))
    except InputError as error:
        rows = 20_000 if "cannot be read to its end" in str(error) else 0
    assert rows == 20_000


@compiled
@pytest.mark.parametrize("nullable", [False, True])
def test_a_chunk_that_ends_early_anywhere_is_not_joined(tmp_path, nullable):
    field = pa.field("x", pa.float64(), nullable=nullable)
    whole = pa.table({"x": np.arange(300.0)}, schema=pa.schema([field]))
    path = written(tmp_path / "a.parquet", whole, data_page_size=800, write_batch_size=100)
    chunk = pq.read_metadata(path).row_group(0).column(0)
    start = chunk.data_page_offset
    data = (tmp_path / "a.parquet").read_bytes()[start : start + chunk.total_compressed_size]
    out = np.zeros(300)
    assert kernels.join_pages(memoryview(data), 300, 8, out, nullable=nullable)
    assert (out == np.arange(300)).all()
    for size in range(len(data)):
        assert not kernels.join_pages(memoryview(data[:size]), 300, 8, out, nullable=nullable)
    rng = np.random.default_rng(0)
    for _ in range(3000):
        wild = bytearray(data)
        for at in rng.integers(0, min(90, len(data)), 3):
            wild[at] = rng.integers(256)
        assert kernels.join_pages(memoryview(wild), 300, 8, out, nullable=nullable) in {True, False}
