"""The benchmark of surveys keeps the figures that it promises."""

from __future__ import annotations

import json

from tests.benchmarks.test_smoke import run


def test_published_totals_give_their_published_figures(tmp_path):
    printed = run("papers/surveys.py", "--out", str(tmp_path / "surveys.json"))
    found = json.loads((tmp_path / "surveys.json").read_text("utf-8"))
    assert printed.count("NOT KEPT") == 0
    assert found["checks"] == {
        "nigeria": True,
        "nigeria_epsilon": True,
        "crosswise_honest_do_not_all_follow": True,
    }
    assert abs(found["totals"]["crosswise_honest_compliance"]["share"] - 0.228) < 1e-3
