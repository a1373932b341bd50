from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import suffice as sf
from suffice.core.errors import ReleaseMismatch
from suffice.learners import MeanOperatorClassifier

RECIPE = sf.Recipe((sf.Numeric("a"), sf.Numeric("b")))


def frame(rows: int, kinds: int = 2, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    made = pd.DataFrame(rng.standard_normal((rows, 2)).clip(-3, 3), columns=["a", "b"])
    scores = np.column_stack([made["a"] * 2, made["b"] * 2, -(made["a"] + made["b"]) * 2])[:, :kinds]
    made["y"] = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
    return made


def release(rows: pd.DataFrame, unit, mechanism, tmp_path, kinds: int = 2) -> sf.Release:
    ledger = sf.Ledger.create(tmp_path / "l.db", dataset="d", unit=unit, budget=sf.PureDP(50.0))
    mu = sf.MeanOperator(RECIPE, "y", bound=sf.Bound(2, 2.5), classes=range(kinds))
    return sf.Owner(sf.Table(rows, name="rows"), ledger=ledger).release(mu, mechanism)


@pytest.mark.parametrize("kinds", [2, 3])
@pytest.mark.parametrize("mechanism", [sf.L2Laplace(epsilon=8), sf.Laplace(epsilon=8), sf.Auto(epsilon=8)])
@pytest.mark.parametrize(
    "unit", [sf.RecordOf("replace"), sf.RecordOf("add-remove"), sf.FeatureOf("a"), sf.LabelOf("y")]
)
def test_every_unit_gives_a_release_that_a_learner_elsewhere_can_use(unit, mechanism, kinds, tmp_path):
    rows = frame(3000, kinds)
    made = release(rows, unit, mechanism, tmp_path, kinds)
    public = isinstance(unit, sf.LabelOf)
    assert (made.witness is None) == (not public)
    sample = rows if public else frame(2000, kinds, seed=9)
    fresh = frame(2000, kinds, seed=10)
    model = MeanOperatorClassifier().fit(sample, made, rows="same" if public else "sample")
    plain = MeanOperatorClassifier().fit(rows[["a", "b"]], rows["y"]).score(fresh[["a", "b"]], fresh["y"])
    assert model.score(fresh, fresh["y"]) > plain - 0.03


def test_where_the_count_is_protected_it_is_noisy_and_in_no_header(tmp_path):
    rows = frame(5000)
    made = release(rows, sf.RecordOf("add-remove"), sf.L2Laplace(epsilon=2), tmp_path)
    counted = made.values[-1] / made.about["count_weight"]
    assert counted != 5000
    assert counted == pytest.approx(5000, abs=60)
    assert "5000" not in made.to_bytes().decode("latin1")
    assert made.names[-1] == "rows"


def test_a_record_release_does_not_say_which_rows_it_is_of(tmp_path):
    rows = frame(500)
    made = release(rows, sf.RecordOf("replace"), sf.L2Laplace(epsilon=5), tmp_path)
    with pytest.raises(ReleaseMismatch, match="rows='sample'"):
        MeanOperatorClassifier().fit(rows, made)


def test_an_extreme_value_is_moved_to_the_edge_where_a_refusal_would_tell_of_it(tmp_path):
    rows = frame(500)
    rows.loc[3, "a"] = 1e12
    made = release(rows, sf.RecordOf("replace"), sf.L2Laplace(epsilon=5), tmp_path)
    assert abs(made.values).max() < 500 * made.grid.radius * 2


def test_sensitivities_of_the_units_stand_in_their_order(tmp_path):
    rows = frame(50)
    source = sf.Table(rows)
    mu = sf.MeanOperator(RECIPE, "y", bound=sf.Bound(2, 1.0), classes=range(3))
    radius = 1 << 20
    l2 = {
        type(unit).__name__ + getattr(unit, "relation", ""): mu.resolve(source, unit).sensitivity(unit).l2
        for unit in (sf.LabelOf("y"), sf.RecordOf("replace"), sf.RecordOf("add-remove"), sf.FeatureOf("b"))
    }
    assert l2["LabelOf"] == int(np.ceil(np.sqrt(2.0) * radius))
    assert l2["RecordOfreplace"] == l2["FeatureOf"] == 2 * radius
    assert radius < l2["RecordOfadd-remove"] < 1.04 * radius
