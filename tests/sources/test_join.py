"""Joins: every label reaches one row, and keys alone decide which rows there are."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.core.errors import InputError, SchemaError
from suffice.core.fold import fold
from suffice.sources.frame import batches
from suffice.sources.join import Join
from suffice.sources.table import Table
from tests.laws.test_fold import IntegerSum, cut

LABELS = pa.table({"id": [3, 1, 2], "y": ["c", "a", "b"]})
FEATURES = pa.table({"id": [1, 2, 3], "x": [10, 20, 30]})


def rows(source, *columns) -> list[tuple]:
    found = [batch.to_pydict() for batch in batches(source, columns or ("id", "x", "y"))]
    return [row for batch in found for row in zip(*batch.values(), strict=True)]


def test_rows_come_in_the_order_of_the_features_with_their_labels():
    joined = Join(LABELS, FEATURES, on="id")
    assert rows(joined) == [(1, 10, "a"), (2, 20, "b"), (3, 30, "c")]
    assert rows(joined, "y", "x") == [("a", 10), ("b", 20), ("c", 30)]
    assert (joined.rows, joined.key_columns, joined.partition_columns) == (3, ("id",), ())
    assert joined.name == "labels joined with features on id"


@pytest.mark.parametrize(
    "keys",
    [
        lambda ids: pa.array([f"k{i}" for i in ids]),
        lambda ids: pa.array([f"k{i}" for i in ids], pa.large_string()),
        lambda ids: pa.array([f"k{i}" for i in ids]).dictionary_encode(),
        lambda ids: pa.array(ids, pa.uint16()),
        lambda ids: pa.array([dt.date(2026, 1, i) for i in ids]),
        lambda ids: pa.array([dt.datetime(2026, 1, i) for i in ids]),  # noqa: DTZ001
        lambda ids: pa.array([-(2**62) - i for i in ids]),
    ],
)
def test_keys_are_whole_numbers_texts_or_dates(keys):
    labels = LABELS.set_column(0, "id", keys([3, 1, 2]))
    features = FEATURES.set_column(0, "id", keys([1, 2, 3]))
    assert rows(Join(labels, features, on="id"), "x", "y") == [(10, "a"), (20, "b"), (30, "c")]


def test_texts_meet_in_whatever_way_they_are_stored():
    labels = pa.table({"id": ["a", "b"], "y": [1, 2]})
    features = pd.DataFrame({"id": pd.Categorical(["b", "a"]), "x": [1, 2]})
    assert rows(Join(labels, features, on="id"), "x", "y") == [(1, 2), (2, 1)]


keyed = st.lists(st.integers(-50, 50), unique=True, max_size=30)


@given(keyed, keyed, st.lists(st.integers(0, 30), max_size=4))
def test_dropping_gives_what_a_dictionary_gives(labels, features, places):
    table = {key: 7 * key for key in labels}
    source = Join(
        pa.table({"v": pa.array(labels, pa.int64()), "y": pa.array(list(table.values()), pa.int64())}),
        cut(features, places, 3),
        on="v",
        unmatched="drop",
    )
    expected = [(key, table[key]) for key in features if key in table]
    assert rows(source, "v", "y") == expected
    starts = [
        (piece.start, sum(batch.num_rows for batch in piece.batches())) for piece in source.fragments(("y",))
    ]
    assert all(start == sum(count for _, count in starts[:at]) for at, (start, _) in enumerate(starts))


def test_a_label_changes_nothing_but_itself():
    other = LABELS.set_column(1, "y", pa.array(["z", None, "b"]))
    one, two = (Join(labels, FEATURES, on="id", unmatched="drop") for labels in (LABELS, other))
    assert rows(one, "id", "x") == rows(two, "id", "x")
    assert [f.id for f in one.fragments(("y",))] == [f.id for f in two.fragments(("y",))]


@pytest.mark.parametrize(
    ("labels", "features", "message"),
    [
        ([1, 2, 2], [1, 2], r"row 2 there is the key '?2'? for the second time among the labels"),
        (
            [1, 2, 3],
            [1, 2, 1, 3],
            r"row 2 there is the key '?1'? for the second time\. One label must not reach two",
        ),
        ([1, 2], [1, 2, 3], r"row 2 there is the key '?3'?, which has no label"),
        (
            [1, 5, 2],
            [1, 2],
            r"row 1 there is the key '?5'? among the labels, which no row of the features has",
        ),
        ([1, None], [1], "row 1 there is no key"),
        ([1, 2], [1, 2, None], "row 2 there is no key"),
    ],
)
@pytest.mark.parametrize("kind", [pa.int64(), pa.string()])
def test_keys_that_do_not_pair_are_refused_with_the_row(labels, features, message, kind):
    source = Join(
        pa.table({"id": pa.array(labels, pa.int64()).cast(kind), "y": labels}),
        pa.table({"id": pa.array(features, pa.int64()).cast(kind), "x": features}),
        on="id",
    )
    with pytest.raises(SchemaError, match=message):
        rows(source)


@pytest.mark.parametrize(
    ("labels", "features"), [([1, 2, 2], [1]), ([1, 2], [1, 1]), ([1], [None]), ([None], [1])]
)
def test_dropping_forgives_no_key_that_is_missing_or_twofold(labels, features):
    tables = (pa.table({"id": pa.array(k, pa.int64()), n: k}) for k, n in ((labels, "y"), (features, "x")))
    with pytest.raises(SchemaError, match=r"second time|no key"):
        rows(Join(*tables, on="id", unmatched="drop"))


def test_a_second_occurrence_in_a_later_fragment_is_found():
    with pytest.raises(SchemaError, match=r"row 7 there is the key 2 for the second time\."):
        rows(
            Join(pa.table({"v": range(9), "y": range(9)}), cut([0, 1, 2, 3, 4, 5, 6, 2], [3, 6], 2), "v"), "y"
        )


@pytest.mark.parametrize(
    ("labels", "features", "message"),
    [
        (
            {"id": [1], "y": [1]},
            {"id": ["1"], "x": [1]},
            "'id' holds int64 among the labels and string among",
        ),
        ({"id": [1.0], "y": [1]}, {"id": [1.0], "x": [1]}, "whole numbers, texts or dates"),
        ({"key": [1], "y": [1]}, {"id": [1], "x": [1]}, "no column 'id'"),
        ({"id": [1], "x": [1]}, {"id": [1], "x": [1]}, "'x' is in the labels and in the features"),
    ],
)
def test_sides_that_do_not_fit_are_refused(labels, features, message):
    with pytest.raises(SchemaError, match=message):
        Join(labels, features, on="id")


def test_unmatched_is_one_of_two_words():
    with pytest.raises(InputError, match="'refuse' or 'drop', and got 'keep'"):
        Join(LABELS, FEATURES, on="id", unmatched="keep")


def test_nothing_in_common_is_a_source_without_rows():
    source = Join(pa.table({"id": [9], "v": [1]}), FEATURES, on="id", unmatched="drop")
    with pytest.raises(InputError, match="no rows"):
        fold(IntegerSum(), source)


def test_bad_values_are_named_by_the_row_of_the_joined_source():
    labels = pa.table({"k": np.arange(1, 300_000, 2), "v": np.where(np.arange(150_000) == 140_000, -1, 1)})
    source = Join(Table(labels), Table({"k": range(300_000)}), on="k", unmatched="drop")
    with pytest.raises(SchemaError, match="'v', row 140000 "):
        fold(IntegerSum(), source, workers=2)
