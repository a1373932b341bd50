"""The benchmark of label privacy on public geometry, in small."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.style.house import ROOT


def test_geometry_wins_over_the_same_pixels_at_a_small_epsilon(tmp_path):
    pytest.importorskip("matplotlib")
    script = ROOT / "benchmarks" / "papers" / "label_privacy_mnist.py"
    run = subprocess.run(
        [sys.executable, str(script), "--smoke", "--out", str(tmp_path)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    row = json.loads((tmp_path / "label_privacy_mnist.json").read_text("utf-8"))["sets"]["digits"]["1.0"]
    assert row["geometry"]["mean"] > row["fourier"]["mean"] + 3
    assert row["geometry"]["mean"] > row["answers"]["mean"]
    assert (tmp_path / "label_privacy_mnist.png").stat().st_size > 1000
