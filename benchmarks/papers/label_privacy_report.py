"""The report of label_privacy.py: means over splits, paired tests, regret, as a page of tables and a plot.

    python benchmarks/papers/label_privacy_report.py FILE.json ... [--out build/benchmarks]

Files of several runs, one for each data set, make one report.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib as mpl
import numpy as np
from scipy.stats import ttest_rel

mpl.use("Agg")
mpl.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "suffice",
        "font.family": "sans-serif",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)

from matplotlib import pyplot as plt  # noqa: E402  after the backend is chosen

PURE = ("Laplace", "L2Laplace", "Cube", "Auto")
APPROXIMATE = ("L2Laplace, δ", "Gaussian, δ", "Auto, δ")
PEER = "diffprivlib"
METRICS = ("accuracy", "logloss", "auc")
TARGETS = {"breast cancer": (0.84, 0.93, 0.94, 0.96), "synthetic": (0.875, 0.892, 0.894, 0.895)}
LOOKS = {  # colour, line, marker, shift along the axis
    "Laplace": ("#e69f00", "-", "s", -0.05),
    "L2Laplace": ("#0072b2", "-", "o", -0.025),
    "Cube": ("#cc79a7", "-", "^", 0.0),
    "L2Laplace, δ": ("#56b4e9", "--", "o", 0.025),
    "Gaussian, δ": ("#009e73", "--", "D", 0.05),
    "Auto": ("#1a1a1a", "-", "", 0.0),
    "Auto, δ": ("#1a1a1a", "--", "", 0.0),
    "diffprivlib, C=1": ("#999999", ":", "x", 0.0),
}


@dataclass(frozen=True)
class Figures:
    """Split by split, the mean over draws of each metric: values[set, method, epsilon][metric].

    `single` is the standard deviation of the accuracy of one release for one split.
    """

    values: dict[tuple[str, str, float | None], dict[str, np.ndarray]]
    chosen: dict[tuple[str, str, float | None], str]
    regret: dict[tuple[str, float], float]
    single: dict[tuple[str, str, float | None], float]

    @classmethod
    def of(cls, result: dict) -> Figures:
        cells: dict = defaultdict(lambda: defaultdict(list))
        chosen, grids = defaultdict(set), defaultdict(list)
        for record in result["records"]:
            key = record["set"], record["method"], record.get("epsilon")
            cells[key][record["split"]].append([record[metric] for metric in METRICS])
            if record.get("chosen"):
                chosen[key].add(taken(record["method"], record["chosen"]))
            if "grid" in record:
                grids[record["set"], record["epsilon"]].append((record["logloss"], record["grid"]))
        values, single = {}, {}
        for key, splits in cells.items():
            single[key] = float(np.std([one[0] for found in splits.values() for one in found]))
            means = np.array([np.mean(splits[split], axis=0) for split in sorted(splits)])
            values[key] = dict(zip(METRICS, means.T, strict=True))
        regret = {
            key: float(
                np.mean([one for one, _ in found]) / np.mean([all_ for _, all_ in found], axis=0).min() - 1
            )
            for key, found in grids.items()
        }
        names = {key: " or ".join(sorted(found)) for key, found in chosen.items()}
        return cls(values, names, regret, single)

    def sets(self) -> list[str]:
        return list(dict.fromkeys(name for name, _, _ in self.values))

    def epsilons(self) -> list[float]:
        return sorted({epsilon for _, _, epsilon in self.values if epsilon is not None})

    def methods(self, name: str) -> list[str]:
        return list(
            dict.fromkeys(method for found, method, epsilon in self.values if found == name and epsilon)
        )


@dataclass(frozen=True)
class Rival:
    """A mechanism against Auto under the same promise: its lead in accuracy, and how likely by chance."""

    name: str
    method: str
    epsilon: float
    lead: float
    error: float
    p: float


def rivals(figures: Figures) -> list[Rival]:
    """Each admissible mechanism that Auto did not take, paired over splits; p values adjusted by Holm."""
    found = []
    for auto, others in (("Auto", PURE[:3]), ("Auto, δ", (*PURE[:3], *APPROXIMATE[:2]))):
        for name in figures.sets():
            for epsilon in figures.epsilons():
                ours = figures.values[name, auto, epsilon]["accuracy"]
                for method in others:
                    if method == figures.chosen[name, auto, epsilon]:
                        continue
                    theirs = figures.values[name, method, epsilon]["accuracy"]
                    lead, spread = float((theirs - ours).mean()), error(theirs - ours)
                    p = float(ttest_rel(theirs, ours, alternative="greater").pvalue) if spread > 0 else 1.0
                    found.append(Rival(name, f"{method} against {auto}", epsilon, lead, spread, p))
    return holm(found)


def taken(auto: str, chosen: str) -> str:
    """The name that Auto's choice has among the methods."""
    return f"{chosen}, δ" if auto.endswith("δ") and chosen in {"L2Laplace", "Gaussian"} else chosen


