"""Logistic regression of diffprivlib on vectors that another process encoded, one split after the other.

It runs in an environment of its own (benchmarks/peers/README.md) and knows nothing of suffice. Each
line of the input names an .npz file with train, train_labels, test, test_labels, radius and epsilons;
each line of the output is the JSON of what was found. Its privacy unit is the whole record, and
`data_norm` is the length at which rows were shortened.

    python benchmarks/peers/diffprivlib_logistic.py [--smoke]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

STRENGTHS = (0.01, 0.1, 1.0, 10.0)
DEFAULT = 1.0


def scores(path: Path) -> list[dict]:
    """Fit at every epsilon and every C; each fit pays epsilon by itself."""
    from diffprivlib.models import LogisticRegression

    split = np.load(path)
    norm, found = float(split["radius"]), []
    for epsilon in split["epsilons"]:
        for strength in STRENGTHS:
            model = LogisticRegression(
                epsilon=float(epsilon), data_norm=norm, C=strength, fit_intercept=False, max_iter=1000
            )
            model.fit(split["train"], split["train_labels"])
            chance = model.predict_proba(split["test"])[:, 1]
            truth = split["test_labels"]
            found.append(
                {
                    "epsilon": float(epsilon),
                    "C": strength,
                    "accuracy": float(((chance > 0.5) == truth).mean()),
                    "logloss": float(log_loss(truth, chance)),
                    "auc": float(roc_auc_score(truth, chance)),
                }
            )
    return found


def example(folder: Path) -> Path:
    """A split of a hundred invented rows."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (150, 4))
    y = (X[:, 0] > 0).astype(int)
    path = folder / "example.npz"
    np.savez(
        path,
        train=X[:100],
        train_labels=y[:100],
        test=X[100:],
        test_labels=y[100:],
        radius=1.0,
        epsilons=[1.0],
    )
    return path


def main() -> None:
    """Answer one line per path until the input ends."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--smoke", action="store_true", help="one invented split, where diffprivlib is there")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore")
    if asked.smoke:
        if find_spec("diffprivlib") is None:
            print("diffprivlib is not in this environment; benchmarks/peers/README.md says how to make one")
            return
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(scores(example(Path(folder)))))
        return
    for line in sys.stdin:
        print(json.dumps(scores(Path(line.strip()))), flush=True)


if __name__ == "__main__":
    main()
