from __future__ import annotations

import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import suffice as sf
from suffice.cli.spec import STATE_ME, read
from tests.cli.conftest import LABEL, done, people, run

RECORD = ["--unit", "record", "--label", "bought", "--classes", "no,yes"]


def spec() -> dict:
    return tomllib.loads(Path("spec.toml").read_text("utf-8"))


@pytest.mark.usefixtures("folder")
def test_the_spec_holds_what_the_public_columns_say():
    done("check", "people.parquet", *LABEL, "-o", "spec.toml")
    recipe = sf.Recipe.learn(
        sf.Parquet("people.parquet"), columns=["age", "visits", "region", "income"], missing="indicate"
    )
    asked = read(Path("spec.toml"))
    assert asked.made_statistic() == sf.MeanOperator(
        recipe, "bought", bound=sf.Bound(2, sf.Radius.public(0.95)), classes=["no", "yes"]
    )
    assert asked.made_mechanism() == sf.L2Laplace(epsilon=1.0)
    assert asked.source == "people.parquet"


@pytest.mark.usefixtures("folder")
def test_what_was_seen_is_shown_and_the_label_is_not():
    shown = done("check", "people.parquet", *LABEL).out
    assert "income" in shown
    assert "left out: it looks like a key: every value differs" in shown
    assert "the label; not looked at" in shown
    data = done("check", "people.parquet", *LABEL, "--json").data
    assert {one["name"]: one["missing"] for one in data["columns"]} == {
        "id": 0,
        "age": 0,
        "visits": 0,
        "region": 0,
        "income": 6,
    }


@pytest.mark.usefixtures("folder")
def test_the_label_is_never_opened(opened):
    done("check", "people.parquet", *LABEL, "-o", "spec.toml")
    assert opened
    assert not any("bought" in columns for columns in opened)


def test_a_label_whose_bytes_cannot_be_read_does_not_disturb_the_look_at_the_rest(folder):
    done("check", "people.parquet", *LABEL, "-o", "before.toml")
    spoil(folder / "people.parquet", "bought")
    with pytest.raises((OSError, pa.ArrowException)):
        pq.read_table("people.parquet", columns=["bought"])
    done("check", "people.parquet", *LABEL, "-o", "after.toml")
    assert (folder / "after.toml").read_bytes() == (folder / "before.toml").read_bytes()


def test_under_a_record_unit_no_row_is_opened_and_all_is_left_to_state(folder, opened):
    shown = done("check", "people.parquet", *RECORD, "-o", "spec.toml").out
    assert opened == []
    assert str(people()["age"][0]) not in shown
    statistic = spec()["statistic"]
    assert statistic["bound"] == {"norm": 2, "radius": STATE_ME}
    assert {one["name"]: one["kind"] for one in statistic["features"]} == {
        "id": "Numeric",
        "age": "Numeric",
        "visits": "Numeric",
        "income": "Numeric",
        "region": "Categorical",
    }
    assert all(STATE_ME in str(one) for one in statistic["features"])
    done("ledger", "create", "r.db", "--dataset", "d", "--unit", "record:replace", "--budget", "epsilon=1")
    refused = run("release", "spec.toml", "--ledger", "r.db", "-o", "out.suffice")
    assert refused.code == 2
    assert STATE_ME in refused.err
    assert not (folder / "out.suffice").exists()


@pytest.mark.usefixtures("folder")
def test_a_spec_whose_blanks_are_filled_is_released_under_a_record_unit():
    done("check", "people.parquet", *RECORD, "--columns", "age,region", "-o", "spec.toml")
    words = Path("spec.toml").read_text("utf-8")
    for blank, stated in (
        (f'centre = "{STATE_ME}"', "centre = 40.0"),
        (f'scale = "{STATE_ME}"', "scale = 15.0"),
        (f'levels = ["{STATE_ME}"]', 'levels = ["north", "south", "east"]'),
        (f'radius = "{STATE_ME}"', "radius = 1.0"),
    ):
        assert blank in words
        words = words.replace(blank, stated)
    Path("spec.toml").write_text(words, "utf-8")
    done("ledger", "create", "r.db", "--dataset", "d", "--unit", "record:replace", "--budget", "epsilon=1")
    done("release", "spec.toml", "--ledger", "r.db", "-o", "out.suffice")
    assert sf.load("out.suffice").witness is None


@pytest.mark.usefixtures("folder")
def test_a_text_file_gets_declared_types_and_says_the_same_as_parquet():
    done("check", "people.parquet", *LABEL, "-o", "parquet.toml")
    done("check", "people.csv", *LABEL, "-o", "spec.toml")
    assert spec()["source"] == {
        "kind": "CSV",
        "path": "people.csv",
        "types": {"age": "double", "visits": "int64", "income": spec()["source"]["types"]["income"]},
    }
    assert read(Path("spec.toml")).made_statistic() == read(Path("parquet.toml")).made_statistic()


def test_classes_are_stated_in_the_type_of_the_column(folder):
    table = people().drop_columns(["bought"])
    wholes = table.append_column("bought", pa.array([i % 2 for i in range(table.num_rows)]))
    pq.write_table(wholes, folder / "whole.parquet")
    done(
        "check",
        "whole.parquet",
        "--unit",
        "label",
        "--label",
        "bought",
        "--classes",
        "0,1",
        "-o",
        "spec.toml",
    )
    assert spec()["statistic"]["classes"] == [0, 1]
    done("check", "whole.parquet", "--unit", "label", "--label", "bought", "-o", "bare.toml")
    assert run("check", "whole.parquet", *LABEL).code == 2


def test_paths_are_written_as_seen_from_the_folder_of_the_spec(folder):
    (folder / "requests").mkdir()
    done("check", "people.parquet", *LABEL, "-o", "requests/spec.toml")
    assert read(Path("requests/spec.toml")).source == "../people.parquet"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["people.parquet", "--unit", "label", "--label", "bougt"], "Did you mean 'bought'"),
        (["people.parquet", "--unit", "label", "--label", "bought"], "--classes no,yes"),
        (["people.parquet", *LABEL, "--columns", "age,bought"], "protected"),
        (["people.parquet", *LABEL, "--columns", "ages"], "Did you mean 'age'"),
        (["people.parquet", *LABEL, "--columns", "id", "--type", "id"], "COLUMN=TYPE"),
        (["nothing.parquet", *LABEL], "No file"),
        (["people.xlsx", *LABEL], "cannot be told"),
    ],
)
def test_what_cannot_be_checked_ends_with_two_and_a_sentence(words, sentence):
    ended = run("check", *words)
    assert ended.code == 2
    assert sentence in ended.err
    assert ended.out == ""


def spoil(path: Path, column: str) -> None:
    """Overwrite the pages of one column in the file."""
    meta = pq.read_metadata(path)
    data = bytearray(path.read_bytes())
    for group in range(meta.num_row_groups):
        for at in range(meta.num_columns):
            chunk = meta.row_group(group).column(at)
            if chunk.path_in_schema == column:
                start = chunk.dictionary_page_offset or chunk.data_page_offset
                data[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(data)
