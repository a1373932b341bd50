"""Draw losses.svg, the parts of losses: `python docs/figures/losses.py [folder]` (needs matplotlib)."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
mpl.rcParams.update(
    {
        "svg.fonttype": "none",  # words stay words: readable by a machine, and small
        "svg.hashsalt": "suffice",  # the same drawing twice is the same file
        "font.family": "sans-serif",
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)

from matplotlib import pyplot as plt  # noqa: E402  after the backend is chosen

from suffice.maths.linear_odd import LOSSES  # noqa: E402

SHOWN = {
    "logistic": "logistic, a = 1",
    "square": "square, a = 4",
    "matsushita": "Matsushita, a = 2",
    "modified_huber": "modified Huber, a = 4",
    "unhinged": "unhinged, a = 2",
    "perceptron": "1 + 2 max(0, −z), a = 2",
}
LOSS, EVEN, ODD = "#1a1a1a", "#0072b2", "#d55e00"


def draw(folder: Path) -> Path:
    """Write the figure into a folder, and return its path."""
    z = np.linspace(-3, 3, 601)
    figure, axes = plt.subplots(2, 3, figsize=(9, 5.6), sharex=True, sharey=True, layout="constrained")
    for axis, (name, title) in zip(axes.flat, SHOWN.items(), strict=True):
        loss = LOSSES[name]
        axis.axhline(0, color="#cccccc", linewidth=0.8, zorder=0)
        axis.axvline(0, color="#cccccc", linewidth=0.8, zorder=0)
        axis.plot(z, loss.even(z), color=EVEN, linewidth=1.8, label="even part: sees no label")
        axis.plot(z, -loss.a * z / 2, color=ODD, linewidth=1.8, linestyle="--", label="odd part: −az/2")
        axis.plot(z, loss.value(z), color=LOSS, linewidth=2.4, label="loss: their sum")
        axis.set(title=title, xlim=(-3, 3), ylim=(-4, 7))
    for axis in axes[1]:
        axis.set_xlabel("margin z")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    path = folder / "losses.svg"
    figure.savefig(path, metadata={"Date": None, "Title": "Losses as sums of an even and an odd part"})
    plt.close(figure)
    return path


if __name__ == "__main__":
    sys.stdout.write(f"{draw(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)}\n")
