from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import suffice as sf
from suffice.core.errors import BoundsError, InputError, SchemaError, UnboundedSensitivity
from tests.statistics.oracle import grid_row, shortened, signed_sum

UNIT = sf.LabelOf("y")
values = st.floats(-50, 50, allow_nan=False, width=64)


def table(rows: list[list[float]], labels: list[int]) -> sf.Table:
    columns = {f"x{j}": [row[j] for row in rows] for j in range(len(rows[0]))}
    return sf.Table(pa.table({**columns, "y": pa.array(labels, pa.int64())}), name="rows")


@given(
    rows=st.lists(st.lists(values, min_size=3, max_size=3), min_size=1, max_size=12),
    seed=st.integers(0, 2**12 - 1),
    norm=st.sampled_from([1, 2, "inf"]),
    radius=st.sampled_from([0.3, 1.0, 40.0]),
)
def test_the_sum_is_that_of_whole_number_arithmetic(rows, seed, norm, radius):
    labels = [(seed >> place) & 1 for place in range(len(rows))]
    centres, scales = [0.5, -1.0, 0.0], [2.0, 3.0, 7.0]
    recipe = sf.Recipe(tuple(sf.Numeric(f"x{j}", centres[j], scales[j]) for j in range(3)))
    settled = sf.MeanOperator(recipe, "y", bound=sf.Bound(norm, radius)).resolve(table(rows, labels), UNIT)
    total = settled.finalise(sf.fold(settled, table(rows, labels)))[0].tolist()
    grid = [shortened(grid_row(row, centres, scales, 20), norm, settled.radius) for row in rows]
    assert total == signed_sum(grid, [2 * label - 1 for label in labels])


@given(seed=st.integers(0, 10**6), workers=st.integers(1, 3), cut=st.integers(1, 39))
def test_order_split_and_workers_change_no_byte(seed, workers, cut):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.standard_normal((40, 3)), columns=["a", "b", "c"]).assign(
        y=rng.integers(0, 2, 40)
    )
    shuffled = frame.sample(frac=1.0, random_state=seed)
    mu = sf.MeanOperator(["a", "b", "c"], "y", bound=sf.Bound(2, sf.Radius.public(0.9)))
    settled = mu.resolve(sf.Table(frame), UNIT)
    assert settled == mu.resolve(sf.Table(shuffled), UNIT)
    whole = sf.fold(settled, sf.Table(frame), workers=workers)
    parts = [sf.fold(settled, sf.Table(part)) for part in (shuffled[:cut], shuffled[cut:])]
    merged = settled.merge(*parts)
    assert (whole.totals == merged.totals).all()
    assert settled.witness(whole) == settled.witness(merged)


def test_a_public_radius_is_the_order_statistic_of_the_norms():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((101, 2)), columns=["a", "b"]).assign(y=0)
    recipe = sf.Recipe((sf.Numeric("a"), sf.Numeric("b")))
    grid = recipe.grid(pa.RecordBatch.from_pandas(frame, preserve_index=False), 20)
    norms = sorted(int(np.ceil(np.sqrt(float(sum(int(v) ** 2 for v in row))))) for row in grid)
    for level, place in ((0.5, 51), (0.95, 96), ("max", 101)):
        mu = sf.MeanOperator(recipe, "y", bound=sf.Bound(2, sf.Radius.public(level)))
        assert mu.resolve(sf.Table(frame), UNIT).radius == norms[place - 1]


def test_beyond_a_million_rows_the_radius_comes_from_a_sample_that_the_rows_decide(monkeypatch):
    monkeypatch.setattr("suffice.statistics.radius.SAMPLE", 1000)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.standard_normal(20_000), "y": 0})
    mu = sf.MeanOperator(["a"], "y", bound=sf.Bound(2, sf.Radius.public(0.9)))
    whole = mu.resolve(sf.Table(frame), UNIT).radius
    assert mu.resolve(sf.Table(frame.sort_values("a")), UNIT).radius == whole
    monkeypatch.setattr("suffice.statistics.radius.SAMPLE", 10**6)
    exact = mu.resolve(sf.Table(frame), UNIT).radius
    assert whole != exact
    assert abs(whole / exact - 1) < 0.1


