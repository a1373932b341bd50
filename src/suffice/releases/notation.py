"""JSON, read strictly: no name twice, no number that is not finite, no depth without end."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from suffice.core.errors import ReleaseUnreadable

__all__ = ["canonical", "read"]

_MOST_DEPTH = 16
_MOST_DIGITS = 40


def canonical(value: Any) -> bytes:
    """The one spelling: sorted names, no spaces, ASCII only, shortest numbers."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def read(data: bytes, *, what: str, most: int) -> dict[str, Any]:
    """The mapping that these bytes spell; anything else is ReleaseUnreadable."""
    if len(data) > most:
        raise ReleaseUnreadable(f"The {what} has {len(data)} bytes, and at most {most} are read.")
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_mapping,
            parse_int=_whole,
            parse_float=_finite,
            parse_constant=_refuse,
        )
    except (ValueError, RecursionError) as error:
        raise ReleaseUnreadable(f"The {what} is not JSON as it is written here: {error}.") from error
    if not isinstance(value, dict):
        raise ReleaseUnreadable(f"The {what} is a JSON {type(value).__name__}, and an object was expected.")
    _check(value, what)
    return value


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return mapping


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a whole number has {len(text)} digits")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is not finite")
    return number


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def _check(value: Any, what: str) -> None:
    """Refuse depth beyond the cap and text that is not Unicode, without recursion."""
    level = [value]
    for _ in range(_MOST_DEPTH + 1):
        inside: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inside += [*item, *item.values()]
            elif isinstance(item, list):
                inside += item
            elif isinstance(item, str) and not item.isascii() and not _is_unicode(item):
                raise ReleaseUnreadable(f"The {what} holds text with half a character in it.")
        if not inside:
            return
        level = inside
    raise ReleaseUnreadable(f"The {what} is nested more than {_MOST_DEPTH} deep.")


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)
