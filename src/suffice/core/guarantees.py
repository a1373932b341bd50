"""Promises of privacy as values: what is promised, of what, and on which assumptions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from suffice.core.errors import InputError

if TYPE_CHECKING:
    from suffice.core.units import Unit

__all__ = ["PROMISES", "ApproxDP", "Guarantee", "NotPrivate", "Promise", "PureDP", "ZeroConcentratedDP"]


@final
@dataclass(frozen=True, slots=True)
class PureDP:
    """Every output is at most e^epsilon times as likely on one neighbour as on the other."""

    epsilon: float

    def __post_init__(self) -> None:
        """Refuse what is not a positive finite number."""
        _positive("epsilon", self.epsilon)

    def __str__(self) -> str:
        """The way it is printed everywhere."""
        return f"epsilon = {float(self.epsilon):g}"


@final
@dataclass(frozen=True, slots=True)
class ApproxDP:
    """Every event is at most e^epsilon times as likely on one neighbour as on the other, plus delta."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        """Refuse what is not a positive finite number, and a delta of one or more."""
        _positive("epsilon", self.epsilon)
        _positive("delta", self.delta)
        if self.delta >= 1:
            raise InputError(f"delta is a probability below 1, and got {self.delta!r}.")

    def __str__(self) -> str:
        """The way it is printed everywhere."""
        return f"epsilon = {float(self.epsilon):g}, delta = {float(self.delta):g}"


@final
@dataclass(frozen=True, slots=True)
class ZeroConcentratedDP:
    """Every Rényi divergence of order a between neighbours is at most rho a."""

    rho: float

    def __post_init__(self) -> None:
        """Refuse what is not a positive finite number."""
        _positive("rho", self.rho)

    def __str__(self) -> str:
        """The way it is printed everywhere."""
        return f"rho = {float(self.rho):g}"


@final
@dataclass(frozen=True, slots=True)
class NotPrivate:
    """No privacy guarantee, and why."""

    reason: str

    def __str__(self) -> str:
        """The way it is printed everywhere."""
        return f"no privacy guarantee ({self.reason})"


Promise = PureDP | ApproxDP | ZeroConcentratedDP | NotPrivate
PROMISES = (PureDP, ApproxDP, ZeroConcentratedDP, NotPrivate)


@final
@dataclass(frozen=True, slots=True)
class Guarantee:
    """A promise, the unit it speaks of, other promises that the same draw keeps, and what it assumes."""

    promise: Promise
    unit: Unit
    also: tuple[Promise, ...] = ()
    assumes: tuple[str, ...] = ()

    def sentence(self) -> str:
        """One plain sentence: what is protected, against what, and how strongly."""
        if isinstance(self.promise, NotPrivate):
            return f"This release protects nothing: {self.promise}."
        return f"This release protects {self.unit.sentence()}: {_odds(self.promise)}."


def _odds(promise: Promise) -> str:
    if isinstance(promise, PureDP):
        return (
            "whoever reads it, whatever else they know, can raise their odds about it at most "
            f"{math.exp(min(promise.epsilon, 700.0)):.3g} times ({promise})"
        )
    if isinstance(promise, ApproxDP):
        return (
            "whoever reads it, whatever else they know, can raise their odds about it at most "
            f"{math.exp(min(promise.epsilon, 700.0)):.3g} times, but for an event of probability "
            f"{float(promise.delta):g} ({promise})"
        )
    return f"the Rényi divergence between its two possible worlds is bounded ({promise})"


def _positive(name: str, value: float | Fraction) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise InputError(f"{name} is a number above 0, and got {value!r}.")
    if not math.isfinite(value) or value <= 0:
        raise InputError(f"{name} is a finite number above 0, and got {value!r}.")
