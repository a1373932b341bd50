from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import suffice as sf


@pytest.fixture
def people() -> pd.DataFrame:
    """Return 200 rows of two numbers, a region, and a label."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"age": rng.normal(40, 12, 200).round(1), "visits": rng.poisson(3, 200)})
    frame["region"] = rng.choice(["north", "south"], 200)
    frame["bought"] = rng.random(200) < 1 / (1 + np.exp(-(frame["visits"] - 3)))
    return frame


@pytest.fixture
def ledger(tmp_path) -> sf.Ledger:
    return sf.Ledger.create(
        tmp_path / "owner.db", dataset="sales", unit=sf.LabelOf("bought"), budget=sf.PureDP(2.0)
    )


@pytest.fixture
def statistic(people) -> sf.MeanOperator:
    recipe = sf.Recipe.learn(sf.Table(people), columns=["age", "visits", "region"])
    return sf.MeanOperator(recipe, "bought", bound=sf.Bound(2, sf.Radius.public(0.95)))


@pytest.fixture
def frozen_noise(monkeypatch):
    """Noise that is always the same, so that two runs can be compared byte for byte."""
    monkeypatch.setattr("suffice.mechanisms.draw.noise", lambda law: [7] * law.covariance().dimension)
