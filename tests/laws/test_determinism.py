"""G1 and G2: one set of rows has one sum, however it is cut, ordered, stored, read and added up."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest

import suffice as sf
from suffice.core.fold import fold

EDGES = (0.0, -0.0, 5e-324, 1e-300, 0.5, 2.0**-21, 3.0**0.5, 1.0, -1.0, 11.9, -11.9)
UNITS = (sf.LabelOf("y"), sf.RecordOf("replace"), sf.RecordOf("add-remove"))


def rows_of(draw, size, classes):
    wild = draw.normal(size=(2, size)) * 10.0 ** draw.integers(-3, 1)
    mixed = np.where(draw.random((2, size)) < 0.2, draw.choice(EDGES, (2, size)), wild)
    return pa.table({"a": mixed[0], "b": mixed[1], "y": draw.integers(0, classes, size)})


def settled_for(draw, unit, classes):
    norm, radius = draw.choice([1, 2, 3]), float(draw.choice([2.0**-20, 0.3, 1.0, 30.0]))
    bound = sf.Bound("inf" if norm == 3 else int(norm), radius)
    mu = sf.MeanOperator(["a", "b"], "y", bound=bound, classes=tuple(range(classes)))
    return mu.resolve(sf.Table(rows_of(draw, 2, classes)), unit)


def told(settled, state, unit):
    witness = settled.witness(state)
    return settled.finalise(state).tobytes(), repr(witness), settled.sensitivity(unit, state)


def added(settled, table, edges):
    whole = table.combine_chunks()
    state = settled.init()
    for low, high in zip(edges, [*edges[1:], whole.num_rows], strict=True):
        for batch in whole.slice(low, high - low).to_batches():
            state = settled.merge(settled.update(settled.init(), batch), state)
    return state


def differing(cases, seed, add=added):
    """How many of so many cases give other bytes when shuffled, cut and added in another order."""
    draw, bad = np.random.default_rng(seed), 0
    for _ in range(cases):
        unit, classes = UNITS[draw.integers(3)], int(draw.integers(2, 5))
        settled = settled_for(draw, unit, classes)
        table = rows_of(draw, int(draw.integers(1, 80)), classes)
        mixed = table.take(pa.array(draw.permutation(table.num_rows)))
        edges = sorted({0, *draw.integers(0, table.num_rows, 4).tolist()})
        once = told(settled, add(settled, table, [0]), unit)
        bad += once != told(settled, add(settled, mixed, edges), unit)
    return bad


def test_any_order_and_any_cut_give_the_same_bytes():
    assert differing(100, 1) == 0


@pytest.mark.laws
def test_any_order_and_any_cut_give_the_same_bytes_at_full_size(gate):
    bad = differing(1000, None)
    gate("G1", "0 of 1,000 cases differ", f"{bad} of 1,000", "a sum in doubles")
    assert bad == 0


def test_a_sum_in_doubles_would_be_caught():
    class Floats:
        def __init__(self, settled):
            self.settled = settled

        def __getattr__(self, name):
            return getattr(self.settled, name)

        def told(self, table, order):
            rows = self.settled.encoder.recipe.apply(table.take(pa.array(order)))
            return np.add.reduce(np.ascontiguousarray(rows) / 3.0, axis=0).tobytes()

    draw = np.random.default_rng(2)
    seen = 0
    for _ in range(30):
        floats = Floats(settled_for(draw, UNITS[0], 2))
        table = rows_of(draw, 60, 2)
        seen += floats.told(table, draw.permutation(60)) != floats.told(table, np.arange(60))
    assert seen > 5


def stored(table, folder, group):
    pq.write_table(table, folder / "x.parquet", row_group_size=group)
    pf.write_feather(table, str(folder / "x.feather"), chunksize=group)
    yield sf.Table(table)
    yield sf.Parquet(folder / "x.parquet")
    yield sf.Feather(folder / "x.feather")
    yield sf.DuckDB(f"select * from '{folder / 'x.parquet'}'")  # noqa: S608  a path of ours


def engines_agree(table, folder, group):
    """Every engine, with one worker and with two, gives the bytes of the first."""
    settled = sf.MeanOperator(["a", "b"], "y", bound=sf.Bound(2, 1.0)).resolve(sf.Table(table), UNITS[0])
    found = {
        told(settled, fold(settled, source, workers=workers), UNITS[0])
        for source in stored(table, folder, group)
        for workers in (1, 2)
    }
    return len(found) == 1


def test_every_engine_gives_the_same_bytes(tmp_path):
    draw = np.random.default_rng(4)
    assert engines_agree(rows_of(draw, 5000, 2), tmp_path, 700)


@pytest.mark.laws
def test_every_engine_gives_the_same_bytes_for_five_million_rows(tmp_path, gate):
    draw = np.random.default_rng()
    table = pa.table({name: draw.normal(size=5_000_000) for name in "ab"})
    table = table.append_column("y", pa.array(draw.integers(0, 2, 5_000_000)))
    same = engines_agree(table, tmp_path, 100_000)
    gate(
        "G1",
        "5M rows: the same bytes from four engines",
        "the same" if same else "others",
        "a sum in doubles",
    )
    assert same


def broken_laws(cases, seed, merge=None):
    """How often associativity, commutativity or the identity of the states of a mean operator fails."""
    draw, bad = np.random.default_rng(seed), 0
    for _ in range(cases):
        unit, classes = UNITS[draw.integers(3)], int(draw.integers(2, 4))
        settled = settled_for(draw, unit, classes)
        add = merge or settled.merge
        one, two, three = (
            settled.update(settled.init(), rows_of(draw, int(draw.integers(1, 6)), classes).to_batches()[0])
            for _ in range(3)
        )
        same = [
            told(settled, add(add(one, two), three), unit) == told(settled, add(one, add(two, three)), unit),
            told(settled, add(one, two), unit) == told(settled, add(two, one), unit),
            told(settled, add(settled.init(), one), unit) == told(settled, one, unit),
        ]
        bad += not all(same)
    return bad


def test_states_are_a_commutative_monoid():
    assert broken_laws(150, 5) == 0


@pytest.mark.laws
def test_states_are_a_commutative_monoid_at_full_size(gate):
    bad = broken_laws(10_000, None)
    gate("G2", "0 of 10,000 cases break a law", f"{bad} of 10,000", "an accumulator of 32 bits")
    assert bad == 0


def test_an_accumulator_of_thirty_two_bits_would_be_caught(monkeypatch):
    """It agrees with itself, being a monoid too; what it breaks is the agreement with the exact sum."""
    table = pa.table({"a": [11.0] * 3000, "b": [0.5] * 3000, "y": [1] * 3000})
    settled = sf.MeanOperator(["a", "b"], "y", bound=sf.Bound(2, 9.0)).resolve(sf.Table(table), UNITS[0])
    exact = settled.finalise(fold(settled, sf.Table(table)))
    one = settled.finalise(added(settled, table.slice(0, 1), [0]))
    assert (exact == 3000 * one).all()
    narrow = exact.astype(np.int32).astype(np.int64)
    assert (narrow != 3000 * one).any()
