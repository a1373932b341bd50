"""Labels of truths and answers, and their places in a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.core.errors import InputError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Label", "distinct", "named", "places"]

Label = str | int | bool


def distinct(labels: Sequence[Label], name: str = "labels") -> tuple[Label, ...]:
    """The labels as a tuple: two or more, all different, all of one kind."""
    if isinstance(labels, str) or len(known := tuple(labels)) < 2:
        raise InputError(f"{name}= lists two labels or more, such as ('no', 'yes'), and got {labels!r}.")
    kinds = {type(label) for label in known}
    if len(kinds) > 1 or not kinds <= {str, int, bool}:
        raise InputError(f"{name}= are all text, all integers or all booleans, and got {list(known)!r}.")
    if len(set(known)) < len(known):
        raise InputError(f"{name}= names a label twice: {list(known)!r}.")
    return known


def places(labels: tuple[Label, ...], values: Any, what: str) -> NDArray[np.intp]:
    """Where each value stands in the list; a value that is not in it is refused."""
    given = np.asarray(values)
    flat = given.ravel()
    known = np.array(labels)
    comparable = flat.dtype.kind == "O" or (known.dtype.kind == "U") == (flat.dtype.kind == "U")
    if not flat.size:
        return np.zeros(given.shape, dtype=np.intp)
    if not comparable:
        raise _unknown(labels, flat[0].item(), 0, what)
    if flat.dtype.kind == "O":
        return _by_name(labels, flat.tolist(), what).reshape(given.shape)
    order = np.argsort(known, kind="stable")
    found = order[np.minimum(np.searchsorted(known[order], flat), len(labels) - 1)]
    wrong = known[found] != flat
    if wrong.any():
        row = int(np.argmax(wrong))
        raise _unknown(labels, flat[row].item(), row, what)
    return np.asarray(found, dtype=np.intp).reshape(given.shape)


def named(labels: tuple[Label, ...], codes: NDArray[np.intp]) -> Any:
    """The labels at these places; a single place gives a single label."""
    chosen = np.array(labels)[codes]
    return chosen.item() if np.ndim(chosen) == 0 else chosen


def _by_name(labels: tuple[Label, ...], values: list[Any], what: str) -> NDArray[np.intp]:
    known = {label: at for at, label in enumerate(labels)}
    try:
        return np.array([known[value] for value in values], dtype=np.intp)
    except (KeyError, TypeError):
        row = next(at for at, value in enumerate(values) if not _is_in(value, known))
        raise _unknown(labels, values[row], row, what) from None


def _is_in(value: Any, known: dict[Label, int]) -> bool:
    try:
        return value in known
    except TypeError:
        return False


def _unknown(labels: tuple[Label, ...], value: Any, row: int, what: str) -> SchemaError:
    shown = ", ".join(map(repr, labels[:12])) + (", ..." if len(labels) > 12 else "")
    return SchemaError.bad_value(what, row, repr(value), f"It is one of {shown}.")
