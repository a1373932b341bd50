from __future__ import annotations

import numpy as np
import pytest

import suffice as sf
from tests.cli.conftest import done, run

WORDS = ["tune", "bought.suffice", "rows.parquet", "-o", "model.skops"]


@pytest.mark.usefixtures("released")
def test_the_best_of_several_strengths_is_kept_and_saved():
    told = done(*WORDS, "--alpha", "noise,1,0.01", "--trust", "owner.pub", "--json").data
    model = sf.load_model("model.skops")
    direct = sf.tune(
        sf.learners.MeanOperatorClassifier(),
        sf.Parquet("rows.parquet"),
        sf.load("bought.suffice"),
        {"alpha": ["noise", 1.0, 0.01], "loss": ["logistic"], "l1_ratio": [0.0]},
    )
    assert np.array_equal(model.theta_, direct.theta_)
    assert [one["alpha"] for one in told["settings"]] == ["noise", 1.0, 0.01]
    least = min(told["settings"], key=lambda one: one["risk"])
    assert told["chosen"] == {name: least[name] for name in ("alpha", "loss", "l1_ratio")}
    assert told["privacy"] == sf.load("bought.suffice").guarantee.sentence()


@pytest.mark.usefixtures("released")
def test_the_table_names_what_differs_and_marks_what_was_kept():
    told = done(*WORDS, "--loss", "logistic,square", "--scoring", "accuracy", "--alpha", "0.1,0.001").out
    assert "the best of 4 settings by the accuracy" in told
    assert "predicted accuracy" in told
    assert "l1 ratio" not in told
    assert sum(line.endswith("kept") for line in told.splitlines()) == 1
    assert "Nothing was spent" in told


@pytest.mark.usefixtures("released")
def test_what_cannot_be_compared_or_read_is_refused():
    assert run(*WORDS, "--loss", "logistic,square").code == 2
    assert run(*WORDS, "--alpha", "strong").code == 2
    assert run(*WORDS, "--alpha", ",").code == 2
    assert run(*WORDS, "--l1-ratio", "half").code == 2
    assert run("tune", "bought.suffice", "new.tsv", "-o", "model.skops").code == 5
