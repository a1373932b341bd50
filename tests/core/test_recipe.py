from __future__ import annotations

import pyarrow as pa
import pytest

import suffice as sf
from suffice.core.errors import BoundsError, InputError, SchemaError


def batch(**columns) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def test_a_level_called_other_or_missing_keeps_a_coordinate_of_its_own():
    levels = sf.Categorical("c", ("other", "missing"), missing="indicate", unseen="other")
    assert levels.names() == ("c=other", "c=missing", "c:missing", "c:other")
    recipe = sf.Recipe((levels, sf.Numeric("a")))
    assert len(set(recipe.names)) == recipe.dimension == 6
    codes = levels.codes(batch(c=["missing", None, "new", "other"], a=[0.0] * 4))
    assert codes.tolist() == [1, 2, 3, 0]


def test_a_learned_recipe_depends_on_the_rows_and_not_on_their_order():
    rows = {"a": [3.5, 1e16, -1e16, 2.25, 7.0], "c": ["x", "y", None, "x", "z"]}
    back = {name: values[::-1] for name, values in rows.items()}
    one, two = (
        sf.Recipe.learn(sf.Table(pa.table(made)), columns=["a", "c"], missing="indicate")
        for made in (rows, back)
    )
    assert one == two
    assert one.origin == "learned"
    assert one.columns[1].levels == ("x", "y", "z")


def test_a_constant_column_is_left_as_it_is():
    recipe = sf.Recipe.learn(sf.Table(pa.table({"a": [4.0, 4.0]})), columns=["a"])
    assert recipe.columns[0].scale == 1.0


def test_learning_refuses_what_no_recipe_can_hold():
    with pytest.raises(SchemaError, match="missing='indicate'"):
        sf.Recipe.learn(sf.Table(pa.table({"a": [1.0, None]})), columns=["a"])
    with pytest.raises(SchemaError, match="an infinite number"):
        sf.Recipe.learn(sf.Table(pa.table({"a": [1.0, float("inf")]})), columns=["a"])
    with pytest.raises(SchemaError, match="Hashed"):
        sf.Recipe.learn(sf.Table(pa.table({"a": [f"{i}" for i in range(1001)]})), columns=["a"])


def test_a_recipe_counts_its_coordinates_before_it_names_them():
    with pytest.raises(BoundsError, match="at most 16384"):
        sf.Recipe((sf.Hashed("c", 2**60),))
    with pytest.raises(InputError, match="'a' twice"):
        sf.Recipe((sf.Numeric("a"), sf.Numeric("a")))


def test_applying_a_recipe_gives_the_vectors_of_the_grid():
    recipe = sf.Recipe((sf.Numeric("a", 1.0, 2.0), sf.Categorical("c", ("u", "v"))))
    rows = recipe.apply(pa.table({"a": [3.0], "c": ["v"]}))
    assert rows.tolist() == [[0.5, 0.0, 0.5, 0.5]]
