"""What a release and a fit from it cost, as ratios in one run to what would be done without them.

- `fold` of N rows of 28 float32 columns from Parquet, radius given and public, against pyarrow only
  decoding the same columns with as many threads;
- `fold` of the same rows in memory against `y @ X`;
- `MeanOperatorClassifier().fit(X, release)`, projection and strength rule included, against scikit-learn's
  lbfgs on the labels themselves, ended where its objective is within 1e-6 of the least one;
- growth: seconds for a row at three sizes; and the peak memory of a fold at the largest and the smallest.

Contenders take turns and the best of the rounds counts: on a busy machine only ratios of one run mean
anything. With `--clock cpu`, the processor time of all threads, they can be trusted most: by the wall a
short contender finds a free moment where a long one finds none. It says whether the kernels are compiled
and fails where they are not.

    python benchmarks/speed/mean_operator.py [--rows 11000000] [--out FILE] [--profile]
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.linear_model import LogisticRegression

import suffice as sf
from suffice.core.units import LabelOf
from suffice.learners import MeanOperatorClassifier
from suffice.maths import kernels

WIDTH, GROUP, LABEL = 28, 1 << 17, "y"
NAMES = tuple(f"x{place}" for place in range(WIDTH))
EPSILON = 0.5
MEMORY = "--memory-of"


@dataclass(frozen=True)
class Ratio:
    """`ours` over `theirs`, and the most that it should be."""

    what: str
    ours: float
    theirs: float
    most: float

    @property
    def value(self) -> float:
        return self.ours / self.theirs

    def line(self) -> str:
        verdict = "ok  " if self.value <= self.most else "MISS"
        figures = f"{self.ours:.4g} / {self.theirs:.4g}"
        return f"{verdict} {self.what}: {self.value:.2f} (at most {self.most:g}); {figures}"


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def race(
    contenders: dict[str, Callable[[], object]], rounds: int, clock: Callable[[], float]
) -> dict[str, float]:
    """The best time of each, taking turns."""
    best = dict.fromkeys(contenders, np.inf)
    for _ in range(rounds):
        for name, run in contenders.items():
            start = clock()
            run()
            best[name] = min(best[name], clock() - start)
    return best


def blocks(rows: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows with a logistic label, a row group at a time; the same for every run."""
    weights = np.random.default_rng(1).standard_normal(WIDTH).astype(np.float32) / 2
    for number, start in enumerate(range(0, rows, GROUP)):
        rng = np.random.default_rng([2, number])
        X = rng.standard_normal((min(GROUP, rows - start), WIDTH), dtype=np.float32)
        yield X, (rng.random(len(X)) < 1 / (1 + np.exp(-X @ weights))).astype(np.int8)


def table(X: np.ndarray, y: np.ndarray) -> pa.Table:
    return pa.table(
        {name: np.ascontiguousarray(X[:, place]) for place, name in enumerate(NAMES)} | {LABEL: y}
    )


def stored(path: Path, rows: int) -> Path:
    writer = None
    for X, y in blocks(rows):
        piece = table(X, y)
        writer = writer or pq.ParquetWriter(path, piece.schema, compression="none", use_dictionary=False)
        writer.write_table(piece, row_group_size=GROUP)
    assert writer is not None  # noqa: S101
    writer.close()
    return path


def statistic(radius: float | None) -> sf.MeanOperator:
    """The mean operator of all columns; without a radius it is the 95 % quantile of the norms."""
    return sf.MeanOperator(
        NAMES, LABEL, bound=sf.Bound(2, sf.Radius.public(0.95) if radius is None else radius)
    )


def folded(source: Any, radius: float | None, workers: int) -> object:
    """What an owner does before the noise: settle what is public, then sum."""
    settled = statistic(radius).resolve(source, LabelOf(LABEL))
    return settled.finalise(sf.fold(settled, source, workers=workers))


def from_parquet(path: Path, rounds: int, workers: int, clock: Callable[[], float]) -> dict[str, float]:
    def decode() -> None:
        file = pq.ParquetFile(path)
        for _ in file.iter_batches(1 << 16, columns=[*NAMES, LABEL], use_threads=workers > 1):
            pass

    def table_decode() -> None:
        pq.read_table(path, columns=[*NAMES, LABEL], use_threads=workers > 1)

    return race(
        {
            "pyarrow decodes in batches": decode,
            "pyarrow decodes to a table": table_decode,
            "fold, radius given": lambda: folded(sf.Parquet(str(path)), 1.2, workers),
            "fold, radius public": lambda: folded(sf.Parquet(str(path)), None, workers),
        },
        rounds,
        clock,
    )


