from __future__ import annotations

import numpy as np
import pytest

from suffice import surveys
from suffice.core.errors import InputError


def lists(n, prevalence, seed=0, leave_out=0.0):
    """Counts of three harmless items, and of a sensitive one for every second person."""
    draw = np.random.default_rng(seed)
    saw = np.arange(n) % 2
    harmless = draw.binomial(3, 0.5, n)
    hides = (draw.random(n) < leave_out) & (saw == 1)
    count = np.where(hides, 0, harmless + saw * (draw.random(n) < prevalence))
    return {"count": count, "saw": saw}


def test_the_difference_of_means_is_the_prevalence():
    found = surveys.list_count(lists(20_000, 0.3), count="count", treated="saw")
    assert found.prevalence == pytest.approx(0.3, abs=4 * found.stderr)
    one, two = (np.array(lists(20_000, 0.3)["count"])[at::2] for at in (1, 0))
    by_hand = (one.var(ddof=1) / one.size + two.var(ddof=1) / two.size) ** 0.5
    assert found.stderr == pytest.approx(by_hand, rel=1e-3)
    assert found.p_value > 0.05


def test_shares_of_the_table_add_up():
    found = surveys.list_count(lists(4000, 0.4), count="count", treated="saw")
    without, with_item = map(sum, zip(*found.table, strict=True))
    assert with_item == pytest.approx(found.prevalence, abs=1e-12)
    assert without + with_item == pytest.approx(1.0, abs=1e-12)


def test_a_list_that_makes_people_hide_is_found():
    found = surveys.list_count(lists(4000, 0.1, leave_out=0.4), count="count", treated="saw")
    assert found.p_value < 1e-6


def test_counts_and_groups_are_checked():
    with pytest.raises(InputError, match="whole numbers"):
        surveys.list_count({"c": [0.5, 1, 2, 1], "t": [0, 1, 0, 1]}, count="c", treated="t")
    with pytest.raises(InputError, match="two people in each"):
        surveys.list_count({"c": [1, 1, 2, 1], "t": [0, 0, 0, 1]}, count="c", treated="t")
