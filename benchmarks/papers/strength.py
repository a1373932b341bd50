"""How near is the automatic strength to the best single one? Log-loss on held-out rows, as JSON.

For each data set and epsilon: stratified 70/30 splits, rows clipped at the 95 % quantile of their
norms, the mean operator of the training labels released with L2-Laplace noise, projected, and fitted
(a) with the alpha that `suffice.learners.strength.choose` takes from the release and the public rows,
and (b) with each alpha of a grid of 30. `regret` is mean log-loss of (a) over the least mean log-loss of
(b), minus one; (b) may look at the test labels, (a) looks at no label. `light_regret` is the same for
(c) the lightly penalised fit to the posterior mean operator, which `choose` returns too.

    python benchmarks/papers/strength.py --data DIR [--sets breast magic ...] [--splits 20] [--out FILE]

DIR holds one folder per set with one Parquet file in it; `wdbc` and `synthetic` need no files.
Noise here comes from NumPy: it measures accuracy and protects nobody.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.model_selection import train_test_split

from suffice.core.moments import Isotropic
from suffice.learners.strength import choose
from suffice.maths.linear_odd import LOSSES
from suffice.maths.minimise import minimise
from suffice.maths.zonotope import Zonotope, project

LABELS = {
    "breast_wisconsin": "Class",
    "adult": "income",
    "magic": "Class",
    "bank_marketing": "deposit",
    # sets on which the constants of the rule were looked at, beside simulations
    "german_credit": "risk",
    "online_shoppers": "Revenue",
    "mushroom": "class",
    "ionosphere": "Class",
    "sonar": "Class",
    "banknote": "class",
    "transfusion": None,
    "haberman": None,
}
CELLS = ["breast_wisconsin", "adult", "magic", "bank_marketing", "synthetic", "wdbc"]
EPSILONS = [0.1, 0.5, 1.0, 5.0]
LOSS = LOSSES["logistic"]


def read(name: str, folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    if name == "synthetic":
        X, y = make_classification(20_000, 20, n_informative=10, n_redundant=5, flip_y=0.02, random_state=7)
        return encode([X[:, j] for j in range(20)]), 2.0 * y - 1.0
    if name == "wdbc":
        X, y = load_breast_cancer(return_X_y=True)
        return encode([X[:, j] for j in range(X.shape[1])]), 2.0 * y - 1.0
    if folder is None:
        raise SystemExit(f"{name} needs --data DIR")
    table = pq.read_table(next((folder / name).glob("*.parquet")))
    label = LABELS[name] or table.column_names[-1]
    values = np.array([str(v) for v in table[label].to_pylist()])
    kinds = sorted(set(values))
    columns = [table[c].to_pylist() for c in table.column_names if c != label and c.lower() != "id"]
    return encode(columns), np.where(values == kinds[1], 1.0, -1.0)


def encode(columns: list) -> np.ndarray:
    """Numbers standardised, an indicator where missing, categories one-hot, intercept; all over root d."""
    parts = []
    for column in columns:
        try:
            numbers = np.array([np.nan if v is None else float(v) for v in column])
        except ValueError:
            words = np.array([str(v) for v in column])
            parts += [(words == level).astype(float) for level in sorted(set(words))]
            continue
        absent = np.isnan(numbers)
        if absent.any():
            parts.append(absent.astype(float))
        centre, scale = np.nanmean(numbers), np.nanstd(numbers) or 1.0
        parts.append(np.where(absent, 0.0, (numbers - centre) / scale))
    X = np.column_stack([*parts, np.ones(len(parts[0]))])
    return X / np.sqrt(X.shape[1])


def logloss(margins: np.ndarray, y: np.ndarray) -> float:
    return float(np.logaddexp(0.0, -y * margins).mean())


def one(X: np.ndarray, y: np.ndarray, seed: int, epsilon: float, grid: np.ndarray) -> dict:
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed)
    norms = np.linalg.norm(X[train], axis=1)
    radius = float(np.quantile(norms, 0.95))
    rows = X[train] * np.minimum(1.0, radius / np.maximum(norms, 1e-300))[:, None]
    m, d = rows.shape
    rng = np.random.default_rng([seed, int(1000 * epsilon), 77])
    direction = rng.standard_normal(d)
    scale = 2.0 * radius / (m * epsilon)
    mean = rows.T @ y[train] / m + direction / np.linalg.norm(direction) * rng.gamma(d) * scale
    begun = time.perf_counter()
    found = project(mean, Zonotope(rows), radius=radius)
    middle = time.perf_counter()
    strength = choose(rows, mean, Isotropic((d + 1) * scale**2, d), LOSS, count=m)
    ended = time.perf_counter()
    theta, losses = np.zeros(d), []
    for alpha in grid[::-1]:
        theta = minimise(LOSS, rows, found.point, alpha=alpha, start=theta, tolerance=1e-7).theta
        losses.append(logloss(X[test] @ theta, y[test]))
    theta = minimise(LOSS, rows, found.point, alpha=strength.alpha).theta
    denoised = project(strength.posterior, Zonotope(rows), radius=radius).point
    light = minimise(LOSS, rows, denoised, alpha=strength.light).theta
    return {
        "light_logloss": logloss(X[test] @ light, y[test]),
        "light_accuracy": float(((X[test] @ light > 0) == (y[test] > 0)).mean()),
        "alpha": strength.alpha,
        "logloss": logloss(X[test] @ theta, y[test]),
        "accuracy": float(((X[test] @ theta > 0) == (y[test] > 0)).mean()),
        "grid": losses[::-1],
        "passes": found.passes,
        "inside": found.inside,
        "seconds_projection": middle - begun,
        "seconds_strength": ended - middle,
    }


def cell(name: str, X: np.ndarray, y: np.ndarray, epsilon: float, splits: int, grid: np.ndarray) -> dict:
    runs = [one(X, y, seed, epsilon, grid) for seed in range(splits)]
    oracle = np.mean([run["grid"] for run in runs], axis=0)
    best = int(np.argmin(oracle))
    accuracy = [run["accuracy"] for run in runs]
    return {
        "set": name,
        "epsilon": epsilon,
        "splits": splits,
        "regret": float(np.mean([run["logloss"] for run in runs]) / oracle[best] - 1.0),
        "logloss": float(np.mean([run["logloss"] for run in runs])),
        "light_regret": float(np.mean([run["light_logloss"] for run in runs]) / oracle[best] - 1.0),
        "light_accuracy": float(np.mean([run["light_accuracy"] for run in runs])),
        "light_accuracy_error": _error([run["light_accuracy"] for run in runs]),
        "best_logloss": float(oracle[best]),
        "alpha": float(np.exp(np.mean([np.log(run["alpha"]) for run in runs]))),
        "best_alpha": float(grid[best]),
        "accuracy": float(np.mean(accuracy)),
        "accuracy_error": _error(accuracy),
        "inside": float(np.mean([run["inside"] for run in runs])),
        "passes": float(np.mean([run["passes"] for run in runs])),
        "seconds_projection": float(np.mean([run["seconds_projection"] for run in runs])),
        "seconds_strength": float(np.mean([run["seconds_strength"] for run in runs])),
    }


def _error(values: list[float]) -> float | None:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def main(arguments: list[str] | None = None) -> list[dict]:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", nargs="+", default=CELLS)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--grid", type=int, default=30)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--smoke", action="store_true", help="one split of one small set at one epsilon")
    asked = parser.parse_args(arguments)
    if asked.smoke:
        asked.sets, asked.splits, asked.epsilons, asked.grid = ["wdbc"], 1, [1.0], 5
    grid, cells = np.geomspace(1e-8, 10.0, asked.grid), []
    for name in asked.sets:
        X, y = read(name, asked.data)
        for epsilon in asked.epsilons:
            cells.append(cell(name, X, y, epsilon, asked.splits, grid))
            row = cells[-1]
            print(
                f"{name:17s} eps {epsilon:<4g} regret {row['regret']:+.3f}  log-loss {row['logloss']:.4f} "
                f"(best {row['best_logloss']:.4f})  accuracy {row['accuracy']:.3f}  "
                f"alpha {row['alpha']:.1e} (best {row['best_alpha']:.1e})  "
                f"light fit to the posterior mean: {row['light_regret']:+.3f}, {row['light_accuracy']:.3f}  "
                f"{row['seconds_projection'] + row['seconds_strength']:.2f} s",
                flush=True,
            )
    if asked.out:
        asked.out.write_text(json.dumps(cells, indent=1) + "\n")
    return cells


if __name__ == "__main__":
    main()
