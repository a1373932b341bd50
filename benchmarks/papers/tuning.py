"""Is a setting chosen from the release as good as one chosen on clean labels? Accuracy, as JSON.

For each data set, epsilon and stratified 70/30 split: rows shortened at the 95 % quantile of their norms, the
mean operator of the training labels with L2-Laplace noise, a model for every alpha of a grid. The rule of
`suffice.tune` keeps one, from the release alone. The rival keeps the one of most accuracy on one half of the
held-out rows with their clean labels, and both are scored on the other half; then the halves change places.
`loss` is the rival's accuracy minus that of the rule, by split; `bound` is its one-sided 95 % upper bound
(Student's t over splits).

    python -m benchmarks.papers.tuning [--data DIR] [--sets wdbc ...] [--splits 20] [--smoke] [--out FILE]

DIR holds one folder per set with one Parquet file in it; `wdbc` and `synthetic` need no files.
Noise here comes from NumPy: it measures accuracy and protects nobody.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
from scipy.stats import t as student
from sklearn.model_selection import train_test_split

import suffice as sf
from benchmarks.papers.strength import read
from suffice.core.moments import Isotropic
from suffice.learners.evidence import from_moments
from suffice.learners.solution import Penalty, solve
from suffice.learners.tuning import judge
from suffice.maths.linear_odd import LOSSES

SETS = ["wdbc", "synthetic", "magic", "bank_marketing", "adult"]
EPSILONS = [0.1, 0.5, 1.0, 5.0]
ALPHAS: list[float | str] = ["noise", *np.geomspace(1.0, 1e-6, 7).tolist()]
SCORINGS = ("risk", "accuracy")
LOSS = LOSSES["logistic"]


def released(rows: np.ndarray, y: np.ndarray, epsilon: float, radius: float, seed: list[int]) -> sf.Moments:
    """The mean operator of these labels and L2-Laplace noise."""
    m, d = rows.shape
    rng = np.random.default_rng([*seed, int(1000 * epsilon), 77])
    direction = rng.standard_normal(d)
    scale = 2.0 * radius / (m * epsilon)
    noise = direction / np.linalg.norm(direction) * rng.gamma(d) * scale
    law = Isotropic((d + 1) * scale**2, d)
    return sf.Moments(rows.T @ y / m + noise, law, m, tuple(f"x{at}" for at in range(d)), (-1, 1))


def one(X: np.ndarray, y: np.ndarray, seed: int, epsilon: float, draws: int) -> dict[str, float]:
    """Accuracies on one split, averaged over draws of noise: of the rival, and of either scoring."""
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed)
    halves = train_test_split(np.arange(len(test)), test_size=0.5, stratify=y[test], random_state=seed)
    norms = np.linalg.norm(X[train], axis=1)
    radius = float(np.quantile(norms, 0.95))
    rows = X[train] * np.minimum(1.0, radius / np.maximum(norms, 1e-300))[:, None]
    found = []
    for draw in range(draws):
        evidence = from_moments(rows, released(rows, y[train], epsilon, radius, [seed, draw]))
        thetas = [solve(evidence, LOSS, Penalty(alpha, 0.0, 1e-8, 200)).theta for alpha in ALPHAS]
        hits = np.array([(X[test] @ theta > 0) == (y[test] > 0) for theta in thetas])
        best = [hits[:, half].mean(axis=1).argmax() for half in halves]
        rival = sum(hits[k, half].sum() for k, half in zip(best, halves[::-1], strict=True)) / len(test)
        fits = [(theta, LOSS) for theta in thetas]
        kept = {scoring: judge(evidence, fits, scoring)[0] for scoring in SCORINGS} | {"automatic": 0}
        found.append({"rival": rival} | {name: hits[k].mean() for name, k in kept.items()})
    return {name: float(np.mean([each[name] for each in found])) for name in found[0]}


def bound(losses: np.ndarray) -> float:
    """The one-sided 95 % upper bound of the mean."""
    if len(losses) < 2:
        return float("nan")
    return float(
        losses.mean() + student.ppf(0.95, len(losses) - 1) * losses.std(ddof=1) / np.sqrt(len(losses))
    )


def cell(
    name: str, X: np.ndarray, y: np.ndarray, epsilon: float, splits: int, draws: int
) -> dict[str, object]:
    """The figures of one data set and epsilon."""
    begun = time.perf_counter()
    runs = [one(X, y, seed, epsilon, draws) for seed in range(splits)]
    by = {name: np.array([run[name] for run in runs]) for name in runs[0]}
    row: dict[str, object] = {"set": name, "epsilon": epsilon, "splits": splits, "draws": draws}
    row |= {f"accuracy_{name}": float(values.mean()) for name, values in by.items()}
    for scoring in (*SCORINGS, "automatic"):
        row[f"loss_{scoring}"] = float((by["rival"] - by[scoring]).mean())
        row[f"bound_{scoring}"] = bound(by["rival"] - by[scoring])
    return row | {"seconds": time.perf_counter() - begun}


def main(arguments: list[str] | None = None) -> list[dict[str, object]]:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--draws", type=int, default=1, help="of noise for each split, averaged over")
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--smoke", action="store_true", help="one small set, two splits, one epsilon")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args(arguments)
    if asked.smoke:
        asked.sets, asked.splits, asked.epsilons = ["wdbc"], 2, [1.0]
    cells = []
    for name in asked.sets:
        X, y = read(name, asked.data)
        for epsilon in asked.epsilons:
            cells.append(cell(name, X, y, epsilon, asked.splits, asked.draws))
            sys.stderr.write(json.dumps(cells[-1]) + "\n")
            if asked.out:
                asked.out.write_text(json.dumps(cells, indent=1) + "\n")
    sys.stdout.write(json.dumps(cells, indent=1) + "\n")
    return cells


if __name__ == "__main__":
    main()
