"""The number of tests does not fall unnoticed."""

from __future__ import annotations

import pytest

from tests.conftest import COLLECTED
from tests.style.house import ROOT

FLOOR = ROOT / "tests" / "style" / "count.txt"


def floor() -> int:
    return int(FLOOR.read_text("utf-8").split()[0])


def test_there_are_no_fewer_tests_than_before(request):
    config = request.config
    if {(ROOT / arg).resolve() for arg in config.args} != {ROOT / "tests"} or config.option.keyword:
        pytest.skip("only a part of the tests was asked for")
    collected = config.stash[COLLECTED]
    assert collected >= floor(), (
        f"{collected} tests were collected, {FLOOR.name} promises {floor()}. If some were taken away on "
        f"purpose, say so in a fragment in changes/ and write the new number."
    )
    assert floor() >= 0.9 * collected, (
        f"{collected} tests were collected: write that number into {FLOOR.name}."
    )
