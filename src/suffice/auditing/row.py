"""Rows to audit on, made from what a statistic says of its columns: the farthest and the nearest it takes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from suffice.core.column import Categorical, Cross, Hashed, Numeric
from suffice.core.errors import InputError
from suffice.core.recipe import Recipe
from suffice.core.units import LabelOf, RecordOf

if TYPE_CHECKING:
    from suffice.core.column import Column
    from suffice.core.protocols import Statistic
    from suffice.core.units import Unit

__all__ = ["generic", "made"]

_Simple = Numeric | Categorical | Hashed
_MOST_BITS = 22


def made(statistic: Statistic, unit: Unit, *, most: int = 24) -> pa.Table:
    """A small table for the statistic: rows far out in each column, far out in all, and at the centre.

    It works for statistics with a `recipe` and a `label`; for others give rows of your own.
    """
    columns, width = _columns(statistic)
    far = 0.4 * math.sqrt(width) * 2.0 ** (24 - getattr(statistic, "bits", _MOST_BITS))
    steps = [[0.0] * len(columns), [far] * len(columns), [-far] * len(columns)]
    steps += [[far * (at == place) for place in range(len(columns))] for at in range(min(len(columns), most))]
    copies = unit.at_most if isinstance(unit, LabelOf | RecordOf) else 1
    return _table(statistic, unit, columns, [one for one in steps for _ in range(2 * copies)], copies)


def generic(statistic: Statistic, unit: Unit, *, rows: int = 24) -> pa.Table:
    """A table in which no two sums of rows agree by design: the low digits of sines."""
    columns, _ = _columns(statistic)
    steps = [[_scattered(row, at) for at in range(len(columns))] for row in range(rows)]
    return _table(statistic, unit, columns, steps, 1)


def _scattered(row: int, column: int) -> float:
    """A number between -1 and 1 without a pattern, the same every time."""
    return 2 * (math.sin((row + 1) * 12.9898 + column * 78.233) * 43758.5453 % 1.0) - 1


def _columns(statistic: Statistic) -> tuple[list[_Simple], int]:
    recipe = getattr(statistic, "recipe", None)
    if not isinstance(recipe, Recipe) or not isinstance(getattr(statistic, "label", None), str):
        raise InputError(
            f"Rows cannot be made for a {type(statistic).__name__}: it has no recipe and no label. "
            "Give some: rows=frame."
        )
    simple = {one.name: one for column in recipe.columns for one in _parts(column)}
    return list(simple.values()), recipe.dimension


def _table(
    statistic: Any, unit: Unit, columns: list[_Simple], steps: list[list[float]], copies: int
) -> pa.Table:
    """One row per step; `copies` rows in a row are one person's and have one label."""
    size, classes = len(steps), statistic.classes or (False, True)
    table: dict[str, Any] = {
        column.name: [_value(column, step[at]) for step in steps] for at, column in enumerate(columns)
    }
    table[statistic.label] = [classes[row // copies % len(classes)] for row in range(size)]
    named = unit.columns if isinstance(unit, LabelOf) else ()
    table |= {name: [row % 2 == 0 for row in range(size)] for name in named if name not in table}
    if isinstance(unit, LabelOf | RecordOf) and unit.person is not None and unit.person not in table:
        table[unit.person] = [row // copies for row in range(size)]
    return pa.table(table)


def _parts(column: Column) -> tuple[_Simple, ...]:
    return (column.first, column.second) if isinstance(column, Cross) else (column,)


def _value(column: _Simple, step: float) -> Any:
    if isinstance(column, Numeric):
        return column.centre + column.scale * step
    if isinstance(column, Categorical):
        return column.levels[0] if step == 0 else column.levels[-1]
    return "one" if step == 0 else "another"
