"""Draw surveys.svg, what people said whose truth is known: `python docs/figures/surveys.py [folder]`.

It needs matplotlib. The totals are those of the watched dice in the survey of Höglinger and Jann.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
mpl.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "suffice",
        "font.family": "sans-serif",
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)

from matplotlib import pyplot as plt  # noqa: E402  after the backend is chosen

from suffice import surveys  # noqa: E402

# arm: its name in the figure, and p1, p2, ones and zeros of honest people and of cheaters
TOTALS = {
    "DQ": ("asked directly", [(1.0, 0.0, 3, 361)], [(1.0, 0.0, 12, 5)]),
    "Forced": ("forced answer", [(0.75, 2 / 3, 98, 631)], [(0.75, 2 / 3, 19, 21)]),
    "UQM": (
        "unrelated question",
        [
            (0.778, 0.49, 27, 156),
            (0.778, 0.493, 20, 164),
            (0.778, 0.495, 33, 154),
            (0.778, 0.521, 18, 167),
        ],
        [(0.778, 0.49, 6, 3), (0.778, 0.493, 5, 4), (0.778, 0.495, 5, 6), (0.778, 0.521, 5, 5)],
    ),
    "Crosswise": (
        "crosswise",
        [(0.1594625, 0.0, 417, 117), (0.1971293, 0.0, 384, 155)],
        [(0.1594625, 0.0, 15, 20), (0.1971293, 0.0, 18, 16)],
    ),
}
FOUND, TRUE = "#0072b2", "#d55e00"


def estimated(design: str, cells: list[tuple[float, float, int, int]]) -> surveys.Estimate:
    """Return the estimate of one arm from its totals."""
    rows = [(p1, p2, y) for p1, p2, ones, zeros in cells for y in [1] * ones + [0] * zeros]
    columns = dict(zip(("p1", "p2", "y"), map(list, zip(*rows, strict=True)), strict=True))
    return surveys.estimate(surveys.read(columns, answer="y", design=design, p1="p1", p2="p2")).of()


def draw(folder: Path) -> Path:
    """Write the figure into a folder, and return its path."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 2.8), sharey=True, layout="constrained")
    for side, (axis, title) in enumerate(zip(axes, ("honest people", "cheaters"), strict=True)):
        axis.axvline(side, color=TRUE, linewidth=1.8, label="truth")
        for place, (design, (_, *cells)) in enumerate(TOTALS.items()):
            one = estimated(design, cells[side])
            axis.plot([one.low, one.high], [place, place], color=FOUND, linewidth=1.8)
            axis.plot(
                one.moments,
                place,
                "o",
                color=FOUND,
                label="estimate and 95 % interval" if not place else None,
            )
        axis.set(title=title, xlabel="share who cheated", ylim=(len(TOTALS) - 0.5, -0.5))
    axes[0].set_yticks(range(len(TOTALS)), [name for name, *_ in TOTALS.values()])
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    path = folder / "surveys.svg"
    figure.savefig(
        path, metadata={"Date": None, "Title": "Cheating in a watched dice game, by how people were asked"}
    )
    plt.close(figure)
    return path


if __name__ == "__main__":
    sys.stdout.write(f"{draw(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)}\n")
