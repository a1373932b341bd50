"""An owner releases, a learner elsewhere trains: the whole line on a real data set.

Two folders, `owner/` and `learner/`. The owner's holds 398 patients with their diagnosis, the
learner's the same patients without it, and 171 others to be diagnosed. What passes between the
folders are release files and one public key. Every step is a command that anyone can type.

    python demo/run.py                  in a temporary folder
    python demo/run.py --folder demo    in a folder of your own
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import hashlib
import io
import json
import shlex
import shutil
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import shuffle

import suffice as sf
from suffice.cli import main as suffice
from suffice.learners import MeanOperatorClassifier

EPSILONS = (0.1, 0.5, 1.0, 5.0)
BUDGET = 7
CLASSES = ("malignant", "benign")  # as the data set counts them, 0 and 1
DRAWS = 20


def main() -> None:
    """Run the demo from the first key to the plot."""
    started = time.perf_counter()
    home = folder_of(sys.argv[1:])
    owner, learner = home / "owner", home / "learner"
    for place in (owner, learner):
        place.mkdir(parents=True)
    truth, baselines = write_data(owner, learner)

    title("The owner: releases under label privacy, each paid for from one budget")
    say(owner, "keys new owner")
    say(owner, f"ledger create owner.db --dataset patients --unit label:diagnosis --budget epsilon={BUDGET}")
    check = "check patients.parquet --unit label --label diagnosis --classes benign,malignant -o spec.toml"
    say(owner, check, first=6, last=3)
    say(owner, "release spec.toml --ledger owner.db --epsilon 0.5 --dry-run")
    for epsilon in EPSILONS:
        name = f"diagnosis-{epsilon:g}.suffice"
        words = f"release spec.toml --ledger owner.db --epsilon {epsilon:g} --seal owner.key -o {name}"
        say(owner, words, first=99 if epsilon == EPSILONS[0] else 1)
        shutil.copy(owner / name, learner)
    shutil.copy(owner / "owner.pub", learner)

    title("The learner: no labels, only the files")
    say(learner, "show diagnosis-0.5.suffice --trust owner.pub", first=4, last=1)
    scores = {epsilon: learned(learner, epsilon, truth) for epsilon in EPSILONS}

    title("What the ledger says, and what it refuses")
    say(owner, "ledger show owner.db")
    say(owner, "release spec.toml --ledger owner.db --epsilon 1 --key again -o again.suffice", exits=3)

    title("A file that someone changed on the way, its checksum mended")
    tamper(learner / "diagnosis-5.suffice", learner / "changed.suffice")
    say(learner, "verify diagnosis-5.suffice --trust owner.pub")
    say(learner, "verify changed.suffice --trust owner.pub", exits=4)

    title(f"Accuracy on the {len(truth)} new patients")
    further = {epsilon: drawn_again(home, epsilon, truth) for epsilon in EPSILONS}
    print_table(scores, further, baselines)
    draw(scores, further, baselines, home)
    print(f"\n{home / 'accuracy.png'}\n{home / 'accuracy.svg'}")
    print(f"Everything is in {home}, made in {time.perf_counter() - started:.0f} seconds.")


def folder_of(words: list[str]) -> Path:
    """The folder to work in: a fresh temporary one, or one that is given and empty."""
    parser = argparse.ArgumentParser(description="An owner releases, a learner elsewhere trains.")
    parser.add_argument("--folder", type=Path, help="where to work; made if it is not there")
    given = parser.parse_args(words).folder
    home = Path(tempfile.mkdtemp(prefix="suffice-demo-")) if given is None else given.absolute()
    if home.is_dir() and any(home.iterdir()):
        parser.error(f"{str(home)!r} is not empty. Give a new folder.")
    return home


def write_data(owner: Path, learner: Path) -> tuple[np.ndarray, dict[str, float]]:
    """Write both sides' files; return the held-out truth, and what chance and all labels reach on it."""
    data = load_breast_cancer()
    names = list(map(str, data.feature_names))
    rows, new, y, truth = train_test_split(
        data.data, data.target, test_size=0.3, stratify=data.target, random_state=0
    )
    features = pa.table(dict(zip(names, rows.T, strict=True)))
    labels = pa.array([CLASSES[label] for label in y])
    pq.write_table(features.append_column("diagnosis", labels), owner / "patients.parquet")
    shuffled = features.take(shuffle(np.arange(len(y)), random_state=1))
    pq.write_table(shuffled, learner / "patients.parquet")
    pq.write_table(pa.table(dict(zip(names, new.T, strict=True))), learner / "new.parquet")
    open_model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(rows, y)
    chance = max(np.mean(truth == label) for label in (0, 1))
    print(f"{len(y)} patients with {len(names)} measurements each; {len(truth)} others to be diagnosed.")
    print("Measurements are known to both sides. The diagnosis is known to the owner alone.")
    reached = {"chance": float(chance), "labels": float(open_model.score(new, truth))}
    return np.array(CLASSES)[truth], reached


