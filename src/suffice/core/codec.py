"""One tagged, structural codec for values: TOML, JSON, the wire and the command line.

A dataclass becomes {"kind": its Python name, field: value, ...}; a field at its default is left
out. Decoding admits only the kinds that its caller lists, never a name found in the data; a
kind whose constructor does not take its fields by name has a `from_fields` that does.
"""

from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from suffice.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["canonical", "decode", "encode"]

_MOST_DIGITS = 400


def encode(value: Any) -> Any:
    """The value as nothing but mappings, lists, strings, numbers, booleans and None."""
    if isinstance(value, Fraction):
        return {"kind": "Fraction", "value": f"{value.numerator}/{value.denominator}"}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        told = [f for f in dataclasses.fields(value) if f.init and not _at_default(value, f)]
        fields = {f.name: getattr(value, f.name) for f in told}
        return {"kind": type(value).__name__} | {name: encode(item) for name, item in fields.items()}
    if isinstance(value, dict):
        return {str(name): encode(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"A number that travels must be finite, and got {value!r}.")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise InputError(f"A {type(value).__name__} cannot travel: {value!r}.")


def decode(data: Any, kinds: Iterable[type]) -> Any:
    """The value again; a kind that is not listed, or a field that is not known, is an InputError."""
    return _decode(data, {kind.__name__: kind for kind in kinds})


def canonical(value: Any) -> bytes:
    """The one spelling of a value, for hashing: sorted names, no spaces, defaults left out."""
    return json.dumps(encode(value), sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _decode(data: Any, kinds: Mapping[str, type]) -> Any:
    if isinstance(data, list | tuple):
        return tuple(_decode(item, kinds) for item in data)
    if not isinstance(data, dict):
        return data
    if "kind" not in data:
        return {name: _decode(item, kinds) for name, item in data.items()}
    name = data["kind"]
    if name == "Fraction":
        return _fraction(data)
    kind = kinds.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InputError(f"The kind {name!r} is not admitted here. Known: {', '.join(sorted(kinds))}.")
    return _build(kind, {key: _decode(item, kinds) for key, item in data.items() if key != "kind"})


def _build(kind: type, given: dict[str, Any]) -> Any:
    known = [f.name for f in dataclasses.fields(kind) if f.init]
    odd = sorted(set(given) - set(known))
    if odd:
        raise InputError(f"{kind.__name__} has no field {odd[0]!r}. It has: {', '.join(known)}.")
    try:
        return getattr(kind, "from_fields", kind)(**given)
    except TypeError as error:
        raise InputError(f"{kind.__name__} cannot be made from {sorted(given)}: {error}.") from error


def _fraction(data: Mapping[str, Any]) -> Fraction:
    text = data.get("value")
    if not isinstance(text, str) or len(text) > _MOST_DIGITS or text.count("/") != 1:
        raise InputError(f"A fraction is written 'p/q' in whole numbers, and got {str(text)[:40]!r}.")
    try:
        above, below = (int(part) for part in text.split("/"))
        return Fraction(above, below)
    except (ValueError, ZeroDivisionError) as error:
        raise InputError(f"A fraction is written 'p/q' in whole numbers, and got {text[:40]!r}.") from error


def _at_default(value: Any, field: dataclasses.Field[Any]) -> bool:
    if field.default is dataclasses.MISSING:
        return False
    current = getattr(value, field.name)
    return type(current) is type(field.default) and bool(current == field.default)