def holm(found: list[Rival]) -> list[Rival]:
    """The same with adjusted p values, the smallest first."""
    adjusted, highest = [], 0.0
    for place, one in enumerate(sorted(found, key=lambda rival: rival.p)):
        highest = max(highest, min(1.0, one.p * (len(found) - place)))
        adjusted.append(Rival(one.name, one.method, one.epsilon, one.lead, one.error, highest))
    return adjusted


def error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def cell(values: dict[str, np.ndarray]) -> str:
    accuracy = values["accuracy"]
    return (
        f"{accuracy.mean():.3f} ± {error(accuracy):.3f}, {values['logloss'].mean():.3f}, "
        f"{values['auc'].mean():.3f}"
    )


def table(figures: Figures, name: str) -> list[str]:
    epsilons = figures.epsilons()
    lines = [
        f"### {name[0].upper()}{name[1:]}",
        "",
        "| method | " + " | ".join(f"ε = {epsilon:g}" for epsilon in epsilons) + " |",
        "|---|" + "---|" * len(epsilons),
    ]
    shown = [method for method in figures.methods(name) if not method.startswith(PEER)]
    for method in shown:
        cells = [cell(figures.values[name, method, epsilon]) for epsilon in epsilons]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    peers = [method for method in figures.methods(name) if method.startswith(PEER)]
    if peers:
        default = [cell(figures.values[name, "diffprivlib, C=1", epsilon]) for epsilon in epsilons]
        lines.append("| diffprivlib (unit: the record) | " + " | ".join(default) + " |")
        best = [
            cell(
                max(
                    (figures.values[name, peer, epsilon] for peer in peers),
                    key=lambda v: v["accuracy"].mean(),
                )
            )
            for epsilon in epsilons
        ]
        lines.append(
            "| diffprivlib (unit: the record), best C of 4 on test labels | " + " | ".join(best) + " |"
        )
    for method in ("all labels", "chance"):
        told = cell(figures.values[name, method, None])
        said = "scikit-learn on all labels, no privacy" if method == "all labels" else method
        lines.append(f"| {said} | {told} |" + " |" * (len(epsilons) - 1))
    return [*lines, ""]


def verdicts(figures: Figures) -> list[str]:
    """The claims, each with its figure."""
    return [*verdict_of_auto(figures), *verdict_of_strength(figures), *verdict_of_targets(figures)]


def verdict_of_auto(figures: Figures) -> list[str]:
    found = rivals(figures)
    lead, least = max(found, key=lambda rival: rival.lead), found[0]
    told = (
        "no mechanism beats `Auto` under the same promise by more than 0.01 of accuracy, or with an adjusted "
        f"p under 0.01. Of {len(found)} comparisons the largest lead is {lead.lead:+.4f} ± {lead.error:.4f} "
        f"({lead.method}, {lead.name}, ε = {lead.epsilon:g}); the smallest adjusted p is {least.p:.2g} "
        f"({least.method}, {least.name}, ε = {least.epsilon:g})."
    )
    return [f"- {kept(lead.lead <= 0.01 and least.p >= 0.01)}: {told}"]


def verdict_of_strength(figures: Figures) -> list[str]:
    worst = max(figures.regret, key=lambda key: figures.regret[key])
    told = (
        "the automatic strength is within 10 % of the log-loss of the best single alpha of 30, chosen with "
        f"the test labels. The worst cell is {worst[0]}, ε = {worst[1]:g}: "
        f"{100 * figures.regret[worst]:+.1f} %."
    )
    return [f"- {kept(figures.regret[worst] <= 0.1)}: {told}"]