def test_binary_classes_are_read_off_the_type_and_never_off_the_values():
    ints = sf.MeanOperator(["a"], "y", bound=sf.Bound(2, 1.0))
    for labels, kind, classes in (([1, 1], pa.int8(), (0, 1)), ([True, True], pa.bool_(), (False, True))):
        source = sf.Table(pa.table({"a": [0.1, 0.2], "y": pa.array(labels, kind)}))
        assert ints.resolve(source, UNIT).classes.values == classes
    text = sf.Table(pa.table({"a": [0.1], "y": ["no"]}))
    with pytest.raises(SchemaError, match="State them, negative first"):
        ints.resolve(text, UNIT)


@pytest.mark.parametrize(
    ("columns", "error", "words"),
    [
        ({"a": [0.1, None], "y": [0, 1]}, SchemaError, "'a', row 1 there is no value"),
        ({"a": [0.1, float("nan")], "y": [0, 1]}, SchemaError, "'a', row 1"),
        ({"a": [float("inf"), 0.1], "y": [0, 1]}, SchemaError, "'a', row 0 there is inf"),
        (
            {"a": [0.1, 1e9], "y": [0, 1]},
            BoundsError,
            "'a', row 1 there is 1e\\+09, which lies beyond the grid",
        ),
        ({"a": [0.1, 0.2], "y": [0, 2]}, SchemaError, "'y', row 1 there is the label 2"),
        ({"a": [0.1, 0.2], "y": [0, None]}, SchemaError, "'y', row 1 there is no label"),
        ({"b": [0.1, 0.2], "y": [0, 1]}, SchemaError, "no column 'a'"),
        ({"a": ["u", "v"], "y": [0, 1]}, SchemaError, "Recipe.learn"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(columns, error, words):
    source = sf.Table(pa.table(columns))
    mu = sf.MeanOperator(["a"], "y", bound=sf.Bound(2, 1.0))
    with pytest.raises(error, match=words):
        sf.fold(mu.resolve(source, UNIT), source)


def test_protected_columns_are_refused_among_the_features():
    source = sf.Table(pa.table({"a": [0.1], "b": [0.2], "y": [1]}))
    bound = sf.Bound(2, 1.0)
    with pytest.raises(UnboundedSensitivity, match="among the features"):
        sf.MeanOperator(["a", "y"], "y", bound=bound).resolve(source, UNIT)
    with pytest.raises(UnboundedSensitivity, match="'b' is protected"):
        sf.MeanOperator(["a", "b"], "y", bound=bound).resolve(source, sf.LabelOf("y", "b"))
    with pytest.raises(UnboundedSensitivity, match="not what the ledger protects"):
        sf.MeanOperator(["a"], "y", bound=bound).resolve(source, sf.LabelOf("b"))


def test_under_a_record_unit_nothing_may_be_learned_from_the_rows():
    source = sf.Table(pa.table({"a": [0.1, 0.4], "y": [1, 0]}))
    learned = sf.Recipe.learn(source, columns=["a"])
    with pytest.raises(UnboundedSensitivity, match="learned from columns that this ledger protects"):
        sf.MeanOperator(learned, "y", bound=sf.Bound(2, 1.0)).resolve(source, sf.RecordOf("replace"))
    with pytest.raises(UnboundedSensitivity, match="State a radius"):
        sf.MeanOperator(["a"], "y", bound=sf.Bound(2, sf.Radius.public())).resolve(
            source, sf.RecordOf("replace")
        )


def test_a_text_of_names_is_not_taken_for_a_list():
    with pytest.raises(InputError, match=r"write \['age'\]"):
        sf.MeanOperator("age", "y", bound=sf.Bound(2, 1.0))
