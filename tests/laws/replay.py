"""Replay: a command runs on a table and on its neighbour, the noise frozen, and all it leaves is compared.

What may differ is the values of the release, and nothing else: not a word on the screen, an exit code, a
ledger row, a length, a radius, a scale or a warning.
"""

from __future__ import annotations

import contextlib
import io
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from typer.main import get_command

import suffice as sf
from suffice.cli import app
from suffice.mechanisms import draw
from suffice.releases.release import load

LEVELS = ("north", "south", "east")
SPEC = """source = "rows.parquet"
[statistic]
kind = "MeanOperator"
label = "y"
classes = ["no", "yes"]
bound = {bound}
features = [
  {{ name = "a", kind = "Numeric", centre = 40.0, scale = 12.0 }},
  {{ name = "b", kind = "Numeric" }},
  {{ name = "r", kind = "Categorical", levels = ["north", "south", "east"] }},
]
[mechanism]
kind = "{mechanism}"
epsilon = 0.5
"""
UNITS = {
    "label": (sf.LabelOf("y"), "{ norm = 2, public_quantile = 0.9 }"),
    "replaced record": (sf.RecordOf("replace"), "{ norm = 2, radius = 1.0 }"),
    "added or removed record": (sf.RecordOf("add-remove"), "{ norm = 2, radius = 1.0 }"),
}
RELEASE = ("release", "spec.toml", "--ledger", "owner.db", "-o", "out.suffice")
PATHS = {
    "release": (RELEASE,),
    "as JSON": ((*RELEASE, "--json"), ("ledger", "show", "owner.db", "--json")),
    "asked twice": (RELEASE, (*RELEASE, "--json")),
    "dry run": (("release", "spec.toml", "--ledger", "owner.db", "--dry-run", "--json"),),
    "overspent": ((*RELEASE, "--epsilon", "50"),),
    "does not fit": ((*RELEASE, "--epsilon", "1e-11", "--json"),),
    "verified": (RELEASE, ("ledger", "verify", "owner.db"), ("ledger", "export", "owner.db")),
}


def rows(seed, size=40):
    """A table, the last row of which is far out."""
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "a": random.normal(40, 12, size).round(1),
            "b": random.poisson(3, size).astype(float),
            "r": pa.array(random.choice(LEVELS, size)),
            "y": pa.array(random.choice(["no", "yes"], size)),
        }
    )


def neighbour(table, name, random):
    """One protected change, as the unit says; extreme values are among those that a record may take."""
    row = int(random.integers(table.num_rows))
    if name == "label":
        column = table.column("y").to_pylist()
        column[row] = "no" if column[row] == "yes" else "yes"
        return table.set_column(3, "y", pa.array(column))
    kept = table.take(pa.array([at for at in range(table.num_rows) if at != row]))
    if name == "added or removed record":
        return kept
    wild = random.choice([40.0, 1e9, -0.0, 5e-324, -1e300])
    other = {"a": [wild], "b": [9.0], "r": [str(random.choice(LEVELS))], "y": ["yes"]}
    return pa.concat_tables([kept, pa.table(other, schema=table.schema)])


@dataclass(frozen=True)
class Trace:
    """All that a run leaves for others to see."""

    said: tuple[tuple[int, str, str], ...]
    ledger: str
    release: object
    size: int


COMMAND = get_command(app)


def run(words):
    """The exit code of a command in this process, and what it says."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            COMMAND.main(args=list(words), prog_name="suffice")
        except SystemExit as end:
            code = end.code or 0
    return code, out.getvalue(), err.getvalue()


class Bench:
    """A folder with a ledger and a spec for each unit and mechanism, copied for every run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = 0

    def prepared(self, name, mechanism):
        home = self.folder / f"{name} {mechanism}".replace(" ", "-")
        if not home.exists():
            home.mkdir(parents=True)
            unit, bound = UNITS[name]
            (home / "spec.toml").write_text(SPEC.format(bound=bound, mechanism=mechanism), "utf-8")
            sf.Ledger.create(home / "owner.db", dataset="rows", unit=unit, budget=sf.PureDP(3.0))
        return home

    def trace(self, table, name, mechanism, path):
        """Run a path of commands on a table, in a fresh copy, and gather what it leaves."""
        home = self.prepared(name, mechanism)
        here = self.folder / "here"
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(home, here)
        pq.write_table(table, here / "rows.parquet")
        with contextlib.chdir(here):
            said = tuple(run(words) for words in PATHS[path])
            out = Path("out.suffice")
            release = load(out) if out.exists() else None
            bare = None if release is None else replace(release, values=np.zeros_like(release.values))
            size = out.stat().st_size if out.exists() else 0
            return Trace(said, sf.Ledger.open("owner.db").export("json"), bare, size)


def frozen(law):
    """Noise that hides nothing and is always the same."""
    return [7] * (law.dimension * (getattr(law, "classes", 2) - 1))


def differences(bench, monkeypatch, pairs, seed, *, units=tuple(UNITS), paths=tuple(PATHS), per_table=5):
    """In how many pairs anything but the values differs, and the first difference in words.

    A table is traced once for every few of its neighbours.
    """
    random = np.random.default_rng(seed)
    monkeypatch.setattr(draw, "noise", frozen)
    kinds = [(name, path) for path in paths for name in units]
    bad, first, done = 0, "", 0
    while done < pairs:
        name, path = kinds[(done // per_table) % len(kinds)]
        mechanism = ("L2Laplace", "Laplace", "Cube")[random.integers(3)]
        table = rows(int(random.integers(1 << 30)))
        one = bench.trace(table, name, mechanism, path)
        for _ in range(min(per_table, pairs - done)):
            done += 1
            two = bench.trace(neighbour(table, name, random), name, mechanism, path)
            if one != two:
                bad += 1
                first = first or f"{name}, {path}: {one} and {two}"
    return bad, first
