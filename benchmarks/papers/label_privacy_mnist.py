"""Label privacy with public geometry: test accuracy over epsilon, gains and losses, as JSON and a plot.

Features are public and labels are not. From the training features alone a neighbour graph is made and
its eigenvectors are written down as a feature table; test rows are given coordinates by extension and
are never in the graph. The sums of the table's rows by class are released with Gaussian noise
(delta = 1e-5, one label protected), and a classifier is fitted to the noisy sums. Weights, radius and
strength are automatic everywhere. Tables that are compared:

    geometry   eigenvectors of the neighbour graph (beside the columns themselves for tables)
    fourier    random Fourier features of the same columns, images only
    columns    the columns themselves, one-hot and standardised
    answers    every label randomised by itself with the same epsilon, columns (or fourier) as features

and for ten classes of digits the published table (LabelDP-Pro, ICLR 2024, best of six methods).

    python benchmarks/papers/label_privacy_mnist.py --data DIR [--sets mnist adult ...] [--draws 5]
        [--methods geometry ...] [--most N] [--cache DIR] [--out DIR] [--smoke]

DIR holds one folder per set with one Parquet file. Noise here comes from NumPy, of the very law that the
mechanism states: it measures accuracy and protects nobody.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.stats import ttest_1samp
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import RBFSampler

import suffice as sf
from suffice.core.bounds import Sensitivity, least_root
from suffice.core.moments import Block, Isotropic
from suffice.features import FeatureMap, FeatureTable, SpectralMap
from suffice.learners.evidence import Evidence, clipped, vectors
from suffice.learners.square import ridge

LABELS = {
    "mnist": "label",
    "adult": "income",
    "magic": "Class",
    "covertype": "Cover_Type",
    "bank_marketing": "deposit",
    "eeg_eye_state": "eyeDetection",
}
EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
PUBLISHED = {0.1: 91.1, 0.2: 92.9, 0.5: 94.1, 1.0: 94.3, 2.0: 96.8}
WANTED = {0.05: 96.0, 0.1: 96.5, 0.2: 96.8, 0.5: 97.0, 1.0: 97.0, 2.0: 97.2}
DELTA = 1e-5
FRAME = {"mnist": {"pixels": True}, "digits": {"pixels": True}}
UNIT = 1 << 20


def read(name: str, folder: Path | None, most: int | None) -> tuple[pa.Table, np.ndarray, np.ndarray]:
    """Columns with an id, labels as codes, and which rows are for training."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        frame = pa.table({"image": pa.FixedSizeListArray.from_arrays(pa.array(X.ravel() / 16), 64)})
        train = np.random.default_rng(0).random(len(y)) < 0.7
    else:
        frame = pq.read_table(next((folder / name).glob("*.parquet")))
        y = np.array([str(value) for value in frame[LABELS[name]].to_pylist()])
        if name == "mnist":
            train = np.array(frame["split"].to_pylist()) == "train"
            flat = frame["image"].combine_chunks().flatten().to_numpy().astype(np.float32) / 255
            frame = pa.table({"image": pa.FixedSizeListArray.from_arrays(pa.array(flat), 784)})
        else:
            frame = frame.drop_columns([LABELS[name]])
            train = np.random.default_rng(0).random(len(y)) < 0.7
    if name == "covertype" or most is not None:
        kept = np.random.default_rng(1).permutation(len(y))[: most or 50_000]
        frame, y, train = frame.take(kept), y[kept], train[kept]
    frame = frame.append_column("id", pa.array(np.arange(len(y))))
    return frame, np.unique(y, return_inverse=True)[1], train


def maps(name: str) -> dict[str, dict]:
    """The families of each table that is compared."""
    if name in FRAME:
        fourier = RBFSampler(gamma=0.1, n_components=200, random_state=0) if name == "digits" else "fourier"
        return {"geometry": {"spectral": SpectralMap()}, "fourier": {"fourier": fourier}}
    both = {"spectral": SpectralMap(), "columns": "columns"}
    return {"geometry": both, "columns": {"columns": "columns"}}


