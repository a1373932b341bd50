"""Do the intervals cover what they speak of, and are the probabilities calibrated? As JSON.

Coverage: features are drawn from a known law and standardised by it, labels from a logistic model,
L2-Laplace noise is added to their mean operator, and `MeanOperatorClassifier().fit(X, moments)` is asked
for `interval(level)`. What is to be covered is the minimiser of the population risk of shortened rows:
the model's own coefficients where nothing is shortened, else what a sample of millions with the true
probabilities in place of labels gives. Rows are drawn anew each time, and the radius is read off them.

Reported for each cell: the share of NaN intervals; coverage over all coordinates of the repeats that gave
an interval; over all repeats, an interval that could not be given counted as one that excludes nothing;
the worst and the best coordinate; the largest mean of the standardised errors, and their deviation.

Reliability: on fresh rows whose true probabilities are known, the mean gap between predicted and true
probability within ten bins, the slope of true on predicted log-odds, and log-loss beside its optimum.

    python benchmarks/papers/coverage.py [--repeats 2000] [--smoke] [--out FILE]

Noise here comes from NumPy: it measures and protects nobody.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import suffice as sf
from suffice.core.errors import UtilityWarning
from suffice.core.moments import Isotropic
from suffice.learners import MeanOperatorClassifier
from suffice.maths.linear_odd import LOSSES
from suffice.maths.minimise import minimise

LOSS = LOSSES["logistic"]
LEVEL = 0.95
POPULATION = 4_000_000


@dataclass(frozen=True)
class Cell:
    """Rows, columns beside the intercept, epsilon, tails and the quantile that rows are shortened at."""

    rows: int
    columns: int
    epsilon: float
    tails: str = "normal"
    quantile: float = 1.0
    signal: float = 1.5

    def draw(self, rng: np.random.Generator, rows: int | None = None) -> np.ndarray:
        """Vectors as a recipe makes them: standardised columns and the constant, over root d."""
        shape = (self.rows if rows is None else rows, self.columns)
        if self.tails == "t4":
            X = rng.standard_t(4, shape) / np.sqrt(2.0)
        else:
            X = rng.standard_normal(shape)
            X[:, 1:] = 0.8 * X[:, 1:] + 0.6 * X[:, :-1]  # neighbours are correlated
        return np.column_stack([X, np.ones(len(X))]) / np.sqrt(self.columns + 1)

    def truth(self) -> np.ndarray:
        """Coefficients of the vector: a logit of standard deviation `signal`, and an intercept."""
        slopes = np.append(np.resize([1.0, -0.6, 0.3, 0.0, 0.5], self.columns), 0.0)
        slopes *= self.signal / np.std(self.draw(np.random.default_rng(1), 100_000) @ slopes)
        slopes[-1] = -0.4 * np.sqrt(self.columns + 1)
        return slopes

    def estimand(self) -> np.ndarray:
        """The minimiser of the population risk of shortened rows."""
        if self.quantile == 1.0:
            return self.truth()
        rng = np.random.default_rng(12345)
        rows = self.draw(rng, POPULATION)
        label = np.tanh(rows @ self.truth() / 2)
        rows = shortened(rows, self.quantile)[0]
        return minimise(LOSS, rows, label @ rows / len(rows)).theta


CELLS = [
    Cell(2_000, 5, 1.0),
    Cell(20_000, 20, 0.5),
    Cell(100_000, 5, 1.0, "t4", 0.95),
]
SMALL = [Cell(1_000, 3, 2.0), Cell(4_000, 3, 2.0, "t4", 0.95)]


def shortened(rows: np.ndarray, quantile: float) -> tuple[np.ndarray, float]:
    """The rows shortened to a quantile of their norms, and the radius."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    radius = float(np.quantile(norms, quantile))
    return rows * np.minimum(1.0, radius / norms)[:, None], radius


def released(
    rows: np.ndarray, chance: np.ndarray, radius: float, epsilon: float, rng: np.random.Generator
) -> sf.Moments:
    """The mean operator of labels drawn with these probabilities, and L2-Laplace noise."""
    (m, d), signs = rows.shape, np.where(rng.random(len(rows)) < chance, 1.0, -1.0)
    direction = rng.standard_normal(d)
    scale = 2.0 * radius / (m * epsilon)
    noise = direction / np.linalg.norm(direction) * rng.gamma(d) * scale
    names = tuple(f"x{at}" for at in range(d))
    law = Isotropic((d + 1) * scale**2, d)
    return sf.Moments(signs @ rows / m + noise, law, m, names, (0, 1))


def sigmoid(margins: np.ndarray) -> np.ndarray:
    """The probability of a margin."""
    return 1.0 / (1.0 + np.exp(-margins))


