"""Draw label_privacy.svg, the means of the last full run: `python docs/figures/label_privacy.py [folder]`.

The means stand in label_privacy.json beside this file; benchmarks/papers/label_privacy.py measures them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from benchmarks.papers.label_privacy_report import draw  # noqa: E402  found through the path above


def main(folder: Path) -> Path:
    """Write the figure into a folder, and return its path."""
    draw(json.loads((HERE / "label_privacy.json").read_text("utf-8")), folder)
    (folder / "label_privacy.png").unlink()
    return folder / "label_privacy.svg"


if __name__ == "__main__":
    sys.stdout.write(f"{main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)}\n")
