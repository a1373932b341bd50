"""The benchmark of randomised answers keeps its figures and draws them."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks.test_smoke import run


def test_randomised_response_keeps_its_figures_and_draws_them(tmp_path):
    pytest.importorskip("matplotlib")
    printed = run("papers/randomised_response.py", "--out", str(tmp_path))
    told = json.loads((tmp_path / "randomised_response.json").read_text("utf-8"))
    assert printed.count(": kept") == len(told["checks"]) == 9
    assert all(told["checks"].values())
    assert told["voting"]["as printed"] > 0.9
    assert told["voting"]["likelihood"] < 0.7
    for name in ("reconstruction", "efficiency"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
        assert "<svg" in (tmp_path / f"{name}.svg").read_text("utf-8")
