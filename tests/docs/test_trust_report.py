"""The trust report is what the committed record says, and the record holds no failure."""

from __future__ import annotations

import pytest

from docs.trust import report_page

pytest.importorskip("apsw")
from tests.laws.seeded import BUGS


def test_the_report_is_written_from_the_record():
    assert report_page.PAGE.read_text("utf-8") == report_page.page(), "Run python docs/trust/report_page.py"


def test_every_line_of_the_record_says_when_where_and_how_it_ended():
    for test, line in report_page.lines().items():
        assert {"gate", "outcome", "seconds", "date", "commit"} <= set(line), test
        assert line["outcome"] == "passed", test


def test_every_seeded_bug_has_a_line():
    told = [line["required"] for line in report_page.lines().values() if line["gate"] == "G30"]
    assert [name for name in BUGS if not any(one.startswith(f"{name}: ") for one in told)] == []


def test_gates_are_in_the_order_of_their_numbers_and_have_names():
    gates = [line["gate"] for line in report_page.lines().values()]
    assert {"G5", "G8", "G9", "G30"} <= set(gates) <= set(report_page.TITLES) | {"other"}
    assert sorted(["other", "G10", "G9"], key=report_page.order) == ["G9", "G10", "other"]


def test_a_failed_gate_would_be_shown_as_one():
    line = {"gate": "G5", "outcome": "failed", "seconds": 1.0, "date": "2026-01-01", "commit": "abc"}
    told = report_page.section("G5", [("x.py::test_a_thing_holds[1]", line)])
    assert "1 of 1 FAILED" in told
    assert "a thing holds[1]: failed" in told