def from_memory(
    X: np.ndarray, y: np.ndarray, rounds: int, workers: int, clock: Callable[[], float]
) -> dict[str, float]:
    source, signs = sf.Table(table(X, y), name="memory"), (2 * y - 1).astype(np.float32)
    columns = np.asfortranarray(X)
    return race(
        {
            "y @ X, rows": lambda: signs @ X,
            "y @ X, columns": lambda: signs @ columns,
            "fold, radius given": lambda: folded(source, 1.2, workers),
            "fold, radius public": lambda: folded(source, None, workers),
        },
        rounds,
        clock,
    )


@dataclass(frozen=True)
class Task:
    """One problem for both learners: rows in public, and a release of what the labels add."""

    public: pa.Table
    matrix: np.ndarray
    labels: np.ndarray
    release: sf.Release

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, folder: Path) -> Task:
        whole = table(X, y)
        ledger = sf.Ledger.create(
            str(folder / f"{len(y)}.db"), dataset="speed", unit=sf.LabelOf(LABEL), budget=sf.PureDP(1.0)
        )
        owner = sf.Owner(sf.Table(whole, name="speed"), ledger=ledger)
        release = owner.release(statistic(None), sf.L2Laplace(epsilon=EPSILON))
        ones = np.ones((len(X), 1), np.float32)
        matrix = np.hstack([X, ones]) / np.float32(np.sqrt(WIDTH + 1))
        return cls(whole.drop([LABEL]), matrix, y, release)

    def ours(self) -> MeanOperatorClassifier:
        return MeanOperatorClassifier().fit(self.public, self.release)

    def theirs(self, alpha: float, tolerance: float) -> LogisticRegression:
        strength = 1.0 / (2.0 * alpha * len(self.labels))
        model = LogisticRegression(C=strength, fit_intercept=False, tol=tolerance, max_iter=500)
        return model.fit(self.matrix, self.labels)

    def objective(self, model: LogisticRegression, alpha: float) -> float:
        theta = model.coef_[0].astype(np.float64)
        signs = 1.0 - 2.0 * self.labels
        margins = signs * (self.matrix @ theta.astype(np.float32)).astype(np.float64)
        return float(np.logaddexp(0.0, margins).mean() + alpha * theta @ theta)

    def loosest(self, alpha: float) -> float:
        """The largest tolerance at which lbfgs comes within 1e-6 of its least objective."""
        least = self.objective(self.theirs(alpha, 1e-9), alpha)
        for tolerance in (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6):
            if self.objective(self.theirs(alpha, tolerance), alpha) <= least + 1e-6:
                return tolerance
        return 1e-7


def fits(task: Task, rounds: int, clock: Callable[[], float]) -> dict[str, float]:
    alpha = max(task.ours().alpha_, 1e-8)
    tolerance = task.loosest(alpha)
    return race(
        {"lbfgs on labels": lambda: task.theirs(alpha, tolerance), "fit from a release": task.ours},
        rounds,
        clock,
    )


