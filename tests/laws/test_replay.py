"""G4: with the noise frozen, a neighbour changes nothing that anyone can see but the values."""

from __future__ import annotations

import pytest

from suffice.statistics.mean_operator import MeanOperator
from suffice.statistics.mean_sum import MeanSum
from tests.laws import replay


@pytest.fixture
def bench(tmp_path):
    return replay.Bench(tmp_path)


def test_a_neighbour_changes_nothing_that_anyone_can_see(bench, monkeypatch):
    assert replay.differences(bench, monkeypatch, 105, 1) == (0, "")


@pytest.mark.laws
@pytest.mark.parametrize("path", replay.PATHS)
def test_a_neighbour_changes_nothing_that_anyone_can_see_at_full_size(bench, monkeypatch, path, gate):
    bad, first = replay.differences(bench, monkeypatch, 1000, None, paths=(path,))
    required = f"{path}: 0 of 1,000 pairs differ in anything but values"
    gate("G4", required, f"{bad} of 1,000", "private clip bound, inferred classes, exact count in the header")
    assert bad == 0, first


def test_a_path_is_not_quiet_because_it_fails(bench):
    """Each path ends with the code that it should: the replay compares work that was done."""
    codes = {
        path: [code for code, _, _ in bench.trace(replay.rows(1), "label", "Laplace", path).said]
        for path in replay.PATHS
    }
    assert codes == {
        "release": [0],
        "as JSON": [0, 0],
        "asked twice": [0, 0],
        "dry run": [0],
        "overspent": [3],
        "does not fit": [2],
        "verified": [0, 0, 0],
    }


def test_values_do_differ(bench, monkeypatch):
    """The control: a replay that also compared the values would see every neighbour."""
    monkeypatch.setattr(replay, "replace", lambda release, **_: release)
    monkeypatch.setattr(replay.np, "zeros_like", lambda values: values)
    assert replay.differences(bench, monkeypatch, 6, 1, paths=("release",))[0] >= 4


def private_radius(self, source, unit, encoder, *_how):
    """The clip bound is read off rows that the unit protects."""
    rows = [batch for part in source.fragments(("b",)) for batch in part.batches()]
    return 1000 + int(sum(sum(batch.column("b").to_pylist()) for batch in rows))


def exact_count(self, state, unit):
    facts = REAL_FACTS(self, state, unit)
    return type(facts)(**{n: getattr(facts, n) for n in facts.__slots__} | {"about": {"count": state.count}})


REAL_FACTS = MeanSum.facts


@pytest.mark.parametrize(
    ("owner", "name", "mutant", "units"),
    [
        (MeanOperator, "_radius", private_radius, ("replaced record",)),
        (MeanSum, "facts", exact_count, ("added or removed record",)),
    ],
)
def test_a_bug_that_follows_protected_values_is_seen(bench, monkeypatch, owner, name, mutant, units):
    monkeypatch.setattr(owner, name, mutant)
    assert replay.differences(bench, monkeypatch, 4, 1, units=units, paths=("release",))[0] > 0
