"""G3: of a hundred thousand executed neighbours none moves the sum further than was declared."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import suffice as sf
from suffice.core.bounds import Sensitivity
from suffice.core.errors import InputError
from suffice.statistics.mean_sum import MeanSum

UNITS = {
    "label": sf.LabelOf("y"),
    "replaced record": sf.RecordOf("replace"),
    "added or removed record": sf.RecordOf("add-remove"),
    "feature": sf.FeatureOf("b"),
}
EDGES = np.array([0.0, -0.0, 5e-324, -1e-310, 1e-300, 1.0, -1.0, 2.0**-21, 3.0**0.5, 11.9, -11.9, 8.0])
WILD = np.array([1e5, -1e300, 1e308])  # beyond the grid: moved to its edge where rows are protected
REFUSED = np.array([np.nan, np.inf, -np.inf])


def values(draw, size, wild):
    plain = draw.normal(size=size) * 10.0 ** draw.integers(-3, 1)
    pool = np.concatenate([EDGES, WILD]) if wild else EDGES
    return np.where(draw.random(size) < 0.5, draw.choice(pool, size), np.clip(plain, -11, 11))


def violations(pairs, unit, seed):
    """Executed pairs that move the sum too far, and the largest share of the declared that one reached."""
    draw, bad, reached, done = np.random.default_rng(seed), 0, 0.0, 0
    wild = not unit.rows_are_public
    while done < pairs:
        norm, classes = (1, 2, "inf")[draw.integers(3)], int(draw.integers(2, 5))
        bound = sf.Bound(norm, float(draw.choice([2.0**-20, 0.01, 0.7, 1.0, 30.0])))
        mu = sf.MeanOperator(["a", "b"], "y", bound=bound, classes=tuple(range(classes)))
        size = int(draw.integers(1, 5))
        columns = {"a": values(draw, size, wild), "b": values(draw, size, wild)}
        batch = pa.record_batch(columns | {"y": draw.integers(0, classes, size)})
        settled = mu.resolve(sf.Table(pa.Table.from_batches([batch])), unit)
        state = settled.update(settled.init(), batch)
        declared, total = settled.sensitivity(unit, state), settled.finalise(state)
        for other in settled.neighbours(batch, unit, lambda n: int(draw.integers(n))):
            if not other.num_rows:
                continue
            done += 1
            moved = settled.finalise(settled.update(settled.init(), other)) - total
            exact = [abs(int(one)) for one in moved.ravel()]
            l1, square, linf = sum(exact), sum(one * one for one in exact), max(exact)
            bad += l1 > declared.l1 or square > declared.l2**2 or linf > declared.linf
            if l1:
                reached = max(reached, l1 / declared.l1, square**0.5 / declared.l2, linf / declared.linf)
    return bad, reached


@pytest.mark.parametrize("name", UNITS)
def test_no_executed_neighbour_moves_the_sum_too_far(name):
    bad, reached = violations(400, UNITS[name], 3)
    assert bad == 0
    assert reached > 0.99


@pytest.mark.laws
@pytest.mark.parametrize("name", UNITS)
def test_no_executed_neighbour_moves_the_sum_too_far_at_full_size(name, gate):
    bad, reached = violations(100_000, UNITS[name], None)
    seen = f"{bad} of 100,000; reached {reached:.6f} of the declared"
    gate("G3", f"{name}: 0 of 100,000 pairs, attained", seen, "lower bound twice, unclipped rows, halved")
    assert bad == 0
    assert reached > 0.999


def lower_bound_twice(self, unit, public=None):
    """diffprivlib's linear regression: the width of the bounds is taken as low - low."""
    return Sensitivity(1, 1, 1)


def halved(self, unit, public=None):
    moved = REAL(self, unit, public)
    return Sensitivity(*(-(-one // 2) for one in (moved.l1, moved.l2, moved.linf)))


REAL = MeanSum.sensitivity


@pytest.mark.parametrize("mutant", [lower_bound_twice, halved])
@pytest.mark.parametrize("name", UNITS)
def test_a_sensitivity_that_is_too_small_is_caught(name, mutant, monkeypatch):
    monkeypatch.setattr(MeanSum, "sensitivity", mutant)
    assert violations(400, UNITS[name], 3)[0] > 0


@pytest.mark.parametrize("value", REFUSED)
@pytest.mark.parametrize("name", UNITS)
def test_a_value_that_is_no_number_is_refused_and_moves_nothing(name, value):
    mu = sf.MeanOperator(["a", "b"], "y", bound=sf.Bound(2, 1.0))
    source = sf.Table({"a": [1.0, value], "b": [0.0, 1.0], "y": [0, 1]})
    with pytest.raises(InputError, match="column 'a', row 1"):
        sf.fold(mu.resolve(source, UNITS[name]), source)