def tables(
    name: str, frame: pa.Table, train: np.ndarray, cache: Path | None, only: list[str] | None
) -> dict[str, tuple[FeatureTable, FeatureTable]]:
    """For each comparison the table of the training rows and that of the test rows, kept in the cache."""
    made = {}
    for kind, families in maps(name).items():
        if only is not None and kind not in only:
            continue
        paths = (
            [] if cache is None else [cache / f"{name}-{kind}-{half}.parquet" for half in ("train", "test")]
        )
        if paths and all(path.exists() for path in paths):
            made[kind] = (FeatureTable.read(paths[0]), FeatureTable.read(paths[1]))
            continue
        start = time.perf_counter()
        learned = FeatureMap(families).fit(frame.filter(pa.array(train)), key="id")
        pair = [learned.table(frame.filter(pa.array(half)), key="id") for half in (train, ~train)]
        print(
            f"{name} {kind}: {len(pair[0].names)} coordinates in {time.perf_counter() - start:.0f} s",
            flush=True,
        )
        for table, path in zip(pair, paths, strict=False):
            table.write(path)
        made[kind] = (pair[0], pair[1])
    return made


def law(mechanism: sf.Gaussian, width: int, kinds: int) -> float:
    """The standard deviation for rows of radius one."""
    reach = least_root(2 * UNIT * UNIT) if kinds > 2 else 2 * UNIT
    found = mechanism.law(Sensitivity(least_root(width * reach * reach), reach, reach), width, kinds)
    return float(found.stddev) / UNIT


def noisy_sums(pair, y_train, epsilon, draws, weights="auto"):
    """Predictions of the test rows from each of so many noisy releases."""
    kinds, count = int(y_train.max()) + 1, len(y_train)
    mechanism = sf.Gaussian(epsilon=epsilon, delta=DELTA)
    recipe = pair[0].recipe(mechanism, classes=kinds, weights=weights)
    plain, fresh = vectors(pair[0].arrow(), recipe), vectors(pair[1].arrow(), recipe)
    rows = clipped(plain, sf.Bound(2, sf.Radius.public(0.9)))
    radius = float(np.sqrt(np.square(rows).sum(axis=1).max()))
    scale = law(mechanism, rows.shape[1], kinds) * radius / count
    onehot = (y_train[:, None] == np.arange(kinds)).astype(float)
    means = onehot.T @ rows / count if kinds > 2 else (2.0 * y_train - 1.0) @ rows / count
    for seed in range(draws):
        noise = scale * np.random.default_rng(1000 + seed).standard_normal(means.shape)
        covariance = Isotropic(scale**2, rows.shape[1])
        if kinds > 2:
            noise -= noise.mean(axis=0)
            covariance = Block(scale**2 * (np.eye(kinds) - 1.0 / kinds), rows.shape[1])
        seen = Evidence(rows, means + noise, covariance, count)
        theta = ridge(seen, None).theta  # what MeanOperatorClassifier(loss="square") does, without intervals
        scores = fresh @ theta.T
        yield scores.argmax(axis=1) if kinds > 2 else (scores > 0).astype(int)


def answers(pair, y_train, epsilon, draws):
    """Predictions from labels that were each randomised at home: unbiased sums, best ridge by risk."""
    kinds, count = int(y_train.max()) + 1, len(y_train)
    recipe = pair[0].recipe(sf.Gaussian(epsilon=epsilon, delta=DELTA), classes=kinds, weights="equal")
    rows, fresh = vectors(pair[0].arrow(), recipe), vectors(pair[1].arrow(), recipe)
    keep = np.exp(epsilon) / (np.exp(epsilon) + kinds - 1)
    other = (1 - keep) / (kinds - 1)
    values, turn = np.linalg.eigh(rows.T @ rows / count)
    values = np.maximum(values, 1e-12 * values[-1])
    share = rows.mean(axis=0) / kinds
    for seed in range(draws):
        rng = np.random.default_rng(2000 + seed)
        shift = rng.integers(1, kinds, count) * (rng.random(count) > keep)
        told = (((y_train + shift) % kinds)[:, None] == np.arange(kinds)).astype(float)
        seen = (((told - other) / (keep - other)).T @ rows / count - share) @ turn
        variance = np.square((told - told.mean(axis=0)) / (keep - other)).sum(axis=1).mean() / count
        grid = np.geomspace(1e-8, 1e4, 61)[:, None] * values[-1]
        shrunk = 1.0 / (values + grid)
        energy = np.square(seen).sum(axis=0)
        risk = (energy * (values * shrunk**2 - 2 * shrunk) + 2 * shrunk * variance * values).sum(axis=1)
        theta = (seen * shrunk[np.argmin(risk)]) @ turn.T
        yield (fresh @ theta.T).argmax(axis=1)