def once(
    cell: Cell, truth: np.ndarray, target: np.ndarray, seed: int, alpha: float | str
) -> tuple[np.ndarray, bool, np.ndarray]:
    """Which coordinates one repeat covers, whether it gave an interval, and the standardised errors."""
    rng = np.random.default_rng([seed, cell.rows, cell.columns])
    rows = cell.draw(rng)
    chance = sigmoid(rows @ truth)
    rows, radius = shortened(rows, cell.quantile)
    moments = released(rows, chance, radius, cell.epsilon, rng)
    model = MeanOperatorClassifier(alpha=alpha).fit(rows, moments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UtilityWarning)
        found = model.interval(LEVEL)
    width = len(target)
    low, high, middle, error = (np.asarray(found[c])[:width] for c in ("low", "high", "estimate", "error"))
    return (low <= target) & (target <= high), not np.isnan(low).any(), (middle - target) / error


def coverage(cell: Cell, repeats: int, alpha: float | str = "noise") -> dict[str, object]:
    """The figures of one cell."""
    begun, truth, target = time.perf_counter(), cell.truth(), cell.estimand()
    runs = [once(cell, truth, target, seed, alpha) for seed in range(repeats)]
    given = np.array([was for _, was, _ in runs])
    hits = np.array([hit for hit, _, _ in runs])
    scores = np.array([score for _, was, score in runs if was])
    each = hits[given].mean(axis=0) if given.any() else np.full(len(target), np.nan)
    return {
        "rows": cell.rows,
        "columns": cell.columns,
        "epsilon": cell.epsilon,
        "tails": cell.tails,
        "quantile": cell.quantile,
        "repeats": repeats,
        "nan": float(1.0 - given.mean()),
        "given": float(each.mean()),
        "given_error": float(np.std(hits[given].mean(axis=1)) / np.sqrt(max(given.sum(), 1))),
        "all": float((hits.mean(axis=1) * given + ~given).mean()),
        "worst_coordinate": float(each.min()),
        "best_coordinate": float(each.max()),
        "bias": float(np.abs(scores.mean(axis=0)).max()) if len(scores) else None,
        "deviation": float(scores.std(axis=0).mean()) if len(scores) else None,
        "seconds": time.perf_counter() - begun,
    }


def reliability(cell: Cell, repeats: int) -> dict[str, object]:
    """How near predicted probabilities are to the true ones on fresh rows."""
    fresh, truth = cell.draw(np.random.default_rng(999), 20_000), cell.truth()
    true = sigmoid(fresh @ truth)
    gaps, slopes, losses = [], [], []
    for seed in range(repeats):
        rng = np.random.default_rng([seed, cell.rows, 7])
        rows = cell.draw(rng)
        chance = sigmoid(rows @ truth)
        rows, radius = shortened(rows, cell.quantile)
        model = MeanOperatorClassifier().fit(rows, released(rows, chance, radius, cell.epsilon, rng))
        guess = model.predict_proba(fresh)[:, 1]
        place = np.minimum((10 * guess).astype(int), 9)
        off = np.bincount(place, guess - true, minlength=10)
        gaps.append(float(np.abs(off).sum() / len(fresh)))
        logit = model.decision_function(fresh)
        slopes.append(float(np.polyfit(logit, fresh @ truth, 1)[0]))
        near = np.clip(guess, 1e-12, 1 - 1e-12)
        losses.append(float(-(true * np.log(near) + (1 - true) * np.log(1 - near)).mean()))
    least = float(-(true * np.log(true) + (1 - true) * np.log(1 - true)).mean())
    return {
        "rows": cell.rows,
        "columns": cell.columns,
        "epsilon": cell.epsilon,
        "repeats": repeats,
        "calibration_gap": float(np.mean(gaps)),
        "slope": float(np.median(slopes)),
        "log_loss": float(np.mean(losses)),
        "least_log_loss": least,
    }


def main(arguments: list[str] | None = None) -> dict[str, list[dict[str, object]]]:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--cells", type=int, nargs="+", default=list(range(len(CELLS))))
    parser.add_argument("--no-reliability", action="store_true")
    parser.add_argument("--smoke", action="store_true", help="small cells, in seconds")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args(arguments)
    cells = SMALL if asked.smoke else [CELLS[at] for at in asked.cells]
    strengths = [] if asked.no_reliability else [1.0] if asked.smoke else [0.1, 0.5, 1.0, 5.0]
    result = {
        "coverage": [coverage(cell, 60 if asked.smoke else asked.repeats) for cell in cells],
        "reliability": [
            reliability(Cell(rows, 5, epsilon), 3 if asked.smoke else 20)
            for rows in ([2_000] if asked.smoke else [2_000, 20_000])
            for epsilon in strengths
        ],
    }
    text = json.dumps(result, indent=1)
    sys.stdout.write(text + "\n")
    if asked.out:
        asked.out.write_text(text + "\n")
    return result


if __name__ == "__main__":
    main()
