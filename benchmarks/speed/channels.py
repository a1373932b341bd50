"""How fast answers are randomised: packed bits of many people, beside NumPy and pure-ldp; draws from tables.

Every figure is the best of several turns, taken in alternation, so that a busy moment touches all; on a busy
machine only the short ways, the slice among them, find an undisturbed moment and can be compared.
pure-ldp makes one answer at a time and is measured on few people; it is left out where it is absent.

    python benchmarks/speed/channels.py [--smoke] [--rows 10000000] [--out channels.json]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from suffice import channels as ch
from suffice.channels.packed import Packed, totals
from suffice.maths.kernels.bit_plane import COMPILED

WIDTH = 100
FEW = 300


def plane(rng: np.random.Generator, width: int, rows: int) -> Packed:
    """Random packed truths."""
    return Packed(rng.integers(0, 2**64, (width, rows // 64), dtype=np.uint64), rows // 64 * 64)


def by_numpy(rows: np.ndarray, own: float, other: float, rng: np.random.Generator) -> np.ndarray:
    """What a user would write: one uniform number for each bit."""
    return (rng.random(rows.shape) < np.where(rows, own, other)).sum(axis=0)


def by_pure_ldp(values: np.ndarray, epsilon: float) -> Callable[[], object] | None:
    """pure-ldp's client, person by person, and the sum of what they send."""
    try:
        from pure_ldp.frequency_oracles.unary_encoding import UEClient
    except ImportError:
        return None
    client = UEClient(epsilon=epsilon, d=WIDTH, use_oue=True)
    return lambda: sum(np.asarray(client.privatise(int(value) + 1)) for value in values)


def measure(rows: int, turns: int) -> dict[str, float]:
    """Return for each way how many noisy bits or answers it makes in a second, in its best turn."""
    rng = np.random.default_rng(1)
    channel = ch.OptimisedUnary(tuple(range(WIDTH)), 1.0)
    own, other = (count / 2**53 for count in channel.chances())
    packed, slice_ = (plane(rng, WIDTH, rows), plane(rng, 10, min(rows, 640_000)))
    some = rng.random((200, WIDTH)) < 0.5
    values = rng.integers(0, WIDTH, FEW)
    labels = rng.integers(0, 10, min(rows, 1_000_000))
    response = ch.RandomizedResponse(tuple(range(10)), epsilon=1.0)
    vectors = rng.random((min(rows, 100_000), WIDTH))
    single = ch.CoordinateRelease(WIDTH, 1.0)
    ways: dict[str, tuple[int, Callable[[], object] | None]] = {
        "packed bits, one thread": (packed.count * WIDTH, lambda: totals(packed, channel)),
        "packed bits, two threads": (packed.count * WIDTH, lambda: totals(packed, channel, workers=2)),
        "packed bits, a short slice": (slice_.count * 10, lambda: totals(slice_, channel)),
        "bits by NumPy": (some.size, lambda: by_numpy(some, own, other, rng)),
        "bits by pure-ldp": (FEW * WIDTH, by_pure_ldp(values, 1.0)),
        "bits row by row": (FEW * WIDTH, lambda: channel.randomise(values)),
        "labels, ten kinds": (labels.size, lambda: response.randomise(labels)),
        "coordinate release": (len(vectors), lambda: single.randomise(vectors)),
    }
    best: dict[str, float] = {}
    for turn in range(10 * turns):
        for name, (count, way) in ways.items():
            if way is not None and (turn < turns or count <= 10_000_000):
                started = time.perf_counter()
                way()
                best[name] = max(best.get(name, 0.0), count / (time.perf_counter() - started))
    return best


def main() -> None:
    """Measure, print, and write where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="few people, two turns")
    parser.add_argument("--rows", type=int, default=10_000_000, help="how many people")
    parser.add_argument("--out", type=Path, help="write the figures here, as JSON")
    options = parser.parse_args()
    best = measure(64_000 if options.smoke else options.rows, 2 if options.smoke else 7)
    for name, rate in best.items():
        print(f"{name:26s} {rate / 1e6:12.3f} million a second")
    packed = max(rate for name, rate in best.items() if name.startswith("packed"))
    for name, wanted in (("bits by NumPy", 20), ("bits by pure-ldp", 1000)):
        if name in best:
            print(f"packed bits are {packed / best[name]:,.0f} times as fast as {name} (target: {wanted})")
    print(f"compiled kernel: {COMPILED}")
    if options.out:
        options.out.write_text(json.dumps({"per_second": best, "compiled": COMPILED}, indent=1), "utf-8")


if __name__ == "__main__":
    main()
