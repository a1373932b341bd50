"""Delimited text: types are declared, and what is not declared stays as it was written."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pytest

from suffice.core.errors import InputError, SchemaError
from suffice.core.fold import fold
from suffice.sources.csv import CSV
from suffice.sources.frame import batches
from tests.laws.test_fold import IntegerSum


def written(folder, text, name="x.csv", encoding="utf-8"):
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def rows(source, *columns) -> list[dict]:
    return [row for batch in batches(source, columns or source.schema.names) for row in batch.to_pylist()]


def test_what_is_not_declared_is_text_with_its_zeros(tmp_path):
    source = CSV(written(tmp_path, "zip,n\n007,1\n,2\n"))
    assert source.schema == pa.schema({"zip": pa.string(), "n": pa.string()})
    assert rows(source) == [{"zip": "007", "n": "1"}, {"zip": None, "n": "2"}]


def test_the_schema_does_not_depend_on_the_rows(tmp_path):
    one = CSV(written(tmp_path, "v,label\n1,0\n", "one.csv"), types={"v": int})
    two = CSV(written(tmp_path, "v,label\n1,maybe\n", "two.csv"), types={"v": int})
    assert one.schema == two.schema


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        (int, pa.int64()),
        (float, pa.float64()),
        (str, pa.string()),
        ("float32", pa.float32()),
        ("number", pa.float64()),
        ("text", pa.string()),
        (pa.decimal128(5, 2), pa.decimal128(5, 2)),
        (pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int32(), pa.string())),
    ],
)
def test_a_type_is_declared_in_python_in_words_or_in_arrow(tmp_path, declared, kind):
    source = CSV(written(tmp_path, "v\n12\n"), types={"v": declared})
    assert source.schema.field("v").type == kind
    assert [str(row["v"]).split(".")[0] for row in rows(source)] == ["12"]


def test_truth_values_are_read_in_both_spellings(tmp_path):
    source = CSV(written(tmp_path, "v\ntrue\n0\n1\nFalse\n"), types={"v": bool})
    assert [row["v"] for row in rows(source)] == [True, False, True, False]


def test_a_german_spreadsheet_is_read_as_it_is_written(tmp_path):
    path = written(tmp_path, "größe;ort\n1,5;Köln\n-0,25;Çorlu\n", encoding="latin-1")
    source = CSV(path, types={"größe": float}, delimiter=";", decimal=",", encoding="latin-1")
    assert rows(source) == [{"größe": 1.5, "ort": "Köln"}, {"größe": -0.25, "ort": "Çorlu"}]
    assert source.suggested_types() == {"größe": "double", "ort": "string"}


def test_a_file_without_a_header_with_blanks_and_question_marks(tmp_path):
    path = written(tmp_path, "|a remark\n39, State-gov, 1.5\n50, ?, ?\n")
    source = CSV(
        path,
        names=["age", "work", "v"],
        types={"age": int, "v": float},
        null_values=["?"],
        strip=True,
        skip=1,
    )
    assert rows(source) == [{"age": 39, "work": "State-gov", "v": 1.5}, {"age": 50, "work": None, "v": None}]


def test_quotes_and_a_byte_order_mark_are_understood(tmp_path):
    assert rows(CSV(written(tmp_path, '\ufeffa,b\n"x, ""y""",2\n'))) == [{"a": 'x, "y"', "b": "2"}]
    assert rows(CSV(written(tmp_path, "a|b\n'x|y'|2\n"), delimiter="|", quote="'")) == [
        {"a": "x|y", "b": "2"}
    ]


def test_a_compressed_file_is_read_by_its_ending(tmp_path):
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(b"v\n1\n2\n"))
    assert fold(IntegerSum(), CSV(tmp_path, types={"v": int})).tolist() == [3, 2]


def test_only_the_named_texts_stand_for_nothing(tmp_path):
    path = written(tmp_path, "country,v\nNA,NaN\n,\nnull,2\n")
    assert [row["country"] for row in rows(CSV(path, types={"v": float}))] == ["NA", None, "null"]
    assert [row["country"] for row in rows(CSV(path, null_values=["NA", "null"]))] == [None, "", None]


