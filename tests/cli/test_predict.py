from __future__ import annotations

import pyarrow.csv as pc
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest

import suffice as sf
from tests.cli.conftest import done, people, run


@pytest.fixture
def fitted(released):
    done("fit", "bought.suffice", "rows.parquet", "-o", "model.skops")
    return released


READ = {"csv": pc.read_csv, "parquet": pq.read_table, "feather": pf.read_table}


@pytest.mark.usefixtures("fitted")
@pytest.mark.parametrize("ending", sorted(READ))
def test_predictions_are_those_of_the_model_row_by_row(ending):
    told = done("predict", "model.skops", "new.tsv", "-o", f"out.{ending}", "--proba", "--json").data
    model = sf.load_model("model.skops")
    new = people(30, seed=9)
    table = READ[ending](f"out.{ending}")
    assert table["prediction"].to_pylist() == list(model.predict(new))
    assert table["probability yes"].to_pylist() == pytest.approx(model.predict_proba(new)[:, 1], abs=1e-12)
    assert table.column_names == ["prediction", "probability no", "probability yes"]
    assert told["rows"] == sum(told["counts"].values()) == 30


@pytest.mark.usefixtures("fitted")
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["model.skops", "new.tsv", "-o", "out.docx"], "cannot be told"),
        (["model.skops", "new.tsv", "-o", "out.txt"], "Predictions are written as"),
        (["people.csv", "new.tsv", "-o", "out.csv"], "not a model"),
        (["absent.skops", "new.tsv", "-o", "out.csv"], "cannot be read"),
        (["model.skops", "people.xlsx", "-o", "out.csv"], "cannot be told"),
        (["model.skops", "new.tsv", "-o", "people.csv"], "already"),
    ],
)
def test_what_cannot_be_predicted_ends_with_two(words, sentence):
    ended = run("predict", *words)
    assert ended.code == 2
    assert sentence in ended.err


def test_a_column_that_is_not_there_is_named(fitted):
    (fitted / "short.csv").write_text("age,visits\n1,2\n", "utf-8")
    ended = run("predict", "model.skops", "short.csv", "-o", "out.csv")
    assert ended.code == 2
    assert "'region'" in ended.err
