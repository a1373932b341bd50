"""Arrow arrays become columns where they lie, sliced, nullable and dictionary-coded ones too."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from suffice.core.errors import InputError
from suffice.maths import kernels
from suffice.maths.kernels import Levels, Number, Offence, Plan, reference
from suffice.maths.kernels.arrow import arrow_column

NUMBERS = [pa.float32(), pa.float64(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64()]


def encoded(plan, *arrays, lookups=None):
    columns = [
        arrow_column(array, lookup) for array, lookup in zip(arrays, lookups or [None] * 9, strict=False)
    ]
    ours, theirs = kernels.encode(plan, columns), reference.encode(plan, columns)
    if isinstance(ours, Offence):
        assert ours == theirs
        return ours
    assert (ours == theirs).all()
    return ours.tolist()


@pytest.mark.parametrize("kind", NUMBERS, ids=str)
def test_numbers_are_read_where_they_lie(kind):
    array = pa.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], kind)
    column = arrow_column(array.slice(3, 4))
    assert (
        column.values.__array_interface__["data"][0] == array.buffers()[1].address + 3 * kind.bit_width // 8
    )
    assert encoded(Plan((Number(0),), 1, 1.0), array.slice(3, 4)) == [[4], [5], [6], [7]]


def test_null_takes_the_fill_and_lights_the_indicator():
    array = pa.array([1.0, None, 3.0, None, 5.0, 6.0, None, 8.0, 9.0, None, 11.0]).slice(2)
    plan = Plan((Number(0, fill=-7, missing=1),), 2, 2.0)
    whole = [[6, 0], [-7, 2], [10, 0], [12, 0], [-7, 2], [16, 0], [18, 0], [-7, 2], [22, 0]]
    assert encoded(plan, array) == whole
    assert encoded(Plan((Number(0),), 1, 1.0), array) == Offence(1, 0, "missing")


def test_what_lies_under_a_null_is_never_looked_at():
    values = np.array([1.0, np.nan, 1e300, 4.0])
    array = pa.Array.from_buffers(pa.float64(), 4, [pa.py_buffer(bytes([0b1001])), pa.py_buffer(values)])
    assert encoded(Plan((Number(0, fill=0),), 1, 1.0), array) == [[1], [0], [0], [4]]


def test_booleans_count_as_zero_and_one():
    array = pa.array([True, False, None, True, True] * 5).slice(3, 9)
    expected = [[1], [1], [1], [0], [9], [1], [1], [1], [0]]
    assert encoded(Plan((Number(0, fill=9),), 1, 1.0), array) == expected


@pytest.mark.parametrize("codes", [pa.int8(), pa.int16(), pa.int32(), pa.uint32(), pa.int64()], ids=str)
def test_a_dictionary_column_needs_only_the_place_of_each_entry(codes):
    array = pa.array(["b", "a", None, "c", "b"]).dictionary_encode().cast(pa.dictionary(codes, pa.string()))
    place = {"a": 0, "b": 1, "c": -1}
    lookup = np.array([place[level] for level in array.dictionary.to_pylist()], np.int32)
    plan = Plan((Levels(0, 2, missing=2),), 3, 5.0)
    assert encoded(plan, array, lookups=[lookup]) == [[0, 5, 0], [5, 0, 0], [0, 0, 5], [0, 0, 0], [0, 5, 0]]
    assert encoded(plan, array.slice(1), lookups=[lookup])[0] == [5, 0, 0]
    refused = np.where(lookup < 0, -2, lookup).astype(np.int32)
    assert encoded(plan, array, lookups=[refused]) == Offence(3, 0, "level")
    assert encoded(Plan((Levels(0, 2),), 2, 5.0), array, lookups=[lookup]) == Offence(2, 0, "missing")


def test_an_empty_array_has_no_rows():
    plan = Plan((Number(0), Levels(1, 2)), 3, 1.0)
    assert encoded(plan, pa.array([], pa.float32()), pa.array([], pa.int32())) == []


def test_text_and_decimals_have_no_buffer_of_numbers():
    for array in (pa.array(["a"]), pa.array([1]).cast(pa.decimal128(30, 2)), pa.array([1.0], pa.float16())):
        with pytest.raises(InputError, match="an array of"):
            arrow_column(array)
