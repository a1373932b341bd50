"""A release of a stream needs the memory of some batches, however many rows come."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import suffice as sf

WIDTH, BATCH, FRAGMENT = 20, 1 << 15, 1 << 18
NAMES = [f"x{place}" for place in range(WIDTH)]
SCHEMA = pa.schema({name: pa.float64() for name in NAMES} | {"y": pa.bool_()})
WORKERS = 2

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads the high-water mark of Linux")


@dataclass(frozen=True)
class Made:
    """Rows that are made when they are read: uniform numbers, and whether the first is above a half."""

    id: str
    start: int
    stop: int
    columns: tuple[str, ...]

    def batches(self):
        draw = np.random.default_rng([28, self.start])
        for start in range(self.start, self.stop, BATCH):
            block = draw.random((WIDTH, min(BATCH, self.stop - start)))
            columns = {name: pa.array(block[place]) for place, name in enumerate(NAMES)}
            columns["y"] = pa.array(block[0] > 0.5)
            yield pa.record_batch({name: columns[name] for name in self.columns})


@dataclass(frozen=True)
class Stream:
    """A source that holds no row."""

    rows: int
    name: str = "stream"
    schema: pa.Schema = SCHEMA

    def fragments(self, columns):
        edges = range(0, self.rows, FRAGMENT)
        return [Made(f"from {at}", at, min(at + FRAGMENT, self.rows), tuple(columns)) for at in edges]


def held(source):
    """The wrong way: all rows in one table before the first is summed."""
    batches = [batch for piece in source.fragments(SCHEMA.names) for batch in piece.batches()]
    return sf.Table(pa.Table.from_batches(batches), name="stream")


def released(source, folder, budget=1.0):
    """One release of the mean operator of all columns."""
    path = Path(folder) / f"{time.monotonic_ns()}.db"
    ledger = sf.Ledger.create(path, dataset="x", unit=sf.LabelOf("y"), budget=sf.PureDP(budget))
    statistic = sf.MeanOperator(NAMES, "y", bound=sf.Bound(2, 3.0))
    return sf.Owner(source, ledger=ledger).release(statistic, sf.L2Laplace(epsilon=1.0), workers=WORKERS)


def high_water():
    """The most megabytes that this program had; the figure of `getrusage` begins with those of its parent."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def drained(piece):
    """Read a piece, and count its rows."""
    return sum(batch.num_rows for batch in piece.batches())


def tell(rows, way):
    """Release so many rows, and print by how much the program grew and how quick it was."""
    with tempfile.TemporaryDirectory() as folder:
        released(Stream(FRAGMENT), folder)  # what is loaded and set up once
        before, began = high_water(), time.perf_counter()
        source = Stream(rows)
        release = released(held(source) if way == "held" else source, folder)
        seconds, grown = time.perf_counter() - began, high_water() - before
        began = time.perf_counter()
        with ThreadPoolExecutor(WORKERS) as pool:
            made = 0 if way == "held" else sum(pool.map(drained, source.fragments(SCHEMA.names)))
        making = time.perf_counter() - began
    said = {
        "count": release.witness.count,
        "grown": grown,
        "seconds": seconds,
        "making": making,
        "made": made,
    }
    print(json.dumps(said))  # noqa: T201


def measured(rows, way="streamed"):
    """What `tell` says in a program of its own."""
    roots = [str(Path(sf.__file__).parents[1]), str(Path(__file__).parents[2])]
    command = f"from tests.laws.test_bounded_memory import tell; tell({rows}, {way!r})"
    run = subprocess.run(
        [sys.executable, "-c", command],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(roots)},
        check=False,
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    said = json.loads(run.stdout)
    assert said["count"] == rows
    return said


@linux
def test_a_release_of_a_million_streamed_rows_needs_the_memory_of_some_batches():
    """A million rows of 20 numbers are 153 MB."""
    assert measured(1_000_000)["grown"] < 60
    assert measured(1_000_000, "held")["grown"] > 120


@linux
@pytest.mark.laws
def test_a_release_of_fifty_million_streamed_rows_needs_the_memory_of_some_batches(gate):
    """They are 7,630 MB; the wrong way is shown with a tenth of them, which are 763."""
    said, wrong = measured(50_000_000), measured(5_000_000, "held")
    rates = [50 / said["seconds"], 50 / said["making"]]
    gate(
        "G28",
        "50M x 20 streamed: under 500 MB above the start",
        f"{said['grown']:.0f} MB; {rates[0]:.1f} Mrows/s by {WORKERS} threads, making the rows included "
        f"(making them alone: {rates[1]:.1f})",
        f"5M rows held in a table: {wrong['grown']:.0f} MB",
    )
    assert said["made"] == said["count"]
    assert said["grown"] < 500 < wrong["grown"]
