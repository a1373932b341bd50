"""How close the compiled kernels come to the machine, against what a user would write or pick instead.

Every contender of a section runs in turn, round after round, and the best of the rounds counts: on a
busy machine only ratios of one run mean anything, and those of `--clock cpu`, the processor time of all
threads, most. Folds of Parquet are what an owner does before the noise, with everything around the
kernels. It prints whether the kernels are compiled and fails where they are not. `--smoke` runs
everything on few rows and holds no ratio to its target.

    python benchmarks/speed/kernels.py --rows 11000000 --out kernels.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import suffice as sf
from suffice.core.units import LabelOf
from suffice.maths import kernels
from suffice.maths.kernels import STRIPE, Column, Number, Plan
from suffice.maths.zonotope import project

WIDTH, WORKERS, BITS = 28, 2, 20
SIGN = "y"


@dataclass(frozen=True)
class Ratio:
    """One sentence of the report: `ours` over `theirs` in seconds, and the most it should be."""

    what: str
    ours: float
    theirs: float
    most: float

    @property
    def value(self) -> float:
        return self.ours / self.theirs

    def line(self) -> str:
        verdict = "ok  " if self.value <= self.most else "MISS"
        times = f"{self.ours * 1e3:.1f} ms / {self.theirs * 1e3:.1f} ms"
        return f"{verdict} {self.what}: {self.value:.3f} (at most {self.most:.3g}); {times}"


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
clock = CLOCKS["wall"]


def race(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The best time of each, one round after the other."""
    best = dict.fromkeys(contenders, np.inf)
    for _ in range(rounds):
        for name, run in contenders.items():
            start = clock()
            run()
            best[name] = min(best[name], clock() - start)
    return best


