"""A survey that was collected on paper, or by another program, and lies in a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from suffice.core.errors import InputError, SchemaError
from suffice.surveys.answers import MISSING, Answers
from suffice.surveys.design import NAMES, Design, design

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["columns_of", "gaps", "nothing", "read"]


def read(
    frame: Any,
    *,
    answer: str,
    question: str | None = None,
    design: str | Design,
    p1: str | float | None = None,
    p2: str | float | None = None,
    person: str | None = None,
    codes: Mapping[Any, Any] | None = None,
) -> Answers:
    """The answers of a table with one row per answer; every other column stays as a fact.

    `design` is a channel, a name of NAMES, or the column that holds such names; `p1` and `p2` are numbers
    or columns, so that they may differ from row to row. An answer is 0 or 1 (or a count, or one of the
    channel's own labels); `codes` translates what was written, such as {"same": 1, "one": 0}. An empty
    answer is a missing one. A code that is none of these is refused with its row.
    """
    columns = columns_of(frame)
    written = _column(columns, answer)
    names = ["answer"] if question is None else None
    asked = np.full(written.size, "answer", dtype=object) if question is None else _column(columns, question)
    if names is None:
        _no_gap(asked, str(question), "Name the question of every row.")
        names = list(dict.fromkeys(map(str, asked.tolist())))
    channels, which = _channels(columns, design, p1, p2, written.size)
    people = np.arange(written.size) if person is None else _numbered(_column(columns, person))
    return Answers(
        tuple(names),
        np.array([names.index(str(one)) for one in asked.tolist()], dtype=np.intp),
        _codes(written, answer, channels, which, codes),
        channels,
        which,
        people,
        {name: column for name, column in columns.items() if name not in {answer, question}},
    )


def columns_of(frame: Any) -> dict[str, NDArray[Any]]:
    """The columns of an Arrow table, a data frame of pandas or polars, or a mapping of lists."""
    if hasattr(frame, "__arrow_c_stream__") and not isinstance(frame, pa.Table):
        frame = pa.table(frame)
    if isinstance(frame, pa.Table):
        return {name: _plain(frame[name].to_pylist()) for name in frame.column_names}
    if hasattr(frame, "to_dict") and hasattr(frame, "columns"):
        return {str(name): _plain(frame[name].tolist()) for name in frame.columns}
    if isinstance(frame, dict):
        return {str(name): _plain(list(column)) for name, column in frame.items()}
    raise InputError(
        f"A survey is an Arrow table, a data frame or a mapping of columns, and got a {type(frame).__name__}."
    )


def nothing(value: Any) -> bool:
    """Whether a cell of a table is empty: None, or not a number."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _plain(values: list[Any]) -> NDArray[Any]:
    """Numbers as float64 with NaN for what is missing, all else as objects with None."""
    absent = [nothing(one) for one in values]
    present = [one for one, gone in zip(values, absent, strict=True) if not gone]
    if present and all(
        isinstance(one, int | float | np.number) and not isinstance(one, bool) for one in present
    ):
        return np.array([np.nan if gone else float(one) for one, gone in zip(values, absent, strict=True)])
    column = np.empty(len(values), dtype=object)
    column[:] = [None if gone else one for one, gone in zip(values, absent, strict=True)]
    return column


def _column(columns: dict[str, NDArray[Any]], name: str) -> NDArray[Any]:
    if name not in columns:
        raise SchemaError.missing_column(name, columns)
    return columns[name]


def gaps(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a column of `columns_of` has nothing."""
    if column.dtype == object:
        return np.array([one is None for one in column.tolist()], dtype=bool)
    return np.asarray(np.isnan(column))


def _no_gap(column: NDArray[Any], name: str, remedy: str) -> None:
    absent = gaps(column)
    if absent.any():
        raise SchemaError.bad_value(name, int(np.argmax(absent)), "nothing", remedy)


def _numbered(column: NDArray[Any]) -> NDArray[np.intp]:
    """Whole numbers for people; who is not named is somebody else than all others."""
    absent = gaps(column).tolist()
    keys = [(at,) if absent[at] else ("", one) for at, one in enumerate(column.tolist())]
    seen: dict[Any, int] = {}
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.intp)


def _channels(
    columns: dict[str, NDArray[Any]],
    given: str | Design,
    p1: str | float | None,
    p2: str | float | None,
    size: int,
) -> tuple[tuple[Design, ...], NDArray[np.intp]]:
    """The different channels, and which of them each row has."""
    if not isinstance(given, str):
        if p1 is not None or p2 is not None:
            raise InputError("A channel brings its own probabilities: leave p1= and p2= out.")
        return (given,), np.zeros(size, dtype=np.intp)
    is_column = given in columns and given not in NAMES
    names = columns[given] if is_column else np.full(size, given, dtype=object)
    if not is_column and given not in NAMES:
        raise InputError(f"design={given!r} is neither a column nor a design. Designs: {', '.join(NAMES)}.")
    if is_column:
        _no_gap(names, given, "Name the design of every row.")
    parts = [_setting(columns, one, size) for one in (p1, p2)]
    rows = list(zip(names.tolist(), *(part.tolist() for part in parts), strict=True))
    known: dict[Any, int] = {}
    which = np.array([known.setdefault(_key(row), len(known)) for row in rows], dtype=np.intp)
    made = [_made(key, rows, which, at) for key, at in known.items()]
    return tuple(made), which


def _key(row: tuple[str, float, float]) -> tuple[Any, ...]:
    name, one, two = row
    needs = NAMES[name][1] if name in NAMES else 2
    return (name, *(None if nothing(value) else value for value in (one, two)[:needs]))


def _made(key: tuple[Any, ...], rows: list[Any], which: NDArray[np.intp], at: int) -> Design:
    try:
        return design(*key)
    except InputError as error:
        raise InputError(
            f"Row {int(np.argmax(which == at))}, {rows[int(np.argmax(which == at))]}: {error}"
        ) from error


def _setting(columns: dict[str, NDArray[Any]], given: str | float | None, size: int) -> NDArray[np.float64]:
    if given is None:
        return np.full(size, np.nan)
    if isinstance(given, str):
        column = _column(columns, given)
        if column.dtype == object:
            raise SchemaError.bad_value(given, None, "text", "It is a column of probabilities.")
        return column
    return np.full(size, float(given))


def _codes(
    written: NDArray[Any],
    name: str,
    channels: tuple[Design, ...],
    which: NDArray[np.intp],
    codes: Mapping[Any, Any] | None,
) -> NDArray[np.intp]:
    """The place of each answer among those of its channel."""
    known = [_spellings(one) for one in channels]
    found = np.full(written.size, MISSING, dtype=np.intp)
    for row, (value, gap) in enumerate(zip(written.tolist(), gaps(written), strict=True)):
        if gap:
            continue
        said = value if codes is None else codes.get(value, value)
        if said is None:
            continue
        at = known[which[row]].get(said)
        if at is None:
            shown = ", ".join(map(repr, dict.fromkeys(channels[which[row]].answers())))
            remedy = (
                f"It is 0, 1, ... or one of {shown}. Say with codes= what it stands for; None is missing."
            )
            raise SchemaError.bad_value(name, row, repr(value), remedy)
        found[row] = at
    return found


def _spellings(channel: Design) -> dict[Any, int]:
    """Each answer under its label and under its place, where the two do not collide."""
    labels = channel.answers()
    by_place: dict[Any, int] = {at: at for at in range(len(labels))}
    by_label: dict[Any, int] = {label: at for at, label in enumerate(labels)}
    numbers = all(isinstance(label, int) and not isinstance(label, bool) for label in labels)
    return by_label if numbers else by_place | by_label
