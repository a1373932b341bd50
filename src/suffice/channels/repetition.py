"""What several answers of one person reveal together."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any, final

import numpy as np

from suffice.channels.interval import whole
from suffice.channels.label import Label
from suffice.channels.together import added
from suffice.core.errors import InputError
from suffice.core.guarantees import Promise

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Repetition", "posterior", "repeated"]

_MOST = 200_000


@final
@dataclass(frozen=True, slots=True)
class Repetition:
    """What `times` answers of one person reveal: the promise of all together, and how often a guess is right.

    `right` is the probability that the best guess at the truth from all answers is right, and
    `before` that of the best guess from the prior alone.
    """

    times: int
    promise: Promise
    before: float
    right: float

    def __str__(self) -> str:
        """One sentence."""
        return (
            f"{self.times} answers of one person: {self.promise}; whoever sees them together guesses the "
            f"truth rightly with probability {self.right:.3f}, and {self.before:.3f} without them"
        )


def posterior(channel: Any, answers: ArrayLike, prior: ArrayLike | None = None) -> NDArray[np.float64]:
    """The probability of each truth after independent answers of one person (the last axis)."""
    said = np.asarray(answers)
    truths: tuple[Label, ...] = channel.truths()
    start = _prior(len(truths), prior)
    with np.errstate(divide="ignore"):
        logs = np.log(start)
    shape = said.shape
    told = [
        channel.log_density(said, np.full(shape, truth, dtype=np.asarray(truths).dtype)).sum(axis=-1)
        for truth in truths
    ]
    weights = logs + np.stack(told, axis=-1)
    shares = np.exp(weights - weights.max(axis=-1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def repeated(channel: Any, times: int, prior: ArrayLike | None = None) -> Repetition:
    """What this many independent answers of one person reveal, by going through all their counts."""
    whole("times", times)
    law = np.asarray(channel.matrix())
    start = _prior(len(law), prior)
    if comb(times + law.shape[1] - 1, times) > _MOST:
        raise InputError(
            f"{times} answers of {law.shape[1]} kinds are too many to go through. Ask for fewer."
        )
    right = 0.0
    for orders, tally in _tallies(times, law.shape[1]):
        likely = np.prod(law**tally, axis=1) * orders
        right += float((start * likely).max())
    promise = added([channel.guarantee().promise] * times)
    return Repetition(times, promise, float(start.max()), right)


def _tallies(times: int, kinds: int) -> list[tuple[int, NDArray[np.int64]]]:
    """How often each answer can have been given, and in how many orders."""
    rows: list[tuple[int, int, list[int]]] = [(1, times, [])]
    for _ in range(kinds - 1):
        rows = [
            (n * comb(left, k), left - k, [*tally, k]) for n, left, tally in rows for k in range(left + 1)
        ]
    return [(n, np.array([*tally, left])) for n, left, tally in rows]


def _prior(truths: int, prior: ArrayLike | None) -> NDArray[np.float64]:
    law = np.full(truths, 1 / truths) if prior is None else np.asarray(prior, dtype=np.float64)
    if law.shape != (truths,) or (law < 0).any() or abs(law.sum() - 1) > 1e-9:
        raise InputError(f"prior= has a probability for each of {truths} truths, and got {prior!r}.")
    return law
