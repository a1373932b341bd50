"""What is learned at equal privacy: accuracy, log-loss and AUC of one label release, mechanism by mechanism.

For each data set, stratified 70/30 split and epsilon the whole line runs: a recipe learned from the
training rows, a ledger, an owner, a release (rows clipped at the 95 % quantile of their norms) through
each mechanism, and a learner that sees the features and the release. Beside them: scikit-learn's logistic
regression on the labels themselves, chance, and, with --peer, diffprivlib, whose unit is the record.

    python benchmarks/papers/label_privacy.py --data DIR [--peer PYTHON] [--out build/benchmarks]

DIR holds one folder per set with one Parquet file in it. The output folder gets label_privacy.json,
.md, .svg and .png, and label_privacy_cells.json with the mean of every cell; label_privacy_report.py
writes them again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from label_privacy_report import write
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

import suffice as sf
from suffice.learners import MeanOperatorClassifier
from suffice.learners.evidence import from_release
from suffice.maths.linear_odd import LOSSES
from suffice.maths.minimise import minimise
from suffice.maths.zonotope import Zonotope, project

EPSILONS = (0.1, 0.5, 1.0, 5.0)
DELTA = 1e-6
GRID = np.geomspace(1e-8, 10.0, 30)
PEER = Path(__file__).parents[1] / "peers" / "diffprivlib_logistic.py"
MECHANISMS: dict[str, Callable[[float], Any]] = {
    "Laplace": lambda e: sf.Laplace(epsilon=e),
    "L2Laplace": lambda e: sf.L2Laplace(epsilon=e),
    "Cube": lambda e: sf.Cube(epsilon=e),
    "Auto": lambda e: sf.Auto(epsilon=e),
    "L2Laplace, δ": lambda e: sf.L2Laplace(epsilon=e, delta=DELTA),
    "Gaussian, δ": lambda e: sf.Gaussian(epsilon=e, delta=DELTA),
    "Auto, δ": lambda e: sf.Auto(epsilon=e, delta=DELTA),
}


@dataclass(frozen=True)
class Rows:
    """A data set as its owner has it: a table, the name of its label, and the classes, negative first.

    A grid of fewer `bits` reaches farther, where a column has values far from its mean.
    """

    table: pa.Table
    label: str
    classes: tuple[Any, Any]
    unseen: str = "refuse"
    bits: int = 20

    def codes(self) -> np.ndarray:
        return np.array([value == self.classes[1] for value in self.table[self.label].to_pylist()], dtype=int)


def numbers(X: np.ndarray, y: np.ndarray) -> Rows:
    columns = {f"x{place}": pa.array(column) for place, column in enumerate(X.T)}
    return Rows(pa.table(columns | {"y": pa.array(y)}), "y", (0, 1))


def stored(folder: Path | None, name: str) -> pa.Table:
    if folder is None:
        raise SystemExit(
            f"{name} is read from a file: give --data DIR, the folder that holds {name}/*.parquet"
        )
    return pq.read_table(next((folder / name).glob("*.parquet")))


SETS: dict[str, Callable[[Path | None], Rows]] = {
    "breast cancer": lambda _: numbers(*load_breast_cancer(return_X_y=True)),
    "adult": lambda data: Rows(
        stored(data, "adult").drop(["split"]), "income", ("<=50K", ">50K"), unseen="other"
    ),
    "magic": lambda data: Rows(stored(data, "magic"), "Class", ("h", "g")),
    "bank marketing": lambda data: Rows(stored(data, "bank_marketing"), "deposit", ("no", "yes"), bits=18),
    "synthetic": lambda _: numbers(
        *make_classification(20_000, 20, n_informative=10, n_redundant=5, flip_y=0.02, random_state=7)
    ),
}
# Where rows are few one draw of the noise says little, and a fit takes milliseconds: more draws a split.
DRAWS = {"breast cancer": {0.1: 16, 0.5: 8, 1.0: 4, 5.0: 2}}


class Line:
    """Owner and learner of one training set; every release is charged to one of two ledgers."""

    def __init__(self, rows: Rows, train: pa.Table, folder: Path) -> None:
        self.rows = rows
        features = [name for name in train.column_names if name != rows.label]
        source = sf.Table(train, name="train")
        self.recipe = sf.Recipe.learn(source, columns=features, missing="indicate", unseen=rows.unseen)
        self.statistic = sf.MeanOperator(
            self.recipe,
            rows.label,
            classes=rows.classes,
            bound=sf.Bound(2, sf.Radius.public(0.95)),
            bits=rows.bits,
        )
        self.public = train.drop([rows.label])
        unit = sf.LabelOf(rows.label)
        budgets = {0.0: sf.PureDP(1e6), DELTA: sf.ApproxDP(1e6, 0.5)}
        self.owners = {
            delta: sf.Owner(
                source,
                ledger=sf.Ledger.create(
                    str(folder / f"{delta}.db"), dataset="train", unit=unit, budget=budget
                ),
            )
            for delta, budget in budgets.items()
        }

    def release(self, mechanism: Any, draw: int) -> tuple[Any, str]:
        """A release of its own for every draw, and the mechanism that Auto took."""
        owner = self.owners[getattr(mechanism, "delta", 0.0)]
        release = owner.release(self.statistic, mechanism, key=f"{mechanism} {draw}")
        return release, owner.last.why.split(" ", 1)[0]


def score(truth: np.ndarray, chance: np.ndarray) -> dict[str, float]:
    return {
        "accuracy": float(((chance > 0.5) == truth).mean()),
        "logloss": float(log_loss(truth, chance)),
        "auc": float(roc_auc_score(truth, chance)),
    }


def along_the_grid(line: Line, release: Any, X: np.ndarray, truth: np.ndarray) -> list[float]:
    """Held-out log-loss of the fit from the projected release at each alpha, strongest first."""
    evidence = from_release(line.public, release, "same")
    mean = project(evidence.mean, Zonotope(evidence.rows)).point
    theta, found = np.zeros(len(mean)), []
    for alpha in GRID[::-1]:
        theta = minimise(
            LOSSES["logistic"], evidence.rows, mean, alpha=alpha, start=theta, tolerance=1e-7
        ).theta
        found.append(float(np.logaddexp(0.0, (1 - 2 * truth) * (X @ theta)).mean()))
    return found


def one_split(
    rows: Rows, name: str, seed: int, epsilons: tuple[float, ...], draws: dict[float, int], peer: Peer | None
) -> Iterator[dict]:
    """Every record of one split: one for each method, epsilon and draw."""
    codes = rows.codes()
    at, held = train_test_split(np.arange(len(codes)), test_size=0.3, stratify=codes, random_state=seed)
    train, test, truth = rows.table.take(at), rows.table.take(held).drop([rows.label]), codes[held]
    with tempfile.TemporaryDirectory() as folder:
        line = Line(rows, train, Path(folder))
        about = {"set": name, "split": seed}
        vectors = line.recipe.apply(test, bits=rows.bits)
        root = np.sqrt(line.recipe.dimension)
        plain = LogisticRegression(max_iter=2000).fit(
            line.recipe.apply(train, bits=rows.bits) * root, codes[at]
        )
        yield about | {"method": "all labels", **score(truth, plain.predict_proba(vectors * root)[:, 1])}
        share = np.full(len(truth), codes[at].mean())
        yield about | {"method": "chance", **score(truth, share)}
        for epsilon in epsilons:
            for method, made in MECHANISMS.items():
                for draw in range(draws.get(epsilon, 1)):
                    start = time.process_time()
                    release, chosen = line.release(made(epsilon), draw)
                    middle = time.process_time()
                    model = MeanOperatorClassifier().fit(line.public, release)
                    end = time.process_time()
                    found = about | {"method": method, "epsilon": epsilon, "draw": draw}
                    found |= score(truth, model.predict_proba(test)[:, 1])
                    found |= {"seconds_release": middle - start, "seconds_fit": end - middle}
                    found |= {"chosen": chosen, "alpha": model.alpha_, "dimension": line.recipe.dimension}
                    if method == "Auto":
                        found["grid"] = along_the_grid(line, release, vectors, truth)
                    yield found
        if peer is not None:
            evidence = from_release(line.public, release, "same")
            radius = release.grid.radius * 2.0**-release.grid.bits
            yield from peer.ask(
                about, Path(folder), evidence.rows, codes[at], vectors, truth, radius, epsilons
            )


class Peer:
    """diffprivlib in its own interpreter, which stays open from split to split."""

    def __init__(self, python: Path) -> None:
        self.process = subprocess.Popen(
            [str(python), str(PEER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(
        self,
        about: dict,
        folder: Path,
        train: np.ndarray,
        train_labels: np.ndarray,
        test: np.ndarray,
        test_labels: np.ndarray,
        radius: float,
        epsilons: tuple[float, ...],
    ) -> Iterator[dict]:
        """The scores at each C; test rows are longer than the radius where they are longer."""
        path = folder / "split.npz"
        np.savez(
            path,
            train=train,
            train_labels=train_labels,
            test=test,
            test_labels=test_labels,
            radius=radius,
            epsilons=epsilons,
        )
        assert self.process.stdin is not None  # noqa: S101
        assert self.process.stdout is not None  # noqa: S101
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        for found in json.loads(self.process.stdout.readline()):
            yield about | {"method": f"diffprivlib, C={found.pop('C'):g}", **found}

    def close(self) -> None:
        """End it by ending its input."""
        self.process.communicate()


def machine() -> str:
    return (
        f"{os.cpu_count()} cores, {os.uname().sysname} {os.uname().machine}, Python {sys.version.split()[0]}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="the folder of the Parquet files")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS), metavar="SET")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--peer", type=Path, help="the interpreter that has diffprivlib")
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks"))
    parser.add_argument("--smoke", action="store_true", help="two splits of one small set at one epsilon")
    asked = parser.parse_args()
    epsilons, splits, sets = EPSILONS, asked.splits, asked.sets
    if asked.smoke:
        epsilons, splits, sets = (1.0,), 2, ["breast cancer"]
    peer = Peer(asked.peer) if asked.peer else None
    records: list[dict] = []
    for name in sets:
        rows, start = SETS[name](asked.data), time.perf_counter()
        draws = {} if asked.smoke else DRAWS.get(name, {})
        for seed in range(splits):
            with threadpool_limits(1):  # small matrices gain nothing from threads, and a busy machine loses
                records += one_split(rows, name, seed, epsilons, draws, peer)
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    if peer:
        peer.close()
    about = {"machine": machine(), "date": time.strftime("%Y-%m-%d"), "splits": splits, "delta": DELTA}
    result = about | {"grid": GRID[::-1].tolist(), "records": records}
    write(result, asked.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
