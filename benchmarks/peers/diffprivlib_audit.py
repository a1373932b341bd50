"""An audit of diffprivlib 0.6.6: its logistic regression with data_norm=100 claims epsilon = 1.

Two neighbouring data sets of two rows: in the one the second row lies at 0, in the other at 100. The
objective is perturbed, and made convex enough for rows of length one (the curvature of a row is a
quarter of its length squared, and the code takes a quarter of its length). So the coefficient piles up
near zero in the one world and not in the other. How near is settled on draws of the same objective by
bisection, and how often is counted on fits of diffprivlib itself (suffice.auditing.two_world).

    python benchmarks/peers/diffprivlib_audit.py --environment /tmp/diffprivlib [--fits 120000] [--out FILE]
    python benchmarks/peers/diffprivlib_audit.py --smoke

The environment is made with uv if it is not there. `--smoke` fits the same perturbed objective by
bisection instead, in an instant, and needs no environment.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

PINS = ("diffprivlib==0.6.6", "scikit-learn==1.7.2", "numpy==2.2.6", "scipy==1.15.3")
NORM, EPSILON = 100.0, 1.0
ERROR, TRIED = 0.01, 400_000
FEWER = 5  # in the world where the event is common, fewer fits do
WORLDS = {"near": 0.0, "far": NORM}
LABELS = np.array([0, 1])


def rows(world: str) -> np.ndarray:
    """The second row is what differs."""
    return np.array([[0.0], [WORLDS[world]]])


def fitted(world: str, fits: int) -> np.ndarray:
    """Coefficients by diffprivlib itself; this runs in its environment."""
    import warnings

    from diffprivlib.models import LogisticRegression

    warnings.simplefilter("ignore")
    X, found = rows(world), np.empty(fits)
    for at in range(fits):
        model = LogisticRegression(epsilon=EPSILON, data_norm=NORM, fit_intercept=False)
        found[at] = model.fit(X, LABELS).coef_[0, 0]
    return found


def solved(world: str, fits: int) -> np.ndarray:
    """The minimiser of the same perturbed objective, by bisection over many draws at once."""
    x = rows(world)[1, 0]
    curvature = 0.25 * NORM / math.expm1(EPSILON / 4)  # that of all rows and the penalty together
    rng = np.random.default_rng()
    noise = rng.laplace(scale=2 * NORM / (EPSILON / 2), size=fits)
    low, high = np.full(fits, -1e3), np.full(fits, 1e3)
    for _ in range(100):
        middle = (low + high) / 2
        slope = -x / (1 + np.exp(np.clip(x * middle, -700, 700))) + noise + curvature * middle
        low, high = np.where(slope < 0, middle, low), np.where(slope < 0, high, middle)
    return (low + high) / 2


def environment(folder: Path) -> Path:
    """The interpreter of an environment with the pinned versions, made if it is not there."""
    python = folder / "bin" / "python"
    if not python.exists():
        uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
        subprocess.run([uv, "venv", "-q", "--python", "3.11", str(folder)], check=True)
        subprocess.run([uv, "pip", "install", "-q", "--python", str(python), *PINS], check=True)
    return python


def drawn(world: str, fits: int, folder: Path | None) -> np.ndarray:
    if folder is None:
        return solved(world, fits)
    command = [environment(folder), __file__, "--draw", world, "--fits", str(fits)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return np.array(json.loads(told))


def audited(fits: int, folder: Path | None) -> dict:
    """The event is settled on the bisection's draws and counted on fresh fits."""
    from suffice.auditing import two_world

    started = time.perf_counter()
    tried = [{"distance": np.abs(solved(world, TRIED))} for world in WORLDS]
    event = two_world.two_worlds(*tried).event
    seen = [np.abs(drawn("near", fits, folder)), np.abs(drawn("far", fits // FEWER, folder))]
    rare, likely = (int(event.happens(found).sum()) for found in seen)
    measured = two_world.epsilon_lower_bound(likely, rare, len(seen[1]), rare_draws=len(seen[0]), error=ERROR)
    return {
        "what": "diffprivlib 0.6.6" if folder else "the same objective, by bisection",
        "claimed": EPSILON,
        "measured": round(measured, 3),
        "error": ERROR,
        "event": f"|coefficient| ≤ {event.threshold:.4g}",
        "far": [likely, len(seen[1])],
        "near": [rare, len(seen[0])],
        "seconds": round(time.perf_counter() - started, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="An audit of diffprivlib 0.6.6.")
    parser.add_argument("--environment", type=Path, help="a folder for its environment")
    parser.add_argument(
        "--fits", type=int, default=120_000, help="fits in the one world, and a fifth in the other"
    )
    parser.add_argument(
        "--draw", choices=WORLDS, help="print coefficients of one world; inside the environment"
    )
    parser.add_argument("--out", type=Path, help="a file for the result, as JSON")
    parser.add_argument("--smoke", action="store_true", help="by bisection, in an instant")
    asked = parser.parse_args()
    if asked.draw:
        print(json.dumps(fitted(asked.draw, asked.fits).tolist()))
        return
    if asked.environment is None and not asked.smoke:
        parser.error("--environment FOLDER says where diffprivlib lives, or will; --smoke needs none")
    found = audited(asked.fits, None if asked.smoke else asked.environment)
    print(json.dumps(found, indent=2))
    if asked.out:
        asked.out.write_text(json.dumps(found, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