def measured(name, frame, y, train, cache, epsilons, draws, only):
    """Accuracies by method and epsilon, and a t-test over test rows of geometry against each other one."""
    made, found = tables(name, frame, train, cache, only), {}
    plain = next((kind for kind in made if kind != "geometry"), "geometry")
    for epsilon in epsilons:
        runs = {kind: noisy_sums(pair, y[train], epsilon, draws) for kind, pair in made.items()}
        if only is None or "answers" in only:
            runs["answers"] = answers(made[plain], y[train], epsilon, draws)
        hits = {kind: np.stack([guess == y[~train] for guess in run]) for kind, run in runs.items()}
        row = {
            kind: {"mean": one.mean() * 100, "draws": list(one.mean(axis=1) * 100)}
            for kind, one in hits.items()
        }
        for kind, one in hits.items():
            if kind != "geometry" and "geometry" in hits:  # rows are paired; draws are averaged
                apart = hits["geometry"].mean(axis=0) - one.mean(axis=0)
                row[kind]["gain"] = float(apart.mean() * 100)
                row[kind]["p"] = float(ttest_1samp(apart, 0.0).pvalue)
        found[epsilon] = row
        print(name, epsilon, {kind: f"{one['mean']:.2f}" for kind, one in row.items()}, flush=True)
    return found


def plot(found: dict, path: Path) -> None:
    """Accuracy over epsilon, a panel per set."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(found), figsize=(3.2 * len(found), 3.2), squeeze=False)
    for axis, (name, rows) in zip(axes[0], found.items(), strict=True):
        for kind in next(iter(rows.values())):
            axis.plot(list(rows), [row[kind]["mean"] for row in rows.values()], marker="o", ms=3, label=kind)
        if name == "mnist":
            axis.plot(list(PUBLISHED), list(PUBLISHED.values()), "k--", lw=1, label="published best")
        axis.set(xscale="log", title=name, xlabel="epsilon")
    axes[0][0].set_ylabel("test accuracy, %")
    for axis in {axes[0][0], axes[0][-1]}:
        axis.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main(argv: list[str] | None = None) -> dict:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(LABELS))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--most", type=int, help="use so many rows of each set")
    parser.add_argument("--methods", nargs="+", help="geometry, fourier, columns, answers; else all")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--smoke", action="store_true", help="a few hundred rows of scikit-learn's digits")
    options = parser.parse_args(argv)
    sets = ["digits"] if options.smoke else options.sets
    epsilons, draws = ((1.0,), 2) if options.smoke else (EPSILONS, options.draws)
    for folder in filter(None, (options.cache, options.out)):
        folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for name in sets:
        frame, y, train = read(name, options.data, 800 if options.smoke else options.most)
        found[name] = measured(name, frame, y, train, options.cache, epsilons, draws, options.methods)
        if options.out is not None:
            whole = {"delta": DELTA, "draws": draws, "published": PUBLISHED, "wanted": WANTED, "sets": found}
            (options.out / "label_privacy_mnist.json").write_text(json.dumps(whole, indent=1))
            plot(found, options.out / "label_privacy_mnist.png")
    return found


if __name__ == "__main__":
    main()
