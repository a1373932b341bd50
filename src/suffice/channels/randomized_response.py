"""Randomised response: with some probability the truth, otherwise a draw from a known law."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from suffice.channels.bound import exp_below, log_above, positive, share
from suffice.channels.dyadic import WHOLE, probability
from suffice.channels.finite import ASSUMED, logs
from suffice.channels.label import Label, distinct, named, places
from suffice.channels.table import Table
from suffice.core.errors import InputError
from suffice.core.guarantees import Guarantee, PureDP
from suffice.core.units import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Calibration", "RandomizedResponse"]

Calibration = Literal["tight", "paper"]


@final
@dataclass(frozen=True, slots=True)
class RandomizedResponse:
    """With probability `truth` the answer is the truth; otherwise it is drawn from `base`, truth or not.

    State `epsilon`, and `truth` is the largest that keeps it, or state `truth`. `base` is "uniform" or a
    probability per label, none of them zero. `calibration="paper"` reads epsilon as P1 does,
    truth / ((1 - truth) min base), which spends less than it says; the guarantee tells what is spent.
    """

    labels: tuple[Label, ...]
    epsilon: float | Fraction | None = None
    truth: float | Fraction | None = None
    base: Literal["uniform"] | tuple[float, ...] = "uniform"
    calibration: Calibration = "tight"

    def __init__(
        self,
        labels: Sequence[Label],
        *,
        epsilon: float | Fraction | None = None,
        truth: float | Fraction | None = None,
        base: Literal["uniform"] | Sequence[float] = "uniform",
        calibration: Calibration = "tight",
    ) -> None:
        put = object.__setattr__
        put(self, "labels", distinct(labels))
        if (epsilon is None) == (truth is None):
            raise InputError("RandomizedResponse takes one of epsilon= and truth=.")
        if calibration not in {"tight", "paper"}:
            raise InputError(f"calibration= is 'tight' or 'paper', and got {calibration!r}.")
        put(self, "epsilon", epsilon)
        put(self, "truth", truth)
        put(self, "base", base if isinstance(base, str) else tuple(base))
        put(self, "calibration", calibration)
        _noise(self)

    @property
    def keep(self) -> float:
        """The least probability, over the labels, that the answer is the truth."""
        noise = _noise(self)
        return probability(WHOLE - sum(noise) + min(noise))

    def copied(self) -> float:
        """The probability that the answer is copied from the truth, as it is sampled."""
        return probability(WHOLE - sum(_noise(self)))

    def truths(self) -> tuple[Label, ...]:
        """The labels that a truth may have."""
        return self.labels

    def answers(self) -> tuple[Label, ...]:
        """The labels that an answer may have."""
        return self.labels

    def table(self) -> Table:
        """The law that is sampled, one row of whole numbers per truth."""
        noise = np.array(_noise(self), dtype=np.int64)
        return Table(noise + np.diag(np.full(noise.size, WHOLE - noise.sum())))

    def matrix(self) -> NDArray[np.float64]:
        """The probability of each answer, a row per truth; exactly what is sampled."""
        return self.table().matrix()

    def guarantee(self) -> Guarantee:
        """log(1 + truth / ((1 - truth) min base)) of what is sampled, rounded up."""
        noise = _noise(self)
        widest = 1 + Fraction(WHOLE - sum(noise), min(noise))
        return Guarantee(PureDP(log_above(widest)), Answer(), assumes=ASSUMED)

    def randomise(self, truth: Any) -> Any:
        """One fresh answer for each truth; a single truth gives a single answer."""
        codes = places(self.labels, truth, "truth")
        noise = _noise(self)
        choice = Table(np.array([[*noise, WHOLE - sum(noise)]], dtype=np.int64))
        drawn = choice.draw(np.zeros(codes.size, dtype=np.intp)).reshape(codes.shape)
        return named(self.labels, np.where(drawn == len(noise), codes, drawn))

    def log_density(self, answer: Any, truth: Any) -> NDArray[np.float64]:
        """The logarithm of the probability of each answer given its truth."""
        one, two = places(self.labels, answer, "answer"), places(self.labels, truth, "truth")
        noise = np.array(_noise(self)) / WHOLE
        return logs(noise[one] + np.where(one == two, self.copied(), 0.0))

    def unbias(self, answer: Any) -> NDArray[np.float64]:
        """A row per answer and a column per truth: (1 at the answer - (1 - truth) base) / truth."""
        codes = places(self.labels, answer, "answer")
        noise = np.array(_noise(self)) / WHOLE
        one_hot = codes[..., None] == np.arange(len(self.labels))
        return np.asarray((one_hot - noise) / self.copied())

    def variance(self) -> float:
        """The total variance of one unbiased answer at the worst truth."""
        noise, truth = np.array(_noise(self)) / WHOLE, self.copied()
        own = noise + truth
        return float(((noise * (1 - noise)).sum() + (own * (1 - own) - noise * (1 - noise)).max()) / truth**2)


@lru_cache(maxsize=64)
def _noise(channel: RandomizedResponse) -> tuple[int, ...]:
    """For each label the count, over 2^53, of being drawn whatever the truth is.

    Counts are rounded up, which leaves less for the truth: no ratio is larger than was asked for.
    """
    law = _law(channel)
    truth = _truth(channel, min(law))
    counted = {part: -int(-(1 - truth) * part * WHOLE // 1) for part in set(law)}
    noise = tuple(counted[part] for part in law)
    if min(noise) == 0:
        raise InputError("With truth=1 every answer is the truth: no privacy. Take truth= below 1.")
    if sum(noise) >= WHOLE:
        raise InputError(f"{channel.epsilon or channel.truth!r} leaves nothing of the truth. Take more.")
    return noise


def _law(channel: RandomizedResponse) -> list[Fraction]:
    size = len(channel.labels)
    if channel.base == "uniform":
        return [Fraction(1, size)] * size
    if isinstance(channel.base, str) or len(channel.base) != size:
        raise InputError(f"base= is 'uniform' or {size} probabilities, and got {channel.base!r}.")
    law = [share("base", part) for part in channel.base]
    if abs(sum(law, start=Fraction(0)) - 1) > Fraction(1, 10**9):
        raise InputError(f"base= adds up to 1, and these add up to {float(sum(law)):g}.")
    if min(law) == 0:
        label = channel.labels[law.index(min(law))]
        raise InputError(
            f"base= gives {label!r} probability 0, so only those whose truth it is would answer it: "
            "no privacy. Give every label a positive probability."
        )
    return [part / sum(law) for part in law]


def _truth(channel: RandomizedResponse, least: Fraction) -> Fraction:
    if channel.truth is not None:
        return share("truth", channel.truth)
    level = positive("epsilon", channel.epsilon)  # type: ignore[arg-type]  # one of the two is given
    gain = (exp_below(level) - 1 if channel.calibration == "tight" else level) * least
    return gain / (1 + gain)
