"""How fast the kernels walk over rows, in bytes a second, beside a plain read of the same array.

One thread, three sizes, everything in turn, the best of the rounds by the processor's clock. Columns are
float32; what a kernel writes (norms, vectors) is not counted. It prints whether the kernels are compiled
and fails where they are not.

    python benchmarks/speed/roofline.py --out docs/figures/roofline.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from suffice.maths import kernels
from suffice.maths.kernels import Column, Number, Plan

WIDTH, BITS = 28, 20
SIZES = (125_000, 500_000, 2_000_000)
READ = "read of the same array"


def contenders(rows: int) -> dict[str, Callable[[], object]]:
    """Every kernel over so many rows, and the read: columns for the folds, rows for the passes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, WIDTH), dtype=np.float32)
    y = np.where(X[:, 0] > 0, 1, -1).astype(np.int8)
    numbers = tuple(Number(j) for j in range(WIDTH))
    plan = Plan(numbers, WIDTH + 1, 2.0**BITS / np.sqrt(WIDTH + 1), intercept=WIDTH)
    turned = np.asfortranarray(X)
    columns, words = [Column(turned[:, j]) for j in range(WIDTH)], X.ravel().view(np.uint64)
    norms = kernels.row_norms(plan, [Column(column.values[:10_000]) for column in columns])[0]
    radius = int(np.quantile(norms, 0.95))
    theta = rng.normal(size=WIDTH) / np.sqrt(WIDTH)
    return {
        READ: lambda: np.bitwise_or.reduce(words),
        "sign pass": lambda: kernels.sign_pass(X, theta),
        "even pass": lambda: kernels.even_pass("logistic", X, theta, want_hessian=False),
        "even pass with Hessian": lambda: kernels.even_pass("logistic", X, theta),
        "norms": lambda: kernels.row_norms(plan, columns),
        "mean fold with witness": lambda: kernels.mean_fold(plan, columns, y, radius=radius),
        "vectors with witness": lambda: kernels.vectors(plan, columns, radius=radius, scale=2.0**-BITS),
    }


def measured(rows: int, rounds: int) -> dict[str, float]:
    """Seconds of processor time for each."""
    runs = contenders(rows)
    best = dict.fromkeys(runs, np.inf)
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.thread_time()
            run()
            best[name] = min(best[name], time.thread_time() - start)
    return best


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=Path, help="where the figures go, as JSON")
    parser.add_argument("--smoke", action="store_true", help="few rows, one round")
    options = parser.parse_args()
    print(f"COMPILED: {kernels.COMPILED}")
    if not kernels.COMPILED:
        print("The fallback runs here; figures of it would say nothing about the kernels.")
        return 1
    sizes, rounds = ((1_000, 2_000, 4_000), 1) if options.smoke else (SIZES, options.rounds)
    seconds = {str(rows): measured(rows, rounds) for rows in sizes}
    for rows, found in seconds.items():
        size = int(rows) * WIDTH * 4
        print(f"{int(rows):,} rows of {WIDTH} float32")
        for name, took in found.items():
            share = found[READ] / took
            print(
                f"  {name:24s} {took * 1e9 / int(rows):7.2f} ns/row {size / took / 1e9:7.2f} GB/s {share:.2f}"
            )
    if options.out:
        told = {
            "machine": f"{os.cpu_count()} processors, {platform.system()} {platform.machine()}",
            "date": datetime.now(UTC).date().isoformat(),
            "width": WIDTH,
            "rounds": rounds,
            "seconds": seconds,
        }
        options.out.write_text(json.dumps(told, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
