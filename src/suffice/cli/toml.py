"""Values as TOML, the way a person would write them. Reading is Python's own tomllib."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from suffice.core.errors import InputError

__all__ = ["document", "written"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_INDENT = "  "


def document(data: Mapping[str, Any]) -> str:
    """A document: plain entries first, then a table for each mapping; lists of mappings a line each."""
    plain = {key: value for key, value in data.items() if not isinstance(value, Mapping)}
    tables = {key: value for key, value in data.items() if isinstance(value, Mapping)}
    lines = [_entry(key, value) for key, value in plain.items()]
    for name, table in tables.items():
        lines += ["", f"[{_key(name)}]", *(_entry(key, value) for key, value in table.items())]
    return "\n".join(lines).strip("\n") + "\n"


def written(value: Any) -> str:
    """One value on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {written(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(written, value))}]"
    raise InputError(f"TOML has no {type(value).__name__}, and got {value!r}.")


def _entry(key: str, value: Any) -> str:
    if isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
        rows = "".join(f"{_INDENT}{written(item)},\n" for item in value)
        return f"{_key(key)} = [\n{rows}]"
    return f"{_key(key)} = {written(value)}"


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else written(key)


def _number(value: float) -> str:
    if math.isnan(value):
        return "nan"
    return repr(value)  # inf, -inf and 1e-06 are spelled as TOML spells them
