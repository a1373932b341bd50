"""Neighbouring tables, made by carrying out the one protected change that a unit speaks of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from suffice.core.errors import InputError
from suffice.core.units import Answer, FeatureOf, LabelOf, RecordOf

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from suffice.core.units import Unit

__all__ = ["neighbours"]

_FEW = 4


def neighbours(table: pa.Table, unit: Unit) -> Iterator[pa.Table]:
    """Every table that differs from this one by the unit, with values that occur in the table.

    Under a label unit one person's labels become other labels of the column; under a feature unit
    one value becomes the least or the largest of its column; under a record unit a person's rows
    become another person's, or go.
    """
    if isinstance(unit, LabelOf):
        yield from _relabelled(table, unit)
    elif isinstance(unit, FeatureOf):
        yield from _moved(table, unit.column)
    elif isinstance(unit, RecordOf) and unit.relation == "replace":
        yield from _replaced(table, unit)
    elif isinstance(unit, RecordOf):
        for rows in _people(table, unit.person, unit.at_most):
            kept = [row for row in range(table.num_rows) if row not in rows]
            if kept:
                yield table.take(pa.array(kept, pa.int64()))
    elif isinstance(unit, Answer):
        raise InputError("Answers are protected one by one, so no table of truths has neighbours.")


def _people(table: pa.Table, person: str | None, at_most: int) -> list[frozenset[int]]:
    """The rows of each person, at most so many; without a person column a row is a person."""
    if person is None:
        return [frozenset((row,)) for row in range(table.num_rows)]
    found: dict[Any, list[int]] = {}
    for row, name in enumerate(table.column(person).to_pylist()):
        found.setdefault(name, []).append(row)
    crowded = [name for name, rows in found.items() if len(rows) > at_most]
    if crowded:
        raise InputError(
            f"{crowded[0]!r} has {len(found[crowded[0]])} rows in {person!r}, and the unit admits {at_most}."
        )
    return [frozenset(rows) for rows in found.values()]


def _relabelled(table: pa.Table, unit: LabelOf) -> Iterator[pa.Table]:
    for rows in _people(table, unit.person, unit.at_most):
        for name in unit.columns:
            for value in _levels(table, name):
                if any(table.column(name)[row].as_py() != value for row in rows):
                    yield _put(table, rows, {name: value})


def _moved(table: pa.Table, column: str) -> Iterator[pa.Table]:
    ordered = sorted(_levels(table, column), key=lambda one: (str(type(one)), one))
    for row in range(table.num_rows):
        for value in dict.fromkeys((ordered[0], ordered[-1], ordered[len(ordered) // 2])):
            if table.column(column)[row].as_py() != value:
                yield _put(table, frozenset((row,)), {column: value})


def _replaced(table: pa.Table, unit: RecordOf) -> Iterator[pa.Table]:
    """Another's record, and another's record with one value of a column of few levels changed."""
    rows_of = _people(table, unit.person, unit.at_most)
    records = table.to_pylist()
    few = {name: _levels(table, name) for name in table.column_names}
    records += [
        record | {name: level}
        for name, levels in few.items()
        if len(levels) <= _FEW and name != unit.person
        for level in levels
        for record in records[: table.num_rows]
        if record[name] != level
    ]
    for rows in rows_of:
        for record in records:
            content = {name: value for name, value in record.items() if name != unit.person}
            if any(records[row] | content != records[row] for row in rows):
                yield _put(table, rows, content)


def _levels(table: pa.Table, name: str) -> Sequence[Any]:
    return [value for value in dict.fromkeys(table.column(name).to_pylist()) if value is not None]


def _put(table: pa.Table, rows: frozenset[int], values: dict[str, Any]) -> pa.Table:
    for name, value in values.items():
        place = table.schema.get_field_index(name)
        field = table.schema.field(place)
        column = table.column(place).to_pylist()
        for row in rows:
            column[row] = value
        table = table.set_column(place, field, pa.array(column, field.type))
    return table
