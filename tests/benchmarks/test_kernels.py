"""The speed of the kernels is measured, at its smallest, and what is written can be read."""

from __future__ import annotations

import json

import pytest

from suffice.maths import kernels
from tests.benchmarks.test_smoke import run

pytestmark = pytest.mark.skipif(not kernels.COMPILED, reason="the benchmarks refuse the fallback")


def test_kernels_are_told_as_ratios(tmp_path):
    pytest.importorskip("duckdb")
    pytest.importorskip("polars")
    printed = run("speed/kernels.py", "--clock", "cpu", "--out", str(tmp_path / "kernels.json"))
    told = json.loads((tmp_path / "kernels.json").read_text("utf-8"))
    assert printed.startswith("COMPILED: True\n")
    assert [ratio["most"] for ratio in told["ratios"]] == [1.3, 2.3, 1.0, 1.0, 2.0, 2.0, 1 / 5, 1 / 30, 1 / 8]
    assert all(ratio["ratio"] > 0 for ratio in told["ratios"])


def test_kernels_stand_beside_a_read_of_the_same_array(tmp_path):
    printed = run("speed/roofline.py", "--out", str(tmp_path / "roofline.json"))
    told = json.loads((tmp_path / "roofline.json").read_text("utf-8"))
    assert printed.count("read of the same array") == len(told["seconds"]) == 3
    assert all(seconds > 0 for found in told["seconds"].values() for seconds in found.values())
