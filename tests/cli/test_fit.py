from __future__ import annotations

import numpy as np
import pytest

import suffice as sf
from tests.cli.conftest import done, run


@pytest.mark.usefixtures("released")
@pytest.mark.parametrize("rows", ["rows.parquet", "rows.csv", "rows.feather"])
def test_a_model_is_learned_from_the_file_and_public_rows_in_any_format(rows):
    told = done("fit", "bought.suffice", rows, "-o", "model.skops", "--trust", "owner.pub", "--json").data
    model = sf.load_model("model.skops")
    direct = sf.learners.MeanOperatorClassifier().fit(sf.Parquet("rows.parquet"), sf.load("bought.suffice"))
    assert np.array_equal(model.theta_, direct.theta_)
    assert told["classes"] == ["no", "yes"]
    assert [one["coefficient"] for one in told["coefficients"]] == [*direct.coef_[0], *direct.intercept_]
    assert told["privacy"] == sf.load("bought.suffice").guarantee.sentence()


@pytest.mark.usefixtures("released")
def test_the_table_names_every_column_and_says_what_was_done():
    told = done("fit", "bought.suffice", "rows.parquet", "-o", "model.skops").out
    assert all(name in told for name in ("age", "region=north", "income:missing", "intercept"))
    assert "tells yes from no" in told
    assert "Strength of regularisation" in told
    assert "in any one row" in told


@pytest.mark.usefixtures("released")
def test_other_rows_end_with_five_unless_they_are_called_a_sample():
    refused = run("fit", "bought.suffice", "new.tsv", "-o", "model.skops")
    assert refused.code == 5
    assert "240 rows" in refused.err
    done("fit", "bought.suffice", "new.tsv", "-o", "model.skops", "--rows", "sample")


@pytest.mark.usefixtures("released")
def test_strength_and_loss_are_what_was_asked_for():
    words = ["fit", "bought.suffice", "rows.parquet", "-o", "model.skops"]
    told = done(*words, "--alpha", "0.25", "--loss", "square", "--json").data
    assert told["alpha"] == 0.25
    assert sf.load_model("model.skops").loss == "square"
    assert run(*words, "--alpha", "strong").code == 2
    assert run(*words, "--loss", "hinge").code == 2
    assert run(*words, "--alpha", "0.5").code == 2, "the model file holds something else"
    done(*words, "--alpha", "0.5", "--overwrite")