def learned(learner: Path, epsilon: float, truth: np.ndarray) -> float:
    """Fit on one release, predict the new patients, and count how many are right."""
    name = f"{epsilon:g}"
    shown = 8 if epsilon == EPSILONS[-1] else 0
    if not shown:
        print()
    say(
        learner,
        f"fit diagnosis-{name}.suffice patients.parquet -o model-{name}.skops",
        first=shown,
        last=shown // 2,
    )
    say(learner, f"predict model-{name}.skops new.parquet -o diagnosis-{name}.csv", first=1)
    found = (learner / f"diagnosis-{name}.csv").read_text("utf-8").replace('"', "").split()[1:]
    return float(np.mean(np.array(found) == truth))


def drawn_again(home: Path, epsilon: float, truth: np.ndarray) -> np.ndarray:
    """Accuracies of further draws, from a ledger that exists for this picture only."""
    rows = sf.Parquet(home / "owner" / "patients.parquet")
    ledger = sf.Ledger.open_or_create(
        home / "picture.db", dataset="picture", unit=sf.LabelOf("diagnosis"), budget=sf.PureDP(DRAWS * BUDGET)
    )
    owner = sf.Owner(rows, ledger=ledger)
    recipe = sf.Recipe.learn(rows, columns=[name for name in rows.schema.names if name != "diagnosis"])
    mu = sf.MeanOperator(
        recipe, "diagnosis", bound=sf.Bound(2, sf.Radius.public(0.95)), classes=["benign", "malignant"]
    )
    X = pq.read_table(home / "learner" / "patients.parquet")
    new = pq.read_table(home / "learner" / "new.parquet")
    releases = [owner.release(mu, sf.L2Laplace(epsilon=epsilon), key=f"{epsilon} {i}") for i in range(DRAWS)]
    models = [MeanOperatorClassifier().fit(X, release) for release in releases]
    return np.array([np.mean(model.predict(new) == truth) for model in models])


def say(place: Path, command: str, *, exits: int = 0, first: int = 99, last: int = 0) -> None:
    """Run one command in a folder, and show it with the first and last lines of what it answers."""
    if first > 1:
        print()
    print(f"{place.name} $ suffice {command}")
    told = io.StringIO()
    code: Any = 0
    sys.argv = ["suffice", *shlex.split(command)]
    with contextlib.chdir(place), contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        try:
            suffice()
        except SystemExit as end:
            code = end.code or 0
    lines = told.getvalue().rstrip().splitlines()
    if first > 1 and len(lines) > first + last:
        lines[first : len(lines) - last] = [f"... {len(lines) - first - last} lines more ..."]
    for line in lines if first > 1 else lines[:first]:
        parts = textwrap.wrap(line, 112, subsequent_indent="    ") or [""]
        print("\n".join(f"    {part}".rstrip() for part in parts))
    if code:
        print(f"    (exit code {code})")
    if code != exits:
        sys.exit(f"{told.getvalue()}\nThis was to end with exit code {exits}, and ended with {code}.")


