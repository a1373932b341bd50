"""Whether the fields of a value hold what their annotations say."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from suffice.channels import CHANNELS
from suffice.core.column import Column
from suffice.core.errors import InputError
from suffice.core.guarantees import Promise
from suffice.core.laws import LAWS
from suffice.core.units import Unit

__all__ = ["check_fields"]

_MOST_BITS = 600
_NAMES = {
    "Law": reduce(or_, LAWS),
    "Unit": Unit,
    "Promise": Promise,
    "Column": Column,
    "Channel": reduce(or_, CHANNELS),
}


def check_fields(value: Any) -> None:
    """Refuse a dataclass that holds, at any depth, something else than its annotations say."""
    for name, hint in _hints(type(value)).items():  # type: ignore[arg-type]  # every type has a hash
        if not _fits(getattr(value, name), hint):
            got = repr(getattr(value, name))[:60]
            raise InputError(
                f"{type(value).__name__}.{name} cannot be {got}; it travels as {_spelled(hint)}."
            )


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, localns=_NAMES)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _fits(value: Any, hint: Any) -> bool:
    origin = get_origin(hint)
    if origin in {Union, UnionType}:
        return any(_fits(value, one) for one in get_args(hint))
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in get_args(hint))
    if origin is tuple:
        return isinstance(value, tuple) and _fit_all(value, get_args(hint))
    if origin in {dict, np.ndarray}:
        return isinstance(value, origin)
    if dataclasses.is_dataclass(hint):
        if type(value) is not hint:
            return False
        check_fields(value)
        return True
    return _is_plain(value, hint)


def _fit_all(values: tuple[Any, ...], hints: tuple[Any, ...]) -> bool:
    if len(hints) == 2 and hints[1] is ...:
        return all(_fits(value, hints[0]) for value in values)
    return len(values) == len(hints) and all(map(_fits, values, hints))


def _is_plain(value: Any, hint: Any) -> bool:
    if hint is Fraction:
        return type(value) is Fraction and max(value.numerator, value.denominator).bit_length() <= _MOST_BITS
    if hint is float:
        return isinstance(value, float | int | Fraction) and type(value) is not bool and math.isfinite(value)
    if hint is int:
        return type(value) is int and abs(value) < 2**63
    return bool(type(value) is hint)


def _spelled(hint: Any) -> str:
    return getattr(hint, "__name__", None) or str(hint).replace("suffice.core.", "")
