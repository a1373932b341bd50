"""Draw roofline.svg, bytes a second of each kernel: `python docs/figures/roofline.py [folder]`.

The figures stand in roofline.json beside this file; benchmarks/speed/roofline.py measures them.
"""

from __future__ import annotations

import json
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

HERE = Path(__file__).resolve().parent
READ = "read of the same array"
SHADES = ("#9ecae1", "#4292c6", "#08519c")


def draw(folder: Path) -> Path:
    """Write the figure into a folder, and return its path."""
    told = json.loads((HERE / "roofline.json").read_text("utf-8"))
    seconds = {int(rows): found for rows, found in told["seconds"].items()}
    names = list(next(iter(seconds.values())))
    figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
    for k, (rows, found) in enumerate(seconds.items()):
        speed = [4e-9 * told["width"] * rows / found[name] for name in names]
        axes.barh(
            np.arange(len(names)) + 0.27 * (k - 1), speed, 0.25, color=SHADES[k], label=f"{rows:,} rows"
        )
    largest = max(seconds)
    axes.axvline(4e-9 * told["width"] * largest / seconds[largest][READ], color="#d55e00", lw=1, ls="--")
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("GB of rows a second, one thread (log scale)")
    axes.legend(frameon=False, loc="lower right")
    path = folder / "roofline.svg"
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return path


if __name__ == "__main__":
    sys.stdout.write(f"{draw(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)}\n")
