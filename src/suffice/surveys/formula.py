"""Formulas such as "drug ~ age + C(region) + age:C(sex) - 1", read into a matrix of columns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from suffice.core.errors import InputError
from suffice.surveys.paper import gaps

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["Formula", "parsed"]

_NAME = r"`[^`]+`|[^\W\d][\w.]*"
_FACTOR = re.compile(rf"C\(\s*({_NAME})\s*\)|({_NAME})")
_SIGN = re.compile(r"([+-])")


@final
@dataclass(frozen=True, slots=True)
class Formula:
    """A left side, terms that are products of columns, and whether there is an intercept.

    Each factor of a term is a name and whether C() stood around it; a column of text is a factor anyway.
    """

    left: str
    terms: tuple[tuple[tuple[str, bool], ...], ...]
    intercept: bool

    def names(self) -> tuple[str, ...]:
        """The columns on the right."""
        return tuple(dict.fromkeys(name for term in self.terms for name, _ in term))

    def complete(self, column: Callable[[str], NDArray[Any]], size: int) -> NDArray[np.bool_]:
        """The rows in which no column has a gap."""
        whole = np.ones(size, dtype=bool)
        for name in self.names():
            values = column(name)
            if values.dtype.kind in "Of":
                whole &= ~gaps(values)
        return whole

    def matrix(
        self, column: Callable[[str], NDArray[Any]], size: int
    ) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        """The names and the columns of the design; levels of a factor are counted from its first one.

        The first level of the first factor has a column of its own if there is no intercept.
        """
        names, parts = (["(intercept)"], [np.ones((size, 1))]) if self.intercept else ([], [])
        full = not self.intercept
        for term in self.terms:
            label, block = [""], np.ones((size, 1))
            for name, is_factor in term:
                values = column(name)
                if is_factor or values.dtype.kind in "OUb":
                    levels, columns = _levels(name, values, whole=full and len(term) == 1)
                    full = full and len(term) > 1
                else:
                    levels, columns = [name], np.asarray(values, dtype=np.float64)[:, None]
                label = [f"{one}:{two}" if one else two for one in label for two in levels]
                block = (block[:, :, None] * columns[:, None, :]).reshape(size, -1)
            names += label
            parts.append(block)
        if not parts:
            raise InputError("The formula has nothing on its right side. Write '1' for an intercept alone.")
        return tuple(names), np.concatenate(parts, axis=1)


def parsed(text: str) -> Formula:
    """The formula of a text: names, C(name), products with ':', joined by '+', with '-1' for no intercept."""
    sides = text.split("~")
    if len(sides) != 2 or not sides[0].strip() or not sides[1].strip():
        raise InputError(f"A formula is 'question ~ column + C(column)', and got {text!r}.")
    left = sides[0].strip().strip("`")
    terms: list[tuple[tuple[str, bool], ...]] = []
    intercept, sign = True, "+"
    for piece in _SIGN.split(_quoted(sides[1])):
        word = piece.strip()
        if word in {"+", "-"}:
            sign = word
        elif word in {"0", "1"}:
            intercept = (sign == "+") == (word == "1")
        elif word and sign == "-":
            raise InputError(f"In a formula only 1 is taken away, and got '- {_unquoted(word)}'.")
        elif word:
            terms.append(tuple(_factor(one) for one in word.split(":")))
    return Formula(left, tuple(dict.fromkeys(terms)), intercept)


def _quoted(text: str) -> str:
    """Names in backticks with their signs spelled as letters that no formula has."""
    return re.sub(
        r"`[^`]*`", lambda hit: hit.group().translate({43: "\ue000", 45: "\ue001", 58: "\ue002"}), text
    )


def _unquoted(text: str) -> str:
    return text.translate({0xE000: "+", 0xE001: "-", 0xE002: ":"})


def _factor(word: str) -> tuple[str, bool]:
    hit = _FACTOR.fullmatch(word.strip())
    if hit is None:
        raise InputError(
            f"{_unquoted(word.strip())!r} is no term of a formula. It has names (in backticks if they hold "
            "other signs), C(name) for a factor, ':' for a product."
        )
    return _unquoted((hit.group(1) or hit.group(2)).strip("`")), hit.group(1) is not None


def _levels(name: str, values: NDArray[Any], *, whole: bool) -> tuple[list[str], NDArray[np.float64]]:
    """A column for each level but the first, or for every level if `whole`."""
    found = sorted(set(values.tolist()), key=lambda one: (isinstance(one, str), one))
    if len(found) < 2:
        raise InputError(f"The factor {name!r} has one level, {found}, so it explains nothing. Leave it out.")
    kept = found if whole else found[1:]
    columns = np.stack([values == one for one in kept], axis=1).astype(np.float64)
    return [f"{name}[{one:g}]" if isinstance(one, float) else f"{name}[{one}]" for one in kept], columns