def growth(
    X: np.ndarray, y: np.ndarray, rounds: int, folder: Path, clock: Callable[[], float]
) -> dict[str, dict[int, float]]:
    """Nanoseconds for a row at a quarter, a half and all of the rows."""
    found: dict[str, dict[int, float]] = {"fold": {}, "fit": {}}
    for size in (len(y) // 4, len(y) // 2, len(y)):
        with tempfile.TemporaryDirectory(dir=folder) as inner:
            source = sf.Table(table(X[:size], y[:size]), name="growth")
            task = Task.of(X[:size], y[:size], Path(inner))
            times = race(
                {"fold": lambda source=source: folded(source, None, 1), "fit": task.ours}, rounds, clock
            )
        for name, seconds in times.items():
            found[name][size] = 1e9 * seconds / size
    return found


def peak(path: Path, workers: int) -> float:
    """Megabytes that a fold in a fresh process needed at most, everything included."""
    run = subprocess.run(
        [sys.executable, __file__, MEMORY, str(path), str(workers)],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(run.stdout)


def tell_memory(path: str, workers: str) -> int:
    folded(sf.Parquet(path), None, int(workers))
    print(most_memory())
    return 0


def most_memory() -> float:
    """The most that this program had in memory; on Linux by the mark that begins anew with a program."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def profiled(what: str, run: Callable[[], object]) -> None:
    profile = cProfile.Profile()
    profile.runcall(run)
    print(f"---- {what}")
    pstats.Stats(profile).sort_stats("tottime").print_stats(14)


def ratios(file: dict, memory: dict, fit: dict, peaks: dict[int, float]) -> list[Ratio]:
    decode = min(file["pyarrow decodes in batches"], file["pyarrow decodes to a table"])
    product = min(memory["y @ X, rows"], memory["y @ X, columns"])
    small, large = min(peaks), max(peaks)
    return [
        Ratio("fold of Parquet, radius given / pyarrow decodes", file["fold, radius given"], decode, 2.5),
        Ratio("fold of Parquet, radius public / pyarrow decodes", file["fold, radius public"], decode, 5.0),
        Ratio("fold in memory, radius given / y @ X", memory["fold, radius given"], product, 6.0),
        Ratio("fit from a release / lbfgs on labels", fit["fit from a release"], fit["lbfgs on labels"], 1.5),
        Ratio(f"peak memory of a fold, {large} rows / 800 MB", peaks[large], 800.0, 1.0),
        Ratio(f"peak memory, {large} rows / {small} rows", peaks[large], peaks[small], 1.25),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rows", type=int, default=2_000_000, help="rows of the fold; the fit takes a million"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--clock", default="wall", choices=list(CLOCKS))
    parser.add_argument("--out", type=Path, help="where the figures go, as JSON")
    parser.add_argument("--profile", action="store_true", help="say where a fold and a fit spend their time")
    parser.add_argument(
        "--smoke", action="store_true", help="few rows, one round, no ratio held to its target"
    )
    parser.add_argument(MEMORY, nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.memory_of:
        return tell_memory(*asked.memory_of)
    print(f"COMPILED: {kernels.COMPILED}")
    if not kernels.COMPILED:
        print("The fallback runs here; figures of it would say nothing about the kernels.")
        return 1
    rows, rounds = (20_000, 1) if asked.smoke else (asked.rows, asked.rounds)
    some, workers, clock = min(rows, 1_000_000), asked.workers, CLOCKS[asked.clock]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, short = stored(folder / "all.parquet", rows), stored(folder / "some.parquet", rows // 4)
        file = from_parquet(path, rounds, workers, clock)
        peaks = {size: peak(kept, workers) for size, kept in ((rows, path), (rows // 4, short))}
        parts = list(blocks(some))
        X, y = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
        memory = from_memory(X, y, rounds, workers, clock)
        task = Task.of(X, y, folder)
        fit = fits(task, rounds, clock)
        grown = growth(X, y, min(rounds, 3), folder, clock)
        if asked.profile:
            profiled("fold of Parquet, radius public", lambda: folded(sf.Parquet(str(path)), None, 1))
            profiled("fit from a release", task.ours)
    found = ratios(file, memory, fit, peaks)
    for section, times in (("Parquet", file), ("memory", memory), ("fit", fit)):
        print(section, *(f"  {name}: {seconds:.3f} s" for name, seconds in times.items()), sep="\n")
    for name, sizes in grown.items():
        print(f"growth of the {name}: " + ", ".join(f"{ns:.0f} ns a row of {n}" for n, ns in sizes.items()))
    print(*(ratio.line() for ratio in found), sep="\n")
    if asked.out:
        told = {"rows": rows, "rounds": rounds, "workers": workers, "clock": asked.clock, "compiled": True}
        seconds = {
            "parquet": file,
            "memory": memory,
            "fit": fit,
            "nanoseconds_a_row": grown,
            "peak_mb": peaks,
        }
        report = [asdict(ratio) | {"ratio": ratio.value} for ratio in found]
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        asked.out.write_text(
            json.dumps(told | {"seconds": seconds, "ratios": report}, indent=2) + "\n", "utf-8"
        )
    return 0 if asked.smoke or all(ratio.value <= ratio.most for ratio in found) else 1


if __name__ == "__main__":
    sys.exit(main())
