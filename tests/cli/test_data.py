from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import suffice as sf
from suffice.cli.data import Dialect, declared, kind_of, opened
from suffice.core.errors import InputError

RECIPE = sf.Recipe(
    (
        sf.Numeric("age"),
        sf.Categorical("code", ("007", "7")),
        sf.Cross(sf.Categorical("floor", (1, 2)), sf.Categorical("lift", (True, False))),
    )
)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("a.parquet", "Parquet"),
        ("sales/*.pq", "Parquet"),
        ("a.b.csv", "CSV"),
        ("a.tsv.gz", "CSV"),
        ("A.CSV", "CSV"),
        ("x.arrow", "Feather"),
    ],
)
def test_the_ending_of_a_name_says_what_reads_it(path, kind):
    assert kind_of(path) == kind


def test_a_folder_is_read_by_the_ending_of_what_is_in_it(tmp_path):
    (tmp_path / "year=2026").mkdir()
    pq.write_table(pa.table({"a": [1]}), tmp_path / "year=2026" / "part-0.parquet")
    assert kind_of(str(tmp_path)) == "Parquet"
    assert opened(str(tmp_path)).schema.names == ["a", "year"]


def test_a_name_that_says_nothing_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be told"):
        kind_of(str(tmp_path))


def test_a_text_file_is_declared_to_have_the_types_that_the_recipe_needs(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("age;code;floor;lift\n1,5;007;2;true\n", "utf-8")
    source = declared(str(path), Dialect(delimiter=";", decimal=","), RECIPE)
    assert source.schema.types == [pa.float64(), pa.string(), pa.int64(), pa.bool_()]
    (fragment,) = source.fragments(source.schema.names)
    assert next(iter(fragment.batches())).to_pylist() == [
        {"age": 1.5, "code": "007", "floor": 2, "lift": True}
    ]


def test_a_missing_column_is_left_for_the_learner_to_name(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("age\n1\n", "utf-8")
    assert declared(str(path), Dialect(), RECIPE).schema.names == ["age"]


def test_a_tab_separates_the_fields_of_a_tsv_unless_something_else_is_said(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("a\tb\n1\t2\n", "utf-8")
    assert opened(str(path)).schema.names == ["a", "b"]
    assert opened({"path": str(path), "delimiter": ","}).schema.names == ["a\tb"]


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (3, "path"),
        ({"kind": "CSV"}, "path"),
        ({"kind": "Popen", "path": "a.csv"}, "of kind Parquet, CSV, Feather"),
        ({"kind": "CSV", "path": "a.csv", "colour": 1}, "CSV cannot be made"),
    ],
)
def test_what_is_no_source_is_refused(source, sentence):
    with pytest.raises(InputError, match=sentence):
        opened(source)
