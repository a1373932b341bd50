"""Unary encodings: a bit per label, each turned on or off on its own."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from suffice.channels.bound import exp_below, log_above, positive
from suffice.channels.dyadic import WHOLE, events
from suffice.channels.finite import ASSUMED
from suffice.channels.label import Label, distinct, places
from suffice.core.errors import InputError
from suffice.core.guarantees import Guarantee, PureDP
from suffice.core.units import Answer

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["OptimisedUnary", "SymmetricUnary", "Unary", "all_bits", "bit_rows", "debiased"]

_MOST_ENUMERATED = 16


class Unary(Protocol):
    """A row of bits per answer: the truth's bit is on more often than the others."""

    __slots__ = ()

    def truths(self) -> tuple[Label, ...]:
        """The labels that a truth may have."""
        ...

    def chances(self) -> tuple[int, int]:
        """Counts over 2^53 of a bit being on: the truth's own, and any other."""
        ...

    def guarantee(self) -> Guarantee:
        """The log-ratio of the two bits in which two truths differ, rounded up."""
        own, other = self.chances()
        widest = Fraction(own * (WHOLE - other), (WHOLE - own) * other)
        return Guarantee(PureDP(log_above(widest)), Answer(), assumes=ASSUMED)

    def randomise(self, truth: Any) -> NDArray[np.bool_]:
        """A row of fresh bits for each truth, one bit per label."""
        codes = places(self.truths(), truth, "truth")
        own, other = (np.uint64(count) for count in self.chances())
        return events(np.where(codes[..., None] == np.arange(len(self.truths())), own, other))

    def log_density(self, answer: Any, truth: Any) -> NDArray[np.float64]:
        """The logarithm of the probability of each row of bits given its truth."""
        codes = places(self.truths(), truth, "truth")
        bits = bit_rows(answer, len(self.truths()))
        own, other = (count / WHOLE for count in self.chances())
        on = np.where(codes[..., None] == np.arange(bits.shape[-1]), own, other)
        return np.asarray(np.where(bits, np.log(on), np.log1p(-on)).sum(axis=-1))

    def unbias(self, answer: Any) -> NDArray[np.float64]:
        """A row per answer and a column per label; its mean given a truth is 1 there and 0 elsewhere."""
        own, other = (count / WHOLE for count in self.chances())
        return debiased(bit_rows(answer, len(self.truths())), own, other)

    def variance(self) -> float:
        """The total variance of one unbiased answer, the same for every truth."""
        own, other = (count / WHOLE for count in self.chances())
        noise = own * (1 - own) + (len(self.truths()) - 1) * other * (1 - other)
        return noise / (own - other) ** 2

    def answers(self) -> NDArray[np.bool_]:
        """Every possible row of bits, for sixteen labels or fewer."""
        return all_bits(len(self.truths()))

    def matrix(self) -> NDArray[np.float64]:
        """The probability of every row of bits, a row per truth, for sixteen labels or fewer."""
        rows, labels = self.answers(), self.truths()
        return np.asarray(np.exp([self.log_density(rows, [label] * len(rows)) for label in labels]))


@final
@dataclass(frozen=True, slots=True)
class SymmetricUnary(Unary):
    """Every bit of the one-hot row is turned round with the same probability, 1 / (1 + e^(epsilon/2))."""

    labels: tuple[Label, ...]
    epsilon: float

    def __post_init__(self) -> None:
        """Refuse what is no list of labels, and no epsilon."""
        _settle(self)

    def truths(self) -> tuple[Label, ...]:
        """The labels that a truth may have."""
        return self.labels

    def chances(self) -> tuple[int, int]:
        """One bit is turned with the least count that keeps epsilon."""
        flip = _rounded_up(1 / (1 + exp_below(Fraction(self.epsilon) / 2)))
        return WHOLE - flip, flip


@final
@dataclass(frozen=True, slots=True)
class OptimisedUnary(Unary):
    """The truth's bit is a fair coin; any other is on with probability 1 / (1 + e^epsilon)."""

    labels: tuple[Label, ...]
    epsilon: float

    def __post_init__(self) -> None:
        """Refuse what is no list of labels, and no epsilon."""
        _settle(self)

    def truths(self) -> tuple[Label, ...]:
        """The labels that a truth may have."""
        return self.labels

    def chances(self) -> tuple[int, int]:
        """A half, and the least count of the others that keeps epsilon."""
        return WHOLE // 2, _rounded_up(1 / (1 + exp_below(Fraction(self.epsilon))))


def bit_rows(answer: Any, width: int) -> NDArray[np.bool_]:
    """The answers as rows of bits; anything but zeros and ones in rows of this width is refused."""
    bits = np.asarray(answer)
    if bits.ndim == 0 or bits.shape[-1] != width or not ((bits == 0) | (bits == 1)).all():
        raise InputError(f"An answer is a row of {width} bits, and got {bits.dtype} of shape {bits.shape}.")
    return bits.astype(np.bool_)


def debiased(bits: NDArray[np.bool_], own: float, other: float) -> NDArray[np.float64]:
    """Bits, on with one of two probabilities, as numbers whose means are 1 and 0."""
    return np.asarray((bits - other) / (own - other))


def all_bits(width: int) -> NDArray[np.bool_]:
    """Every row of this many bits."""
    if width > _MOST_ENUMERATED:
        raise InputError(f"2^{width} answers are too many to list; up to {_MOST_ENUMERATED} labels can be.")
    return (np.arange(1 << width)[:, None] >> np.arange(width) & 1).astype(np.bool_)


def _settle(channel: SymmetricUnary | OptimisedUnary) -> None:
    object.__setattr__(channel, "labels", distinct(channel.labels))
    positive("epsilon", channel.epsilon)
    if channel.chances()[1] * 2 >= WHOLE:
        raise InputError(f"epsilon={channel.epsilon!r} leaves nothing of the truth. Take more.")


def _rounded_up(part: Fraction) -> int:
    return -int(-part * WHOLE // 1)