def test_several_files_may_order_their_columns_as_they_like(tmp_path):
    files = [written(tmp_path, "a,b\n1,x\n", "0.csv"), written(tmp_path, "b,a\ny,2\n", "1.csv")]
    assert rows(CSV(files, types={"a": int}), "b", "a") == [{"b": "x", "a": 1}, {"b": "y", "a": 2}]
    written(tmp_path, "b,c\ny,2\n", "1.csv")
    with pytest.raises(SchemaError, match=r"The columns of .*1\.csv' are"):
        CSV(files)


def test_a_folder_states_a_column(tmp_path):
    (tmp_path / "year=2026").mkdir()
    written(tmp_path / "year=2026", "a\n1\n")
    source = CSV(tmp_path)
    assert source.partition_columns == ("year",)
    assert rows(source, "year") == [{"year": 2026}]
    assert rows(source) == [{"a": "1", "year": 2026}]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("settings", [{}, {"skip": 2}, {"names": ["v", "w"], "skip": 3}])
def test_a_text_that_is_no_number_is_named_with_its_row_in_the_source(tmp_path, settings, workers):
    front = "" if not settings else "one\ntwo\n"
    text = front + "v,w\n" + "".join(f"{i},x\n" for i in range(50))
    files = [written(tmp_path, text, "0.csv"), written(tmp_path, text.replace("\n37,", "\noops,"), "1.csv")]
    with pytest.raises(
        SchemaError, match=r"column 'v', row 87 there is the text 'oops', and int64 was declared"
    ):
        fold(IntegerSum(), CSV(files, types={"v": int}, **settings), workers=workers)


def test_a_row_is_also_named_far_from_the_beginning_of_a_file(tmp_path):
    text = "v,w\n" + "".join(f"{i if i != 400_000 else '4OO'},xxxxxxxxxx\n" for i in range(410_000))
    with pytest.raises(SchemaError, match="row 400000 "):
        fold(IntegerSum(), CSV(written(tmp_path, text), types={"v": int}))


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("", {}, "Empty CSV file"),
        ("a,b\n1\n", {}, "Expected 2 columns, got 1"),
        ("a,a\n1,2\n", {}, "2 columns 'a'"),
        ("a,b\n1,2\n", {"types": {"c": int}}, "no column 'c'"),
        ("a,b\n1,2\n", {"types": {"a": "elephant"}}, "'elephant' for column 'a'"),
        ("a,b\n1,2\n", {"types": {"a": complex}}, "complex"),
        ("a,b\n1,2\n", {"encoding": "no such"}, "encoding 'no such'"),
        ("a,b\n1,2\n", {"delimiter": ";;"}, "delimiter= .* one letter, and got ';;'"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path, text, settings, message):
    with pytest.raises(InputError, match=message):
        rows(CSV(written(tmp_path, text), **settings))


def test_letters_in_another_encoding_are_an_error(tmp_path):
    with pytest.raises(InputError, match="invalid UTF8"):
        rows(CSV(written(tmp_path, "a\né\n", encoding="latin-1")))


def test_a_header_without_rows_is_a_source_without_rows(tmp_path):
    with pytest.raises(InputError, match="no rows"):
        fold(IntegerSum(), CSV(written(tmp_path, "v,w\n"), types={"v": int}))


def test_types_are_suggested_for_a_person_to_declare(tmp_path):
    text = "id,code,v,flag,day,nothing\n1,007,1.5,true,2026-01-02,\n2,010,2,false,2026-01-03,\n"
    source = CSV(written(tmp_path, text))
    assert source.suggested_types() == {
        "id": "int64",
        "code": "string",
        "v": "double",
        "flag": "bool",
        "day": "string",
        "nothing": "string",
    }
    assert CSV(written(tmp_path, text), types=source.suggested_types()).schema.field("id").type == pa.int64()
    assert CSV(written(tmp_path, "a,b\n")).suggested_types() == {"a": "string", "b": "string"}
