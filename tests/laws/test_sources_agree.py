"""The same rows from every source: the same recipe, radius, totals and witness, byte for byte."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather

import suffice as sf

UNIT = sf.LabelOf("y")
COLUMNS = ["a", "b", "c"]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    made = pd.DataFrame({"id": np.arange(500), "a": rng.normal(3, 7, 500), "b": rng.poisson(2, 500)})
    made["c"] = rng.choice(["north", "south", "east"], 500)
    made["y"] = rng.integers(0, 2, 500)
    return made


def parquet(frame, folder):
    frame.to_parquet(folder / "rows.parquet", row_group_size=64, index=False)
    return sf.Parquet(folder / "rows.parquet")


def parts(frame, folder):
    for region, rows in frame.groupby("c"):
        (folder / f"c={region}").mkdir()
        rows.drop(columns="c").to_parquet(folder / f"c={region}" / "part.parquet", index=False)
    return sf.Parquet(folder)


def csv(frame, folder):
    frame.to_csv(folder / "rows.csv", index=False)
    return sf.CSV(folder / "rows.csv", types={"a": "float64", "b": "int64", "c": "string", "y": "int64"})


def arrow_file(frame, folder):
    feather.write_feather(pa.Table.from_pandas(frame, preserve_index=False), folder / "rows.feather")
    return sf.Feather(folder / "rows.feather")


def duckdb(frame, folder):
    frame.to_parquet(folder / "rows.parquet", index=False)
    relation = f"read_parquet('{folder / 'rows.parquet'}')"
    return sf.DuckDB(f"from {relation} order by a")


def joined(frame, folder):
    labels = sf.Table(frame[["id", "y"]].sample(frac=1, random_state=1))
    return sf.Join(labels, sf.Table(frame.drop(columns="y")), on="id")


MAKERS = {
    "pandas": lambda frame, _: sf.Table(frame),
    "polars": lambda frame, _: sf.Table(pl.from_pandas(frame)),
    "arrow": lambda frame, _: sf.Table(pa.Table.from_pandas(frame)),
    "shuffled": lambda frame, _: sf.Table(frame.sample(frac=1, random_state=2)),
    "float32 excepted": lambda frame, _: sf.Table(frame.astype({"b": "float32"})),
    "categories": lambda frame, _: sf.Table(frame.astype({"c": "category"})),
    "parquet": parquet,
    "parquet in folders": parts,
    "csv": csv,
    "feather": arrow_file,
    "duckdb": duckdb,
    "join": joined,
}


def seen(source: sf.Table):
    recipe = sf.Recipe.learn(source, columns=COLUMNS)
    recipe = sf.Recipe((*recipe.columns, sf.Cross(recipe.columns[2], recipe.columns[2])), origin="learned")
    hashed = sf.Recipe((*recipe.columns, sf.Hashed("c", 8)), origin="learned")
    mu = sf.MeanOperator(hashed, "y", bound=sf.Bound(2, sf.Radius.public(0.9)))
    settled = mu.resolve(source, UNIT)
    state = sf.fold(settled, source, workers=2)
    return recipe, settled.radius, state.totals.tolist(), settled.witness(state), state.reach


@pytest.mark.parametrize("kind", MAKERS)
def test_every_source_gives_the_same_bytes(kind, frame, tmp_path):
    assert seen(MAKERS[kind](frame, tmp_path)) == seen(sf.Table(frame))
