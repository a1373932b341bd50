"""Designs under the names that the R packages RRreg, rr and GLMMRR use, as channels."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from suffice.channels import (
    Crosswise,
    Disguised,
    ForcedResponse,
    Kuk,
    Matrix,
    RandomizedResponse,
    Triangular,
    UnrelatedQuestion,
    Warner,
)
from suffice.channels.survey_design import ItemCount
from suffice.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DIRECT", "NAMES", "Design", "design", "name_of"]

Design = (
    RandomizedResponse
    | Matrix
    | Warner
    | ForcedResponse
    | Disguised
    | Crosswise
    | UnrelatedQuestion
    | Kuk
    | Triangular
    | ItemCount
)
DIRECT = ForcedResponse(0.0, 0.0)


def _direct(_one: float, _two: float) -> Design:
    return DIRECT


def _warner(one: float, _two: float) -> Design:
    return Warner(one)


def _disguised(one: float, _two: float) -> Design:
    return Disguised(one)


def _crosswise(one: float, _two: float) -> Design:
    return Crosswise(one)


def _triangular(one: float, _two: float) -> Design:
    return Triangular(one)


def _kuk(one: float, two: float) -> Design:
    return Kuk(one, two)


def _unrelated(one: float, two: float) -> Design:
    return UnrelatedQuestion(one, two)


def _forced_share(one: float, two: float) -> Design:
    """The truth with probability `one`; when forced, yes with probability `two`."""
    return ForcedResponse(yes=(1 - one) * two, no=(1 - one) * (1 - two))


def _forced_no_yes(one: float, two: float) -> Design:
    return ForcedResponse(yes=two, no=one)


def _forced_yes_no(one: float, two: float) -> Design:
    return ForcedResponse(yes=one, no=two)


def _mangat(one: float, _two: float) -> Design:
    return ForcedResponse(yes=1 - one, no=0.0)


def _cheating(one: float, _two: float) -> Design:
    return ForcedResponse(yes=one, no=0.0)


# name: what makes the channel of p1 and p2, and how many of the two it needs
NAMES: dict[str, tuple[Callable[[float, float], Design], int]] = {
    "direct": (_direct, 0),
    "DQ": (_direct, 0),
    "Warner": (_warner, 1),
    "mirrored": (_warner, 1),
    "Forced": (_forced_share, 2),
    "FR": (_forced_no_yes, 2),
    "forced-known": (_forced_yes_no, 2),
    "UQM": (_unrelated, 2),
    "UQTknown": (_unrelated, 2),
    "unrelated-known": (_unrelated, 2),
    "Crosswise": (_crosswise, 1),
    "Triangular": (_triangular, 1),
    "Kuk": (_kuk, 2),
    "disguised": (_disguised, 1),
    "Mangat": (_mangat, 1),
    "SLD": (_mangat, 1),
    "CDM": (_cheating, 1),
}


def design(name: str, p1: float | None = None, p2: float | None = None) -> Design:
    """The channel that a package means by this name and its one or two probabilities."""
    if name not in NAMES:
        near = difflib.get_close_matches(name, NAMES, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise InputError(f"There is no design {name!r}.{hint} Known: {', '.join(NAMES)}.")
    make, needs = NAMES[name]
    given = [p1, p2][:needs]
    if any(one is None for one in given):
        raise InputError(f"The design {name!r} needs {('no p', 'p1=', 'p1= and p2=')[needs]}.")
    return make(*(0.0 if one is None else float(one) for one in (p1, p2)))


def name_of(channel: Design) -> str:
    """A short name of the design, for a table."""
    if channel == DIRECT:
        return "direct"
    words = {"ForcedResponse": "Forced", "UnrelatedQuestion": "Unrelated", "RandomizedResponse": "Randomised"}
    kind = type(channel).__name__
    return words.get(kind, kind)
