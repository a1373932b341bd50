from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.cli.toml import document, written
from suffice.core.errors import InputError

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT
VALUE = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12
)


@given(st.dictionaries(TEXT, VALUE, max_size=5))
def test_what_is_written_is_what_python_reads_back(data):
    assert tomllib.loads(document(data)) == data


@given(VALUE)
def test_one_value_takes_one_line(value):
    assert "\n" not in written(value)
    assert tomllib.loads(f"a = {written(value)}")["a"] == value


def test_columns_of_a_recipe_stand_a_line_each():
    text = document(
        {"features": [{"name": "age", "kind": "Numeric"}, {"name": "region", "kind": "Categorical"}]}
    )
    assert text.splitlines()[1:3] == [
        '  { name = "age", kind = "Numeric" },',
        '  { name = "region", kind = "Categorical" },',
    ]


def test_what_toml_has_no_word_for_is_refused():
    with pytest.raises(InputError, match="NoneType"):
        document({"a": None})