def verdict_of_targets(figures: Figures) -> list[str]:
    """The targets are themselves means over 20 splits of one release each, and no surer than that."""
    lines, epsilons = [], figures.epsilons()
    for name, targets in TARGETS.items():
        if len(epsilons) != len(targets) or name not in figures.sets():
            continue
        told, reached = [], []
        for epsilon, target in zip(epsilons, targets, strict=True):
            key = name, "Auto", epsilon
            ours, doubt = figures.values[key]["accuracy"], figures.single[key] / np.sqrt(20)
            reached.append(ours.mean() >= target - 2 * np.hypot(error(ours), doubt))
            told.append(f"{ours.mean():.4f} ± {error(ours):.4f} for {target:g} ± {doubt:.4f}")
        lines.append(
            f"- {kept(all(reached))}: with everything automatic the accuracy on {name} is what was to be "
            f"reached, within two standard errors: {', '.join(told)}."
        )
    return lines


def kept(holds: bool) -> str:
    return "Kept" if holds else "**Not kept**"


def regrets(figures: Figures) -> list[str]:
    epsilons = figures.epsilons()
    lines = ["| data set | " + " | ".join(f"ε = {epsilon:g}" for epsilon in epsilons) + " |"]
    lines.append("|---|" + "---|" * len(epsilons))
    for name in figures.sets():
        cells = [f"{100 * figures.regret[name, epsilon]:+.1f} %" for epsilon in epsilons]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def choices(figures: Figures) -> list[str]:
    epsilons = figures.epsilons()
    lines = ["| data set | promise | " + " | ".join(f"ε = {epsilon:g}" for epsilon in epsilons) + " |"]
    lines.append("|---|---|" + "---|" * len(epsilons))
    for name in figures.sets():
        for auto, promise in (("Auto", "ε"), ("Auto, δ", "(ε, δ)")):
            cells = [figures.chosen[name, auto, epsilon] for epsilon in epsilons]
            lines.append(f"| {name} | {promise} | " + " | ".join(cells) + " |")
    return lines


def page(figures: Figures, result: dict) -> str:
    lines = [
        f"{result['machine']}; {result['date']}; {result['splits']} splits; δ = {result['delta']:g}.",
        "",
        "## What was claimed",
        "",
        *verdicts(figures),
        "",
        "## What `Auto` took",
        "",
        *choices(figures),
        "",
        "## Regret of the automatic strength",
        "",
        *regrets(figures),
        "",
        "## Accuracy ± standard error, log-loss, area under the curve",
        "",
    ]
    for name in figures.sets():
        lines += table(figures, name)
    return "\n".join(lines).rstrip() + "\n"


def summary(figures: Figures) -> list[dict]:
    """Mean and standard error of each cell: all that the drawing needs."""
    cells = []
    for (name, method, epsilon), values in figures.values.items():
        told = {
            metric: [round(float(found.mean()), 5), round(error(found), 5)]
            for metric, found in values.items()
        }
        cells.append({"set": name, "method": method, "epsilon": epsilon, **told})
    return cells


def draw(cells: list[dict], folder: Path) -> None:
    """Write label_privacy.svg and .png: a column for each set, accuracy above log-loss."""
    names = list(dict.fromkeys(told["set"] for told in cells))
    epsilons = sorted({told["epsilon"] for told in cells if told["epsilon"] is not None})
    size = (2.45 * len(names) + 0.6, 5.6)
    figure, axes = plt.subplots(2, len(names), figsize=size, sharex=True, squeeze=False, layout="constrained")
    for column, name in enumerate(names):
        for row, metric in enumerate(("accuracy", "logloss")):
            found = {(told["method"], told["epsilon"]): told[metric] for told in cells if told["set"] == name}
            panel(axes[row, column], found, epsilons, high=metric == "accuracy")
        axes[0, column].set_title(name)
        axes[1, column].set_xticks(np.log10(epsilons), [f"{epsilon:g}" for epsilon in epsilons])
        axes[1, column].set_xlabel("ε")
    axes[0, 0].set_ylabel("accuracy")
    axes[1, 0].set_ylabel("log-loss")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(5, max(2, len(names))), frameon=False
    )
    for kind in ("svg", "png"):
        told = {"Date": None, "Title": "Accuracy at equal privacy"} if kind == "svg" else None
        figure.savefig(folder / f"label_privacy.{kind}", metadata=told, dpi=160)
    plt.close(figure)


