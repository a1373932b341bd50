"""Subset selection: a set of labels of one size, which holds the truth more often than not."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, lgamma
from typing import TYPE_CHECKING, Any, final

import numpy as np

from suffice.channels.bound import exp_below, log_above, positive
from suffice.channels.dyadic import WHOLE, events, permutations
from suffice.channels.finite import ASSUMED
from suffice.channels.label import Label, distinct, places
from suffice.channels.unary import all_bits, bit_rows, debiased
from suffice.core.errors import InputError
from suffice.core.guarantees import Guarantee, PureDP
from suffice.core.units import Answer

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SubsetSelection"]

_BLOCK = 1 << 20


@final
@dataclass(frozen=True, slots=True)
class SubsetSelection:
    """The answer is a set of `size` labels, a row of bits; without `size`, the one of least variance.

    The truth is in it with probability size e^epsilon / (size e^epsilon + K - size); the others are
    a uniform choice. Of the channels for many labels this one has the least variance or nearly.
    """

    labels: tuple[Label, ...]
    epsilon: float
    size: int | None = None

    def __post_init__(self) -> None:
        """Refuse what is no list of labels, no epsilon, or no size of a subset."""
        object.__setattr__(self, "labels", distinct(self.labels))
        positive("epsilon", self.epsilon)
        known = isinstance(self.size, int) and not isinstance(self.size, bool)
        if self.size is not None and not (known and 1 <= self.size < len(self.labels)):
            raise InputError(f"size= is from 1 to {len(self.labels) - 1}, and got {self.size!r}.")

    def truths(self) -> tuple[Label, ...]:
        """The labels that a truth may have."""
        return self.labels

    def chosen_size(self) -> int:
        """How many labels an answer names."""
        if self.size is not None:
            return self.size
        labels = len(self.labels)
        near = int(labels / (1 + exp_below(Fraction(self.epsilon))))
        sizes = {min(max(size, 1), labels - 1) for size in (near, near + 1)}
        return min(sorted(sizes), key=lambda size: _variance(labels, *self._chances(size)))

    def guarantee(self) -> Guarantee:
        """The log-ratio of a set with the truth to one without it, rounded up."""
        size, own = self.chosen_size(), self._own(self.chosen_size())
        widest = Fraction(own * (len(self.labels) - size), (WHOLE - own) * size)
        return Guarantee(PureDP(log_above(widest)), Answer(), assumes=ASSUMED)

    def randomise(self, truth: Any) -> NDArray[np.bool_]:
        """A row of bits for each truth, `size` of them on."""
        codes = places(self.labels, truth, "truth")
        rows, step = codes.ravel(), max(1, _BLOCK // len(self.labels))
        parts = [self._draw(rows[at : at + step]) for at in range(0, rows.size, step)]
        bits = np.concatenate(parts) if parts else np.zeros((0, len(self.labels)), np.bool_)
        return bits.reshape(*codes.shape, len(self.labels))

    def log_density(self, answer: Any, truth: Any) -> NDArray[np.float64]:
        """The logarithm of the probability of each set given its truth."""
        bits, codes = self._sets(answer), places(self.labels, truth, "truth")
        labels, size = len(self.labels), self.chosen_size()
        own = self._own(size) / WHOLE
        inside = np.take_along_axis(bits, np.broadcast_to(codes[..., None], (*bits.shape[:-1], 1)), axis=-1)
        with_it = np.log(own) - _log_choose(labels - 1, size - 1)
        without = np.log1p(-own) - _log_choose(labels - 1, size)
        return np.asarray(np.where(inside[..., 0], with_it, without))

    def unbias(self, answer: Any) -> NDArray[np.float64]:
        """A row per answer and a column per label; its mean given a truth is 1 there and 0 elsewhere."""
        return debiased(self._sets(answer), *self._chances(self.chosen_size()))

    def variance(self) -> float:
        """The total variance of one unbiased answer, the same for every truth."""
        return _variance(len(self.labels), *self._chances(self.chosen_size()))

    def answers(self) -> NDArray[np.bool_]:
        """Every possible set, for sixteen labels or fewer."""
        rows = all_bits(len(self.labels))
        return np.asarray(rows[rows.sum(axis=1) == self.chosen_size()])

    def matrix(self) -> NDArray[np.float64]:
        """The probability of every set, a row per truth, for sixteen labels or fewer."""
        rows = self.answers()
        return np.asarray(np.exp([self.log_density(rows, [label] * len(rows)) for label in self.labels]))

    def _own(self, size: int) -> int:
        """The count over 2^53 of the truth being in the set, rounded down."""
        weight = size * exp_below(Fraction(self.epsilon))
        return min(int(weight / (weight + len(self.labels) - size) * WHOLE), WHOLE - 1)

    def _chances(self, size: int) -> tuple[float, float]:
        """The probabilities that the truth, and that any other label, is in the set."""
        own = Fraction(self._own(size), WHOLE)
        return float(own), float((size - own) / (len(self.labels) - 1))

    def _draw(self, codes: NDArray[np.intp]) -> NDArray[np.bool_]:
        labels, size = len(self.labels), self.chosen_size()
        own = events(np.full(codes.size, self._own(size), dtype=np.uint64))
        ranks = np.empty((codes.size, labels - 1), dtype=np.intp)
        order = permutations(codes.size, labels - 1)
        np.put_along_axis(ranks, order, np.arange(labels - 1)[None, :], axis=1)
        others = ranks < (size - own)[:, None]
        bits = np.empty((codes.size, labels), dtype=np.bool_)
        shifted = np.arange(labels - 1) + (np.arange(labels - 1) >= codes[:, None])
        np.put_along_axis(bits, shifted, others, axis=1)
        np.put_along_axis(bits, codes[:, None], own[:, None], axis=1)
        return bits

    def _sets(self, answer: Any) -> NDArray[np.bool_]:
        bits = bit_rows(answer, len(self.labels))
        if (bits.sum(axis=-1) != self.chosen_size()).any():
            raise InputError(f"An answer names {self.chosen_size()} labels, and one of these does not.")
        return bits


def _variance(labels: int, own: float, other: float) -> float:
    if own <= other:
        return float("inf")
    return (own * (1 - own) + (labels - 1) * other * (1 - other)) / (own - other) ** 2


def _log_choose(of: int, some: int) -> float:
    if of < 500:
        return float(np.log(float(comb(of, some))))
    return lgamma(of + 1) - lgamma(some + 1) - lgamma(of - some + 1)
