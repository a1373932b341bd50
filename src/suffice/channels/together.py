"""Several channels on one record: what they promise together, and which part of it means something."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from suffice.channels.bound import above
from suffice.core.errors import InputError
from suffice.core.guarantees import ApproxDP, Guarantee, NotPrivate, Promise, PureDP, ZeroConcentratedDP
from suffice.core.protocols import Channel
from suffice.core.units import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Together", "added"]

_MEANINGFUL = 10.0
_UP = Fraction(10**15 + 1, 10**15)


@final
@dataclass(frozen=True, slots=True)
class Together:
    """A record of several parts, such as a label and its features, each through its own channel.

    A truth, and an answer, is a tuple of the parts. The guarantee is that of the whole record, the sum of
    the parts' own.
    """

    channels: tuple[Channel, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse parts without a name of their own."""
        object.__setattr__(self, "channels", tuple(self.channels))
        object.__setattr__(self, "names", tuple(self.names))
        if len(self.channels) < 2 or len(self.channels) != len(set(self.names)):
            raise InputError(f"Together takes two parts or more, a name for each, and got {self.names}.")

    def guarantee(self) -> Guarantee:
        """The sum of the parts' promises, in the one currency that fits them all."""
        parts = [one.guarantee() for one in self.channels]
        told = tuple(dict.fromkeys(one for part in parts for one in part.assumes))
        return Guarantee(added([part.promise for part in parts]), Answer(), assumes=told)

    def statement(self) -> str:
        """What each part promises, what the whole does, and which of them is more than a number."""
        parts = [one.guarantee() for one in self.channels]
        lines = [f"{name}: {_spelled(part)}" for name, part in zip(self.names, parts, strict=True)]
        lines.append(f"the whole record: {self.guarantee().promise}")
        hollow = [name for name, part in zip(self.names, parts, strict=True) if not _meaningful(part)]
        if hollow:
            kept = [name for name in self.names if name not in hollow]
            only = f"only the statement of {' and '.join(kept)} is" if kept else "none of these statements is"
            lines.append(
                f"{' and '.join(hollow)}: no meaningful differential privacy at this level; {only} meaningful"
            )
        return "\n".join(lines)

    def randomise(self, truth: Sequence[Any]) -> tuple[Any, ...]:
        """A fresh answer of every part."""
        return tuple(one.randomise(part) for one, part in zip(self.channels, truth, strict=True))

    def log_density(self, answer: Sequence[Any], truth: Sequence[Any]) -> NDArray[np.float64]:
        """The sum over the parts, which are drawn independently."""
        parts = zip(self.channels, answer, truth, strict=True)
        return np.asarray(sum(one.log_density(said, true) for one, said, true in parts))

    def unbias(self, answer: Sequence[Any]) -> NDArray[np.float64]:
        """The parts' estimates side by side, each flattened to one row per answer."""
        given = [one.unbias(part) for one, part in zip(self.channels, answer, strict=True)]
        rows = len(given[0])
        return np.concatenate([part.reshape(rows, -1) for part in given], axis=1)


def added(promises: Sequence[Promise]) -> Promise:
    """What draws that keep these promises keep together."""
    for one in promises:
        if isinstance(one, NotPrivate):
            return one
    pure = [Fraction(one.epsilon) for one in promises if isinstance(one, PureDP)]
    rhos = [Fraction(one.rho) for one in promises if isinstance(one, ZeroConcentratedDP)]
    pairs = [one for one in promises if isinstance(one, ApproxDP)]
    if rhos and pairs:
        return NotPrivate("concentrated and approximate promises are not added here; state both as one kind")
    if rhos:
        return ZeroConcentratedDP(
            above(sum(rhos, start=Fraction(0)) + sum(map(_rho, pure), start=Fraction(0)))
        )
    epsilon = above(
        sum(pure, start=Fraction(0)) + sum((Fraction(one.epsilon) for one in pairs), start=Fraction(0))
    )
    if not pairs:
        return PureDP(epsilon)
    return ApproxDP(epsilon, above(sum((Fraction(one.delta) for one in pairs), start=Fraction(0))))


def _rho(epsilon: Fraction) -> Fraction:
    """The rho of any pure promise, epsilon tanh(epsilon/2), rounded up."""
    return Fraction(float(epsilon) * math.tanh(float(epsilon) / 2)) * _UP


def _meaningful(part: Guarantee) -> bool:
    for one in (part.promise, *part.also):
        if isinstance(one, PureDP | ApproxDP) and one.epsilon <= _MEANINGFUL:
            return True
    return False


def _spelled(part: Guarantee) -> str:
    return "; ".join(map(str, (part.promise, *part.also)))