def panel(
    axis: plt.Axes, found: dict[tuple[str, float | None], list[float]], epsilons: list[float], *, high: bool
) -> None:
    """The range is that of the mechanisms; what lies beyond it, chance and the peer, leaves the picture."""
    good, chance = (found[method, None][0] for method in ("all labels", "chance"))
    axis.axhline(good, color="#d55e00", linewidth=0.9, label="all labels, no privacy")
    axis.axhline(chance, color="#b0b0b0", linewidth=0.9, linestyle="--", label="chance")
    seen = [good]
    for method, (colour, line, marker, shift) in LOOKS.items():
        if (method, epsilons[0]) not in found:
            continue
        means, errors = np.array([found[method, epsilon] for epsilon in epsilons]).T
        auto, peer = method.startswith("Auto"), method.startswith(PEER)
        axis.errorbar(
            np.log10(epsilons) + shift,
            means,
            None if auto else 2 * errors,
            color=colour,
            linestyle=line,
            marker=marker or None,
            markersize=3.5,
            linewidth=3.2 if auto else 1.1,
            elinewidth=0.8,
            alpha=0.35 if auto else 0.95,
            zorder=3 if auto else 4,
            label="diffprivlib (unit: the record)" if peer else method,
        )
        seen += [] if peer else [*(means - 2 * errors), *(means + 2 * errors)]
    margin = 0.06 * (max(seen) - min(seen))
    axis.set_ylim(min(seen) - margin, max(seen) + margin)
    if min(seen) <= chance <= max(seen):
        return
    place, va = (0.06, "bottom") if high else (0.94, "top")
    axis.text(
        0.97, place, f"chance {chance:.3f}", transform=axis.transAxes, ha="right", va=va, color="#777777"
    )


def write(result: dict, folder: Path) -> None:
    """All files of the report; what was claimed is printed too."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = Figures.of(result)
    (folder / "label_privacy.json").write_text(json.dumps(result) + "\n", "utf-8")
    (folder / "label_privacy.md").write_text(page(figures, result), "utf-8")
    cells = summary(figures)
    (folder / "label_privacy_cells.json").write_text(json.dumps(cells, indent=0) + "\n", "utf-8")
    draw(cells, folder)
    print(*verdicts(figures), sep="\n")


def invented() -> dict:
    """Two splits of one set, made up, to try the report with."""
    records: list[dict] = []
    for split in range(2):
        about = {"set": "invented", "split": split, "auc": 0.9}
        records += [
            about | {"method": method, "accuracy": 0.9, "logloss": 0.3} for method in ("all labels", "chance")
        ]
        for place, method in enumerate((*PURE, *APPROXIMATE)):
            told = {
                "epsilon": 1.0,
                "accuracy": 0.8 + 0.01 * place + 0.001 * split,
                "logloss": 0.4,
                "grid": [0.5, 0.39],
            }
            records.append(
                about | {"method": method, "chosen": "Cube" if method.startswith("Auto") else ""} | told
            )
    return {"machine": "none", "date": "never", "splits": 2, "delta": 1e-6, "records": records}


def main() -> None:
    """Join the files and write one report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="*", help="label_privacy.json of one run or several")
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks"))
    parser.add_argument(
        "--smoke", action="store_true", help="a report of invented figures, in a folder of its own"
    )
    asked = parser.parse_args()
    if asked.smoke:
        with TemporaryDirectory() as folder:
            write(invented(), Path(folder))
        return
    results = [json.loads(path.read_text("utf-8")) for path in asked.files]
    whole = [record for result in results for record in result["records"]]
    write(results[-1] | {"records": whole}, asked.out)


if __name__ == "__main__":
    main()
