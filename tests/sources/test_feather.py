"""Arrow files: mapped, projected, counted only when somebody asks."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.feather
import pytest

from suffice.core.errors import InputError, SchemaError
from suffice.core.fold import fold
from suffice.sources.feather import Feather
from suffice.sources.frame import batches
from tests.laws.test_fold import IntegerSum


def written(path, values, compression="uncompressed", chunk=10):
    table = pa.table({"w": [f"t{i}" for i in values], "v": pa.array(values, pa.int64())})
    pyarrow.feather.write_feather(table, path, compression=compression, chunksize=chunk)
    return path


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
@pytest.mark.parametrize("workers", [1, 2])
def test_the_sum_is_the_same_however_the_file_is_packed(tmp_path, compression, workers):
    path = written(tmp_path / "x.feather", range(1000), compression)
    assert fold(IntegerSum(), Feather(path), workers=workers).tolist() == [499_500, 1000]


def test_a_bad_row_is_counted_over_batches_and_files(tmp_path):
    written(tmp_path / "0.arrow", range(95))
    written(tmp_path / "1.arrow", [-1 if i == 88 else i for i in range(100)])
    with pytest.raises(SchemaError, match="row 183 "):
        fold(IntegerSum(), Feather(tmp_path))


def test_a_folder_states_a_column(tmp_path):
    (tmp_path / "year=2026").mkdir()
    written(tmp_path / "year=2026" / "x.feather", [1])
    source = Feather(tmp_path)
    assert source.partition_columns == ("year",)
    assert next(iter(batches(source, ("year", "v")))).to_pylist() == [{"year": 2026, "v": 1}]
    assert next(iter(batches(source, ("year",)))).to_pylist() == [{"year": 2026}]


def test_large_batches_are_cut(tmp_path):
    path = written(tmp_path / "x.feather", range(100_000), chunk=100_000)
    assert [batch.num_rows for batch in batches(Feather(path), ("v",))] == [32768, 32768, 32768, 1696]


def test_a_file_that_is_no_arrow_file_or_has_other_columns_is_named(tmp_path):
    written(tmp_path / "0.feather", [1])
    (tmp_path / "1.feather").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"1\.feather' cannot be read as an Arrow file"):
        Feather(tmp_path)
    pyarrow.feather.write_feather(pa.table({"v": [1.5], "w": ["x"]}), tmp_path / "1.feather")
    with pytest.raises(SchemaError, match="'v' holds int64"):
        Feather(tmp_path)
