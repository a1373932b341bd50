"""The folder in which the pages run: small files of the kind their readers have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROWS = 400
REGIONS = ("north", "south", "east")


def people(rows: int = ROWS) -> pd.DataFrame:
    """Return customers with a label, `bought`, that depends on age, visits and region."""
    draw = np.random.default_rng(20261)
    age = draw.normal(41, 12, rows).round(1).clip(18, 90)
    visits = draw.poisson(4, rows)
    region = draw.choice(REGIONS, rows)
    logit = 0.06 * (age - 41) + 0.5 * (visits - 4) + 0.8 * (region == "north") - 0.3
    bought = draw.random(rows) < 1 / (1 + np.exp(-logit))
    return pd.DataFrame(
        {"id": np.arange(rows), "age": age, "visits": visits, "region": region, "bought": bought}
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a reader, who stands in it.

    - `sales/part-0.parquet`, `sales/part-1.parquet`: id, age, visits, region, bought (bool)
    - `sales.csv`: the same rows, `bought` as no or yes
    - `features.parquet`, `features.csv`: the same rows in another order, without `bought`
    - `new.csv`: twenty further rows without `bought`
    """
    frame = people()
    (tmp_path / "sales").mkdir()
    for part, rows in enumerate((frame[: ROWS // 2], frame[ROWS // 2 :])):
        rows.to_parquet(tmp_path / "sales" / f"part-{part}.parquet", index=False)
    frame.assign(bought=frame["bought"].map({False: "no", True: "yes"})).to_csv(
        tmp_path / "sales.csv", index=False
    )
    features = frame.drop(columns="bought").sample(frac=1, random_state=7)
    features.to_parquet(tmp_path / "features.parquet", index=False)
    features.to_csv(tmp_path / "features.csv", index=False)
    people(20).drop(columns="bought").to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    return tmp_path