def tamper(original: Path, changed: Path) -> None:
    """Change one noisy value and mend the checksum, so that only the seal can tell."""
    envelope = json.loads(original.read_bytes())
    payload = bytearray(base64.b64decode(envelope["payload"]))
    payload[len(payload) // 2] ^= 1
    envelope["payload"] = base64.b64encode(payload).decode()
    envelope["sha256"] = hashlib.sha256(payload).hexdigest()
    changed.write_text(json.dumps(envelope, sort_keys=True, separators=(",", ":")) + "\n", "utf-8")


def title(words: str) -> None:
    """A heading."""
    print(f"\n{words}\n{'-' * len(words)}")


def print_table(
    scores: dict[float, float], further: dict[float, np.ndarray], baselines: dict[str, float]
) -> None:
    """The accuracies between chance and all labels, with what other draws of the noise would have given."""
    print(f"  {'':<32} {'':>6}   {'half of further draws':<23} {'odds about one diagnosis':<24}")
    print(f"  {'always the more frequent answer':<32} {baselines['chance']:6.1%}")
    for epsilon, score in scores.items():
        low, high = np.quantile(further[epsilon], (0.25, 0.75))
        odds = f"raised at most {np.exp(epsilon):.3g} times"
        name, span = f"one file, epsilon = {epsilon:g}", f"{low:.1%} to {high:.1%}"
        print(f"  {name:<32} {score:6.1%}   {span:<23} {odds}")
    print(f"  {'scikit-learn on all labels':<32} {baselines['labels']:6.1%}   {'':<23} not protected")
    print(
        f"\n  Each file is one draw of noise. The ranges are of {DRAWS} further draws for this table:\n"
        "  a real owner would have to pay for each of them."
    )


def draw(
    scores: dict[float, float], further: dict[float, np.ndarray], baselines: dict[str, float], home: Path
) -> None:
    """Accuracy over epsilon, as PNG and SVG."""
    mpl.use("Agg")
    figure, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
    at = list(EPSILONS)
    low, middle, high = np.quantile(np.array([further[one] for one in at]), (0.25, 0.5, 0.75), axis=1)
    axes.fill_between(
        at, low, high, color="#1f5fa8", alpha=0.15, lw=0, label=f"half of {DRAWS} further draws"
    )
    axes.plot(at, middle, color="#1f5fa8", linewidth=2, label="their median")
    axes.plot(at, list(scores.values()), "o", color="#c8501e", markersize=7, label="the files of this run")
    for name, words, style, place, side in (
        ("labels", "all labels, not protected", "--", 0.01, "left"),
        ("chance", "chance", ":", 0.99, "right"),
    ):
        axes.axhline(baselines[name], color="#666666", linestyle=style, linewidth=1)
        axes.annotate(
            f"{words}: {baselines[name]:.1%}",
            (place, baselines[name]),
            (0, 5),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            color="#444444",
            ha=side,
        )
    axes.set_xscale("log")
    axes.set_xticks(at, [f"{one:g}" for one in at])
    axes.minorticks_off()
    axes.set_xlim(0.08, 6.5)
    axes.set_ylim(min(0.5, *low, *scores.values()) - 0.04, 1.02)
    axes.yaxis.set_major_formatter(mpl.ticker.PercentFormatter(1.0, decimals=0))
    axes.set_xlabel("epsilon of the one file that the learner has (smaller protects more)")
    axes.set_ylabel("accuracy on new patients")
    axes.set_title("Learned without a single label", loc="left", fontweight="bold")
    axes.legend(loc="lower right", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    for ending in ("png", "svg"):
        figure.savefig(home / f"accuracy.{ending}", dpi=160)
    plt.close(figure)


if __name__ == "__main__":
    main()
