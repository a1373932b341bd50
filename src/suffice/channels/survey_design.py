"""Designs of sensitive surveys: a card, a die or a second question decides what a person says.

Each is a yes-or-no truth and an answer whose probability under either truth is known. The noise is
in the design, on paper as on a device; `randomise` plays the design for who answers on a device.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import comb
from typing import Self, final

from suffice.channels.bound import share
from suffice.channels.finite import Finite
from suffice.channels.label import Label, distinct
from suffice.channels.table import Table
from suffice.core.errors import InputError

__all__ = [
    "DESIGNS",
    "Crosswise",
    "Disguised",
    "ForcedResponse",
    "ItemCount",
    "Kuk",
    "Triangular",
    "UnrelatedQuestion",
    "Warner",
]

_YES_NO = ("no", "yes")


@final
@dataclass(frozen=True, slots=True)
class Warner(Finite):
    """The mirrored question: "is it true?" with probability `ask`, otherwise "is it untrue?"."""

    ask: float
    labels: tuple[Label, ...] = _YES_NO

    def __post_init__(self) -> None:
        """Refuse what is not a probability, and a fair coin."""
        _settle(self, "labels")
        _check(self.table(), "ask=0.5 asks either question as often")

    def truths(self) -> tuple[Label, ...]:
        """No, yes."""
        return self.labels

    def answers(self) -> tuple[Label, ...]:
        """No, yes."""
        return self.labels

    def table(self) -> Table:
        """P(yes | yes) = ask, P(yes | no) = 1 - ask."""
        return _mirrored(share("ask", self.ask))


@final
@dataclass(frozen=True, slots=True)
class ForcedResponse(Finite):
    """The die says "answer yes" with probability `yes`, "answer no" with probability `no`, else the truth."""

    yes: float
    no: float
    labels: tuple[Label, ...] = _YES_NO

    def __post_init__(self) -> None:
        """Refuse forced answers that leave no room for the truth."""
        _settle(self, "labels")
        if share("yes", self.yes) + share("no", self.no) >= 1:
            raise InputError(f"yes= and no= leave nothing of the truth: {self.yes} + {self.no}. Force less.")

    @property
    def truth(self) -> float:
        """The probability that the answer is copied from the truth."""
        return float(1 - Fraction(self.yes) - Fraction(self.no))

    def truths(self) -> tuple[Label, ...]:
        """No, yes."""
        return self.labels

    def answers(self) -> tuple[Label, ...]:
        """No, yes."""
        return self.labels

    def table(self) -> Table:
        """P(yes | yes) = 1 - no, P(yes | no) = yes."""
        return _binary(1 - share("no", self.no), share("yes", self.yes))


@final
@dataclass(frozen=True, slots=True)
class Disguised(Finite):
    """Two decks, one card from each: `share` of the first deck is red, and 1 - `share` of the second.

    Who would say yes reports the first card, who would say no the second; only a colour is said.
    """

    share: float
    labels: tuple[Label, ...] = _YES_NO
    colours: tuple[Label, ...] = ("black", "red")

    def __post_init__(self) -> None:
        """Refuse decks that look alike."""
        _settle(self, "labels", "colours")
        _check(self.table(), "share=0.5 makes both decks alike")

    def truths(self) -> tuple[Label, ...]:
        """No, yes."""
        return self.labels

    def answers(self) -> tuple[Label, ...]:
        """Black, red."""
        return self.colours

    def table(self) -> Table:
        """P(red | yes) = share, P(red | no) = 1 - share."""
        return _mirrored(share("share", self.share))


@final
@dataclass(frozen=True, slots=True)
class Crosswise(Finite):
    """Say whether the answers to the sensitive question and to a harmless one are the same.

    `prevalence` of the harmless one is known, and no single person's answer to it.
    """

    prevalence: float
    labels: tuple[Label, ...] = _YES_NO
    replies: tuple[Label, ...] = ("different", "same")

    def __post_init__(self) -> None:
        """Refuse a harmless question that every second person would affirm."""
        _settle(self, "labels", "replies")
        _check(self.table(), "prevalence=0.5 makes 'same' as likely under either truth")

    def truths(self) -> tuple[Label, ...]:
        """No, yes."""
        return self.labels

    def answers(self) -> tuple[Label, ...]:
        """Different, same."""
        return self.replies

    def table(self) -> Table:
        """P(same | yes) = prevalence, P(same | no) = 1 - prevalence."""
        return _mirrored(share("prevalence", self.prevalence))


@final
@dataclass(frozen=True, slots=True)
class UnrelatedQuestion(Finite):
    """The sensitive question with probability `ask`, otherwise a harmless one of known `prevalence`."""

    ask: float
    prevalence: float
    labels: tuple[Label, ...] = _YES_NO

    def __post_init__(self) -> None:
        """Refuse a design that never asks."""
        _settle(self, "labels")
        _check(self.table(), "ask=0 never asks the sensitive question")

    def truths(self) -> tuple[Label, ...]:
        """No, yes."""
        return self.labels

    def answers(self) -> tuple[Label, ...]:
        """No, yes."""
        return self.labels

    def table(self) -> Table:
        """P(yes | yes) = ask + (1 - ask) prevalence, P(yes | no) = (1 - ask) prevalence."""
        ask, harmless = share("ask", self.ask), share("prevalence", self.prevalence)
        return _binary(ask + (1 - ask) * harmless, (1 - ask) * harmless)


@final
@dataclass(frozen=True, slots=True)
class Kuk(Finite):
    """Cards from one of two decks: who has the trait draws from `carriers`, who has not from `others`.

    Both are shares of red cards. `draws` cards are drawn with replacement; the answer is how many are red.
    """

    carriers: float
    others: float
    draws: int = 1
    labels: tuple[Label, ...] = _YES_NO

    def __post_init__(self) -> None:
        """Refuse decks that look alike."""
        _settle(self, "labels")
        if isinstance(self.draws, bool) or not isinstance(self.draws, int) or not 1 <= self.draws <= 100:
            raise InputError(f"draws= is a whole number from 1 to 100, and got {self.draws!r}.")
        _check(self.table(), "both decks have the same share of red cards")

    def truths(self) -> tuple[Label, ...]:
        """No, yes."""
        return self.labels

    def answers(self) -> tuple[Label, ...]:
        """How many cards were red."""
        return tuple(range(self.draws + 1))

    def table(self) -> Table:
        """Binomial with the share of the deck."""
        decks = share("others", self.others), share("carriers", self.carriers)
        return Table.of([_binomial(deck, self.draws) for deck in decks])


@final
@dataclass(frozen=True, slots=True)
class Triangular(Finite):
    """Say "neither" or "at least one" of the sensitive trait and a harmless one of known `prevalence`.

    "Neither" says no for certain: this design protects who has the trait, and nobody else.
    """

    prevalence: float
    labels: tuple[Label, ...] = _YES_NO
    replies: tuple[Label, ...] = ("neither", "at least one")

    def __post_init__(self) -> None:
        """Refuse a harmless trait that everybody has."""
        _settle(self, "labels", "replies")
        _check(self.table(), "prevalence=1 makes everybody say 'at least one'")

    def truths(self) -> tuple[Label, ...]:
        """No, yes."""
        return self.labels

    def answers(self) -> tuple[Label, ...]:
        """Neither, at least one."""
        return self.replies

    def table(self) -> Table:
        """P(at least one | yes) = 1, P(at least one | no) = prevalence."""
        return _binary(Fraction(1), share("prevalence", self.prevalence))


@final
@dataclass(frozen=True, slots=True)
class ItemCount(Finite):
    """How many of a list of items apply: the sensitive one among harmless ones.

    `harmless` is the probability of each count of harmless items, from 0 up, known or estimated
    from people who were shown the list without the sensitive item.
    """

    harmless: tuple[float, ...]
    labels: tuple[Label, ...] = _YES_NO

    def __post_init__(self) -> None:
        """Refuse what is not a law of counts."""
        object.__setattr__(self, "harmless", tuple(self.harmless))
        _settle(self, "labels")
        law = [share("harmless", part) for part in self.harmless]
        if len(law) < 2 or abs(sum(law, start=Fraction(0)) - 1) > Fraction(1, 10**6):
            raise InputError(
                f"harmless= is a probability per count, adding up to 1, and got {self.harmless}."
            )

    @classmethod
    def of(cls, *prevalences: float) -> Self:
        """Independent harmless items of these prevalences."""
        law = [Fraction(1)]
        for one in prevalences:
            part = share("prevalence", one)
            law = [a * (1 - part) + b * part for b, a in pairwise([Fraction(0), *law, Fraction(0)])]
        return cls(tuple(float(part) for part in law))

    def truths(self) -> tuple[Label, ...]:
        """No, yes."""
        return self.labels

    def answers(self) -> tuple[Label, ...]:
        """The count."""
        return tuple(range(len(self.harmless) + 1))

    def table(self) -> Table:
        """The count of harmless items, and one more for yes."""
        law = [share("harmless", part) for part in self.harmless]
        return Table.of([[*law, Fraction(0)], [Fraction(0), *law]])


DESIGNS = (Warner, ForcedResponse, Disguised, Crosswise, UnrelatedQuestion, Kuk, Triangular, ItemCount)


def _settle(design: object, *names: str) -> None:
    for name in names:
        object.__setattr__(design, name, distinct(getattr(design, name), name))
        if len(getattr(design, name)) != 2:
            raise InputError(f"{name}= has two labels, no before yes, and got {getattr(design, name)}.")


def _check(table: Table, why: str) -> None:
    if (table.counts[0] == table.counts[1]).all():
        raise InputError(f"The answer would say nothing: {why}. Change the design.")


def _mirrored(ask: Fraction) -> Table:
    return _binary(ask, 1 - ask)


def _binary(yes: Fraction, no: Fraction) -> Table:
    """The table of P(second answer | yes) and P(second answer | no)."""
    return Table.of([[1 - no, no], [1 - yes, yes]])


def _binomial(part: Fraction, draws: int) -> list[Fraction]:
    return [comb(draws, red) * part**red * (1 - part) ** (draws - red) for red in range(draws + 1)]
