"""A folder with both sides' files, and a way to run one command in it."""

from __future__ import annotations

import contextlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import suffice as sf
from suffice.cli import app

ROWS = 240
LABEL = ["--unit", "label", "--label", "bought", "--classes", "no,yes"]
CHECK = ["check", "people.parquet", *LABEL, "-o", "spec.toml", "--quiet"]
BUDGET = ["--unit", "label:bought", "--budget", "epsilon=20"]
CREATE = ["ledger", "create", "owner.db", "--dataset", "people", *BUDGET]
RELEASE = ["release", "spec.toml", "--ledger", "owner.db", "-o", "bought.suffice"]


@dataclass(frozen=True)
class Run:
    """What a command ended with and what it said."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


def run(*words: str) -> Run:
    """Run a command in this process."""
    result = CliRunner().invoke(app, list(words), catch_exceptions=False, prog_name="suffice")
    return Run(result.exit_code, result.stdout, result.stderr)


def done(*words: str) -> Run:
    """Run a command that must succeed."""
    ended = run(*words)
    assert ended.code == 0, f"{words}: {ended.err}{ended.out}"
    return ended


def people(rows: int = ROWS, seed: int = 5) -> pa.Table:
    draw = np.random.default_rng(seed)
    age, visits = draw.normal(41, 12, rows).round(1), draw.poisson(4, rows)
    region = draw.choice(["north", "south", "east"], rows)
    bought = draw.random(rows) < 1 / (1 + np.exp(-0.1 * (age - 41) - 0.5 * (visits - 4)))
    income = pa.array([None if i % 40 == 7 else float(i % 13) for i in range(rows)])
    return pa.table(
        {
            "id": np.arange(rows),
            "age": age,
            "visits": visits,
            "region": pa.array(list(region)),
            "income": income,
            "bought": pa.array(["yes" if one else "no" for one in bought]),
        }
    )


def write(folder: Path) -> None:
    """Write people.parquet and .csv with the label, rows.* the same without it, new.tsv with others."""
    table = people()
    bare = table.drop_columns(["bought"]).take(np.random.default_rng(1).permutation(ROWS))
    pq.write_table(table, folder / "people.parquet")
    pc.write_csv(table, folder / "people.csv")
    pq.write_table(bare, folder / "rows.parquet")
    pc.write_csv(bare, folder / "rows.csv")
    pf.write_feather(bare, str(folder / "rows.feather"))
    new = people(30, seed=9).drop_columns(["bought"])
    pc.write_csv(new, folder / "new.tsv", pc.WriteOptions(delimiter="\t"))


@pytest.fixture(scope="session")
def stages(tmp_path_factory):
    """Folders made once: with files, then with a ledger and a spec, then with a sealed release too."""
    home = tmp_path_factory.mktemp("stages")
    steps = {
        "folder": [],
        "asked": [CREATE, CHECK],
        "released": [["keys", "new", "owner"], [*RELEASE, "--seal", "owner.key", "--epsilon", "8"]],
    }
    before = None
    for name, commands in steps.items():
        here = home / name
        if before is None:
            here.mkdir()
            write(here)
        else:
            shutil.copytree(before, here)
        with contextlib.chdir(here):
            for words in commands:
                done(*words)
        before = here
    return home


def standing_in(stages, name, tmp_path, monkeypatch):
    """A copy of a folder, of which the test may do what it likes."""
    here = tmp_path / "here"
    shutil.copytree(stages / name, here)
    monkeypatch.chdir(here)
    return here


@pytest.fixture
def folder(stages, tmp_path, monkeypatch):
    """The files of both sides."""
    return standing_in(stages, "folder", tmp_path, monkeypatch)


@pytest.fixture
def asked(stages, tmp_path, monkeypatch):
    """The files, a ledger and a spec."""
    return standing_in(stages, "asked", tmp_path, monkeypatch)


@pytest.fixture
def released(stages, tmp_path, monkeypatch):
    """The files, a ledger, a spec and a sealed release."""
    return standing_in(stages, "released", tmp_path, monkeypatch)


@pytest.fixture
def opened(monkeypatch):
    """The sets of columns that anyone opens of a Parquet file from here on."""
    seen: list[tuple[str, ...]] = []
    real = sf.Parquet

    class Spy:
        def __init__(self, path):
            self.inner = real(path)

        def __getattr__(self, name):
            return getattr(self.inner, name)

        def fragments(self, columns):
            seen.append(tuple(columns))
            return self.inner.fragments(columns)

    monkeypatch.setattr(sf, "Parquet", Spy)
    return seen