def in_halves(pool: ThreadPoolExecutor, rows: int, run: Callable[[int, int], object]) -> list[object]:
    cuts = [rows * k // WORKERS // STRIPE * STRIPE for k in range(WORKERS)] + [rows]
    return list(pool.map(lambda k: run(cuts[k], cuts[k + 1]), range(WORKERS)))


def plan_of(width: int) -> Plan:
    numbers = tuple(Number(j) for j in range(width))
    return Plan(numbers, width + 1, 2.0**BITS / np.sqrt(width + 1), intercept=width)


# ---- folds ----------------------------------------------------------------------------------------


def parquet(path: Path, pool: ThreadPoolExecutor, rounds: int) -> dict[str, float]:
    import duckdb

    names = [f"x{j}" for j in range(WIDTH)]
    file, source = pq.ParquetFile(path), sf.Parquet(path)
    per_thread = [pq.ParquetFile(path) for _ in range(WORKERS)]

    def groups() -> list[object]:
        def work(k: int) -> None:
            for group in range(k, file.num_row_groups, WORKERS):
                per_thread[k].read_row_group(group, columns=[*names, SIGN], use_threads=False)

        return list(pool.map(work, range(WORKERS)))

    def folded(radius: float | sf.Radius) -> object:
        statistic = sf.MeanOperator(names, SIGN, bound=sf.Bound(2, radius), classes=(-1, 1))
        settled = statistic.resolve(source, LabelOf(SIGN))
        return settled.finalise(sf.fold(settled, source, workers=WORKERS))

    products = [(pl.col(name) * pl.col(SIGN)).sum() for name in names]
    query = f"SELECT {', '.join(f'sum({name} * {SIGN})' for name in names)} FROM '{path}'"  # noqa: S608
    duck = duckdb.connect()
    duck.execute(f"SET threads = {WORKERS}")
    return race(
        {
            "pyarrow decode": lambda: pq.read_table(path, use_threads=True),
            "pyarrow decode, row groups": groups,
            "polars": lambda: pl.scan_parquet(path).select(products).collect(),
            "duckdb": lambda: duck.execute(query).fetchall(),
            "fold, given radius": lambda: folded(1.2),
            "fold, public radius": lambda: folded(sf.Radius.public(0.95)),
        },
        rounds,
    )


def memory(X: np.ndarray, y: np.ndarray, pool: ThreadPoolExecutor, rounds: int) -> dict[str, float]:
    plan, floats, columns = plan_of(WIDTH), y.astype(np.float32), np.asfortranarray(X)
    radius = int(2**BITS * 1.2)

    def fold(matrix: np.ndarray, witness: bool) -> object:
        def part(start: int, stop: int) -> object:
            taken = [Column(matrix[start:stop, j]) for j in range(WIDTH)]
            return kernels.mean_fold(plan, taken, y[start:stop], radius=radius, witness=witness)

        return in_halves(pool, len(y), part)

    return race(
        {
            "y @ X": lambda: floats @ X,
            "y @ X, columns": lambda: floats @ columns,
            "fold of columns": lambda: fold(columns, witness=True),
            "fold of columns, no witness": lambda: fold(columns, witness=False),
            "fold of rows": lambda: fold(X, witness=True),
        },
        rounds,
    )


# ---- passes over rows -------------------------------------------------------------------------------


def even(X: np.ndarray, y: np.ndarray, pool: ThreadPoolExecutor, rounds: int) -> dict[str, float]:
    from sklearn._loss import HalfBinomialLoss
    from sklearn.linear_model._linear_loss import LinearModelLoss

    theta = np.random.default_rng(1).normal(size=WIDTH) / np.sqrt(WIDTH)
    theirs, target, start = (
        LinearModelLoss(HalfBinomialLoss(), fit_intercept=False),
        y > 0,
        theta.astype(X.dtype),
    )
    target = target.astype(X.dtype)

    def ours(want_hessian: bool) -> object:
        return in_halves(
            pool,
            len(X),
            lambda a, b: kernels.even_pass("logistic", X[a:b], theta, want_hessian=want_hessian),
        )

    return race(
        {
            "scikit-learn": lambda: theirs.loss_gradient(start, X, target, n_threads=WORKERS),
            "scikit-learn, one thread": lambda: theirs.loss_gradient(start, X, target, n_threads=1),
            "numpy": lambda: np.tanh(X @ start / 2) @ X,
            "even pass": lambda: ours(want_hessian=False),
            "even pass, Hessian": lambda: ours(want_hessian=True),
        },
        rounds,
    )


def zonotope(X: np.ndarray, y: np.ndarray, pool: ThreadPoolExecutor, rounds: int) -> dict[str, float]:
    rng = np.random.default_rng(2)
    rows = len(X)
    target = y.astype(X.dtype) @ X / rows + rng.normal(size=WIDTH) * 2.0
    target = target.astype(np.float64)

    def farthest(u: np.ndarray) -> np.ndarray:
        return (
            sum(corner for _, corner in in_halves(pool, rows, lambda a, b: kernels.sign_pass(X[a:b], u)))
            / rows
        )

    def frank_wolfe(passes: int = 200) -> np.ndarray:
        point = np.zeros(WIDTH)
        for k in range(passes):
            corner = np.sign(X @ (target - point).astype(X.dtype)) @ X / rows
            step = corner - point
            share = float(np.clip((target - point) @ step / (step @ step), 0.0, 1.0)) if k else 1.0
            point = point + share * step
        return point

    return race(
        {
            "numpy Frank-Wolfe, 200 passes": frank_wolfe,
            "projection": lambda: project(target, farthest, tolerance=1e-6),
            "sign pass": lambda: farthest(target),
        },
        rounds,
    )


def rados(X: np.ndarray, pool: ThreadPoolExecutor, rounds: int, count: int = 1000) -> dict[str, float]:
    edges = kernels.encode(plan_of(WIDTH), [Column(X[:, j]) for j in range(WIDTH)])
    floats, block, rng = edges.astype(np.float32), 4096, np.random.default_rng(3)

    def blas() -> np.ndarray:
        total = np.zeros((count, WIDTH + 1))
        for start in range(0, len(floats), block):
            part = floats[start : start + block]
            bits = np.unpackbits(np.frombuffer(rng.bytes(count * len(part) // 8), np.uint8))
            total += bits.reshape(count, len(part)).astype(np.float32) @ part
        return total

    def ours() -> object:
        key = bytes(32)
        return sum(
            in_halves(
                pool,
                len(edges),
                lambda a, b: kernels.rado_fold(edges[a:b], count, key=key, first=a // STRIPE),
            )
        )

    return race({"BLAS on blocks of bits": blas, "rado fold": ours}, rounds)


# ---- the report -------------------------------------------------------------------------------------


def judged(times: dict[str, dict[str, float]]) -> list[Ratio]:
    file, ram, pass_, zono, rado = (
        times[name] for name in ("parquet", "memory", "even", "zonotope", "rados")
    )
    decode = min(file["pyarrow decode"], file["pyarrow decode, row groups"])
    product = min(ram["y @ X"], ram["y @ X, columns"])
    learn = min(pass_["scikit-learn"], pass_["scikit-learn, one thread"])
    given = file["fold, given radius"]
    return [
        Ratio("fold of Parquet at a given radius / pyarrow's decode", given, decode, 1.3),
        Ratio(
            "fold of Parquet at a public radius / pyarrow's decode", file["fold, public radius"], decode, 2.3
        ),
        Ratio("fold of Parquet / polars summing the same products", given, file["polars"], 1.0),
        Ratio("fold of Parquet / DuckDB summing the same products", given, file["duckdb"], 1.0),
        Ratio("fold of columns in memory / y @ X", ram["fold of columns"], product, 2.0),
        Ratio("fold of rows in memory / y @ X", ram["fold of rows"], product, 2.0),
        Ratio("even part and gradient / scikit-learn's loss", pass_["even pass"], learn, 1 / 5),
        Ratio(
            "zonotope projection / NumPy Frank-Wolfe",
            zono["projection"],
            zono["numpy Frank-Wolfe, 200 passes"],
            1 / 30,
        ),
        Ratio(
            "1000 rado sums / BLAS, subsets included",
            rado["rado fold"],
            rado["BLAS on blocks of bits"],
            1 / 8,
        ),
    ]


def written(folder: Path, X: np.ndarray, y: np.ndarray, compression: str) -> Path:
    path = folder / f"{compression}.parquet"
    table = pa.table({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, SIGN: y})
    pq.write_table(table, path, compression=compression, use_dictionary=False, row_group_size=1 << 17)
    return path


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rows", type=int, default=1_000_000, help="rows of the folds; the passes take a million"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall")
    parser.add_argument("--compression", default="none", choices=["none", "zstd", "snappy"])
    parser.add_argument("--out", type=Path, help="where the figures go, as JSON")
    parser.add_argument("--smoke", action="store_true", help="few rows, one round, no target")
    options = parser.parse_args()
    global clock  # noqa: PLW0603  one clock for the whole run
    clock = CLOCKS[options.clock]
    print(f"COMPILED: {kernels.COMPILED}")
    if not kernels.COMPILED:
        print("The fallback runs here; figures of it would say nothing about the kernels.")
        return 1
    rows, rounds = (20_000, 1) if options.smoke else (options.rows, options.rounds)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, WIDTH), dtype=np.float32)
    y = np.where(X[:, 0] + rng.standard_normal(rows, dtype=np.float32) > 0, 1, -1).astype(np.int8)
    some = min(rows, 1_000_000)
    with ThreadPoolExecutor(WORKERS) as pool, tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), X, y, options.compression)
        times = {
            "parquet": parquet(path, pool, rounds),
            "memory": memory(X, y, pool, rounds),
            "even": even(X[:some], y[:some], pool, rounds),
            "zonotope": zonotope(X[:some], y[:some], pool, min(rounds, 3)),
            "rados": rados(X[:some], pool, min(rounds, 3)),
        }
    ratios = judged(times)
    for section, found in times.items():
        print(section, *(f"  {name}: {seconds * 1e3:.2f} ms" for name, seconds in found.items()), sep="\n")
    print(*(ratio.line() for ratio in ratios), sep="\n")
    if options.out:
        report = [asdict(ratio) | {"ratio": ratio.value} for ratio in ratios]
        told = {"compiled": True, "rows": rows, "rounds": rounds, "compression": options.compression}
        told |= {"clock": options.clock, "machine": platform.platform(), "processors": os.cpu_count()}
        options.out.write_text(json.dumps(told | {"seconds": times, "ratios": report}, indent=2) + "\n")
    return 0 if options.smoke or all(ratio.value <= ratio.most for ratio in ratios) else 1


if __name__ == "__main__":
    sys.exit(main())
