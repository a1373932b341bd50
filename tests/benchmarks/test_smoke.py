"""Benchmarks run at their smallest, and what they write can be read."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.style.house import ROOT


def run(script: str, *arguments: str) -> str:
    """Run a benchmark as a user would, with one thread of linear algebra, and return what it printed."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / script), "--smoke", *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_label_privacy_tells_of_every_mechanism_and_draws_what_it_found(tmp_path):
    pytest.importorskip("matplotlib")
    printed = run("papers/label_privacy.py", "--out", str(tmp_path))
    records = json.loads((tmp_path / "label_privacy.json").read_text("utf-8"))["records"]
    methods = {record["method"] for record in records}
    assert {"Laplace", "L2Laplace", "Cube", "Auto", "L2Laplace, δ", "Gaussian, δ", "Auto, δ"} < methods
    accuracy = {
        method: sum(record["accuracy"] for record in records if record["method"] == method) / 2
        for method in ("all labels", "chance", "Auto")
    }
    assert accuracy["all labels"] > 0.9 > accuracy["Auto"] - 0.1 > 0.7 > accuracy["chance"]
    page = (tmp_path / "label_privacy.md").read_text("utf-8")
    assert page.count("| Auto, δ |") == 1
    assert printed.count("Kept") + printed.count("Not kept") == 2
    assert (tmp_path / "label_privacy.svg").read_text("utf-8").count("breast cancer") == 1
    assert (tmp_path / "label_privacy.png").stat().st_size > 10_000


def test_the_speed_of_the_mean_operator_is_told_as_ratios(tmp_path):
    from suffice.maths import kernels

    if not kernels.COMPILED:
        pytest.skip("the kernels are not compiled here, which the benchmark refuses")
    printed = run("speed/mean_operator.py", "--out", str(tmp_path / "speed.json"))
    told = json.loads((tmp_path / "speed.json").read_text("utf-8"))
    assert printed.startswith("COMPILED: True\n")
    assert [ratio["most"] for ratio in told["ratios"]] == [2.5, 5.0, 6.0, 1.5, 1.0, 1.25]
    assert all(ratio["ratio"] > 0 for ratio in told["ratios"])
    assert set(told["seconds"]["nanoseconds_a_row"]) == {"fold", "fit"}
