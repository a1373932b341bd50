"""How long `import suffice` takes, beside `import numpy, pyarrow`, which it may at most double.

Each figure is the best of several fresh interpreters, with compiled bytecode.

    python benchmarks/speed/imports.py [--smoke] [--out imports.json]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

CASES = {
    "nothing": "pass",
    "numpy, pyarrow": "import numpy, pyarrow",
    "suffice": "import suffice",
    "suffice --help": "import sys; from suffice.cli import main; sys.argv = ['suffice', '--help']; main()",
}


def seconds(code: str) -> float:
    """Return how long a fresh interpreter takes for this code, its own start included."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def measure(repeats: int) -> dict[str, float]:
    """Return the best time of each case; the cases take turns, so that a busy moment touches all."""
    best = dict.fromkeys(CASES, float("inf"))
    for _ in range(repeats + 1):  # the first turn compiles
        for name, code in CASES.items():
            best[name] = min(best[name], seconds(code))
    return best


def main() -> None:
    """Measure, print, and write where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="two turns instead of fifteen")
    parser.add_argument("--out", type=Path, help="write the figures here, as JSON")
    options = parser.parse_args()
    best = measure(2 if options.smoke else 15)
    start = best["nothing"]
    ratio = (best["suffice"] - start) / (best["numpy, pyarrow"] - start)
    for name, value in best.items():
        print(f"{name:16s} {1000 * value:7.1f} ms")
    print(f"import suffice takes {ratio:.2f} times what import numpy, pyarrow takes (target: at most 2)")
    if options.out:
        options.out.write_text(json.dumps({"seconds": best, "ratio": ratio}, indent=1), "utf-8")


if __name__ == "__main__":
    main()
