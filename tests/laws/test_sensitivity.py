"""Declared sensitivity against executed neighbours, on adversarial rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import suffice as sf

UNITS = (sf.LabelOf("y"), sf.RecordOf("replace"), sf.RecordOf("add-remove"), sf.FeatureOf("b"))
edges = st.sampled_from([0.0, -0.0, 5e-324, 1e-300, 1.0, -1.0, 0.5, 11.9, -11.9, 2.0**-21, 3.0**0.5])
numbers = st.one_of(edges, st.floats(-11, 11, allow_nan=False))


def rows_of(drawn: list[tuple[float, float, int]], classes: int) -> pa.RecordBatch:
    first, second, labels = zip(*drawn, strict=True)
    return pa.RecordBatch.from_pydict(
        {"a": list(first), "b": list(second), "y": [label % classes for label in labels]}
    )


def moved(settled, batch: pa.RecordBatch, other: pa.RecordBatch) -> np.ndarray:
    one, two = (settled.update(settled.init(), rows) for rows in (batch, other))
    return (settled.finalise(one) - settled.finalise(two)).ravel()


def sizes(difference: np.ndarray) -> tuple[int, float, int]:
    exact = [int(value) for value in difference]
    return sum(map(abs, exact)), sum(value * value for value in exact), max(map(abs, exact))


def settled_for(unit, norm, radius: float, classes: int):
    source = sf.Table(pa.table({"a": [0.0], "b": [0.0], "y": [0]}))
    mu = sf.MeanOperator(["a", "b"], "y", bound=sf.Bound(norm, radius), classes=tuple(range(classes)))
    return mu.resolve(source, unit)


def check(unit, norm, radius, classes, drawn, picks) -> None:
    settled = settled_for(unit, norm, radius, classes)
    batch = rows_of(drawn, classes)
    declared = settled.sensitivity(unit, None)
    taken = iter(picks * 4)
    for other in settled.neighbours(batch, unit, lambda n: next(taken) % n):
        l1, square, linf = sizes(moved(settled, batch, other))
        assert l1 <= declared.l1
        assert square <= declared.l2**2
        assert linf <= declared.linf


SITUATION = {
    "unit": st.sampled_from(UNITS),
    "norm": st.sampled_from([1, 2, "inf"]),
    "radius": st.sampled_from([2.0**-20, 0.01, 0.7, 1.0, 30.0]),
    "classes": st.integers(2, 4),
    "drawn": st.lists(st.tuples(numbers, numbers, st.integers(0, 11)), min_size=1, max_size=6),
    "picks": st.lists(st.integers(0, 100), min_size=2, max_size=2),
}


@given(**SITUATION)
def test_no_neighbour_moves_the_sum_by_more_than_its_sensitivity(unit, norm, radius, classes, drawn, picks):
    check(unit, norm, radius, classes, drawn, picks)


@pytest.mark.laws
@given(**SITUATION)
def test_no_neighbour_moves_the_sum_by_more_than_its_sensitivity_at_full_size(
    unit, norm, radius, classes, drawn, picks
):
    check(unit, norm, radius, classes, drawn, picks)


@pytest.mark.parametrize("norm", [1, 2, "inf"])
def test_the_sensitivity_in_the_norm_of_the_bound_is_attained(norm):
    settled = settled_for(sf.LabelOf("y"), norm, 0.5, 2)
    long = rows_of([(0.0, 0.0, 0)], 2) if norm != "inf" else rows_of([(9.0, 9.0, 0)], 2)
    flipped = long.set_column(2, "y", pa.array([1]))
    l1, square, linf = sizes(moved(settled, long, flipped))
    declared = settled.sensitivity(sf.LabelOf("y"), None)
    reached = {1: l1 / declared.l1, 2: square**0.5 / declared.l2, "inf": linf / declared.linf}[norm]
    assert reached == pytest.approx(1.0, abs=1e-12)


def test_clipping_in_floats_would_break_the_sensitivity():
    """The mutant: shorten in doubles, then round. It moves the sum further than was declared."""
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((2000, 3)) * 5
    radius = 1000
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    floated = np.rint(rows * np.minimum(1.0, 1.0 / norms) * radius)
    assert (np.einsum("ij,ij->i", floated, floated) > radius**2).mean() > 0.2
    from suffice.core.bounds import clip

    exact = clip(np.rint(rows * radius).astype(np.int64), 2, radius)
    assert (np.einsum("ij,ij->i", exact, exact) <= radius**2).all()
