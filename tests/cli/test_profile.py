from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import suffice as sf
from suffice.cli.profile import MOST_LEVELS, Profile

ROWS = 3000
TABLE = pa.table(
    {
        "number": np.linspace(0, 1, ROWS),
        "key": np.arange(ROWS),
        "spread": pa.array([i * 7919 % 100003 for i in range(ROWS)]),
        "code": pa.array([f"c{i}" for i in range(ROWS)]),
        "word": pa.array(["a", "b", None] * (ROWS // 3)),
        "same": pa.array([4] * ROWS),
        "empty": pa.array([None] * ROWS, pa.float64()),
        "hole": pa.array([float("nan"), 1.0, 2.0] * (ROWS // 3)),
        "endless": pa.array([float("inf"), 1.0, 2.0] * (ROWS // 3)),
        "flag": pa.array([True, False, False] * (ROWS // 3)),
        "day": pa.array(range(ROWS), pa.int32()).cast(pa.date32()),
        "packed": pa.array(["x", "y", "x"] * (ROWS // 3)).dictionary_encode(),
    }
)
TROUBLE = {
    "number": None,
    "key": "it looks like a key: every value differs",
    "spread": None,
    "code": f"it has more than {MOST_LEVELS} levels; Hashed takes so many",
    "word": None,
    "same": "it has one value only",
    "empty": "it holds no value",
    "hole": None,
    "endless": "it holds 1000 infinite numbers",
    "flag": None,
    "day": "date32[day] is neither a number nor a level",
    "packed": None,
}


def profile(table):
    return sf.fold(Profile(tuple(table.column_names)), sf.Table(table))


def test_each_column_is_judged_by_what_it_holds():
    seen = profile(TABLE)
    assert {name: seen[name].trouble(str(TABLE.schema.field(name).type)) for name in TROUBLE} == TROUBLE


def test_missing_values_are_counted_whichever_way_they_are_written():
    seen = profile(TABLE)
    assert {name: seen[name].missing for name in ("word", "hole", "empty", "number")} == {
        "word": 1000,
        "hole": 1000,
        "empty": ROWS,
        "number": 0,
    }
    assert seen["word"].levels == {"a", "b"}


@pytest.mark.parametrize("cut", [1, 700, 2999])
def test_any_split_of_the_rows_gives_the_same_profile(cut):
    statistic = Profile(tuple(TABLE.column_names))
    parts = [TABLE.slice(0, cut), TABLE.slice(cut)]
    batches = [part.combine_chunks().to_batches()[0] for part in parts]
    first, second = (statistic.update(statistic.init(), batch) for batch in batches)
    whole = profile(TABLE)
    assert statistic.merge(first, second) == statistic.merge(second, first) == whole


def test_a_few_rows_are_no_sign_of_a_key():
    table = TABLE.slice(0, 10)
    assert profile(table)["key"].trouble("int64") is None
