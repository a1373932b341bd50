from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import suffice as sf
from tests.cli.conftest import done, people, run

SPEC = """
[source]
kind = "Join"
labels = "labels.parquet"
features = { kind = "Features", path = "t.parquet" }
on = "id"
[statistic]
kind = "MeanOperator"
label = "bought"
classes = ["no", "yes"]
features = "recipe.toml"
bound = { norm = 2, public_quantile = 0.9 }
[mechanism]
kind = "Gaussian"
epsilon = 4.0
delta = 1e-5
"""
MAKE = ["features", "spectral+columns", "people.parquet", "--key", "id", "--components", "20"]
RECIPE = ["--recipe", "recipe.toml", "--epsilon", "4", "--delta", "1e-5"]
BUDGET = ["--unit", "label:bought", "--budget", "epsilon=4,delta=1e-5"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = people()
    pq.write_table(rows.drop_columns(["bought"]), "people.parquet")
    pq.write_table(people(40, seed=9).drop_columns(["bought"]), "new.parquet")
    pq.write_table(rows.select(["id", "bought"]), "labels.parquet")
    return tmp_path


def test_two_sides_get_from_public_rows_to_predictions_of_new_ones(folder):
    new = ["--new", "new.parquet", "--new-out", "later.parquet"]
    told = done(*MAKE, "-o", "t.parquet", *RECIPE, *new, "--json").data
    assert told["fingerprint"] == sf.Features("t.parquet").passport.fingerprint
    assert "without labels" in told["provenance"]
    (folder / "spec.toml").write_text(SPEC)
    done("ledger", "create", "o.db", "--dataset", "people", *BUDGET)
    done("release", "spec.toml", "--ledger", "o.db", "-o", "bought.suffice")
    assert told["fingerprint"][:16] in done("show", "bought.suffice").out
    done("fit", "bought.suffice", "t.parquet", "--loss", "square", "-o", "model.skops")
    done("predict", "model.skops", "later.parquet", "-o", "guess.csv")
    assert len((folder / "guess.csv").read_text().splitlines()) == 41


@pytest.mark.usefixtures("folder")
def test_the_same_command_gives_the_same_table_for_rows_in_another_order():
    rows = pq.read_table("people.parquet")
    one = done(*MAKE, "-o", "a.parquet", "--json").data["fingerprint"]
    pq.write_table(rows.take(pa.array(range(rows.num_rows - 1, -1, -1))), "people.parquet")
    assert done(*MAKE, "-o", "b.parquet", "--json").data["fingerprint"] == one


@pytest.mark.usefixtures("folder")
def test_new_rows_without_a_place_to_go_and_unknown_families_are_refused():
    assert run(*MAKE, "-o", "t.parquet", "--new", "new.parquet").code == 2
    refused = run("features", "astrology", "people.parquet", "--key", "id", "-o", "t.parquet")
    assert refused.code == 2
    assert "spectral" in refused.err
