"""Which objectives find the share of votes behind randomised votes when there are ever more of them.

A vote is 1 with probability θ₀; a zero is told as one with probability P10 and a one as zero with P01.
What four objectives settle on with infinitely many votes is computed exactly: the likelihood of the
noisy votes (the right one), votes reconstructed by the model that is being trained, expectation steps
with few samples, and divergences other than the one behind the likelihood (P4 sections 3 to 4.4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from suffice.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = [
    "Divergence",
    "VoteNoise",
    "hellinger",
    "kullback_leibler",
    "sampled_fixed_point",
    "total_variation",
]


@final
@dataclass(frozen=True, slots=True)
class VoteNoise:
    """How often a zero is told as one, and a one as zero. Their sum is below 1, or votes say the contrary."""

    zero_as_one: float
    one_as_zero: float

    def __post_init__(self) -> None:
        rates = (self.zero_as_one, self.one_as_zero)
        if not all(0 <= rate < 1 for rate in rates) or sum(rates) >= 1:
            message = f"two probabilities with a sum below 1 are needed, got {rates}"
            raise InputError(message)

    def observed(self, share: float) -> float:
        """The share of ones among the noisy votes when `share` of the votes are one."""
        return self.zero_as_one * (1 - share) + (1 - self.one_as_zero) * share

    def posteriors(self, share: float) -> tuple[float, float]:
        """The probability that the vote is one after a noisy zero, and after a noisy one, if θ = `share`.

        After a noisy vote that cannot occur under `share`, it is `share` itself.
        """
        kept_zero, kept_one = 1 - self.zero_as_one, 1 - self.one_as_zero
        zeros = self.one_as_zero * share + kept_zero * (1 - share)
        ones = kept_one * share + self.zero_as_one * (1 - share)
        after_zero = self.one_as_zero * share / zeros if zeros else share
        after_one = kept_one * share / ones if ones else share
        return after_zero, after_one

    def likelihood(self, share: float, ones: float) -> float:
        """The mean log-likelihood of noisy votes of which `ones` are one (P4 equation 22)."""
        told = self.observed(share)
        return _times_log(ones, told) + _times_log(1 - ones, 1 - told)

    def estimate(self, ones: float) -> float:
        """The share that makes the noisy votes most likely: (ones - P10)/(1 - P10 - P01), cut to [0, 1]."""
        raw = (_share("ones", ones) - self.zero_as_one) / (1 - self.zero_as_one - self.one_as_zero)
        return min(max(raw, 0.0), 1.0)

    def step(self, share: float, ones: float) -> float:
        """One expectation and maximisation: the mean posterior. `estimate` is its fixed point."""
        after_zero, after_one = self.posteriors(share)
        return (1 - ones) * after_zero + ones * after_one

    def reconstruction(self, share: float, true_share: float) -> float:
        """The objective that trains on votes filled in by the model itself (P4 equation 38).

        It is at most 0, and with any noise it tends to 0 at both ends of [0, 1] whatever the true share
        is: a model that is certain reconstructs votes that confirm it.
        """
        ones = self.observed(true_share)
        parts = [
            weight * (_times_log(belief, share) + _times_log(1 - belief, 1 - share))
            for weight, belief in zip((1 - ones, ones), self.posteriors(share), strict=True)
        ]
        return sum(parts)


@final
@dataclass(frozen=True, slots=True)
class Divergence:
    """A divergence Σ q·f(p/q), with the slope of f at infinity: the price of mass where q has none."""

    generator: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    slope: float

    def expected(self, told: float, ones: float) -> float:
        """The mean over noisy votes of the divergence from the model to the one vote seen (P4 equation 40).

        `told` is the model's share of noisy ones and `ones` the share that occurs. The empirical law of
        one vote has no mass on the other value, so a vote y costs f(p(y)) + slope·(1 - p(y)). Adding
        c·(t - 1) to f changes nothing.
        """
        seen, model = np.array([1 - ones, ones]), np.array([1 - told, told])
        return float(seen @ (self.generator(model) + self.slope * (1 - model)))


def kullback_leibler() -> Divergence:
    """The divergence of the likelihood: -log p(y), least on average where the model is right."""
    return Divergence(lambda ratio: -np.log(ratio), 0.0)


def hellinger() -> Divergence:
    """The squared Hellinger distance: 2 - 2·√p(y), least on average where p(y) ∝ (true p(y))²."""
    return Divergence(lambda ratio: (np.sqrt(ratio) - 1) ** 2, 1.0)


def total_variation() -> Divergence:
    """The total variation: 1 - p(y), least on average when the model is certain of the commoner vote."""
    return Divergence(lambda ratio: np.abs(ratio - 1) / 2, 0.5)


def sampled_fixed_point(flip: float, true_share: float, samples: int) -> float:
    """Where expectation steps with `samples` self-normalised draws settle, with infinitely many votes.

    Votes are drawn around the noisy vote in proportion to the channel and weighted by the model (P4
    equations 58 to 60). The number of draws that are one is binomial, so the mean step is a finite sum,
    and the fixed point is found by bisection: the step is above 0 at 0 and below 1 at 1.
    """
    if not 0 < flip < 0.5 or samples < 1:
        message = f"a flip in (0, 1/2) and one sample or more are needed, got {flip!r} and {samples!r}"
        raise InputError(message)
    ones = VoteNoise(flip, flip).observed(_share("true_share", true_share))
    law = (1 - ones) * _binomial(samples, flip) + ones * _binomial(samples, 1 - flip)
    count = np.arange(samples + 1)
    low, high = 0.0, 1.0
    for _ in range(60):
        share = (low + high) / 2
        weighted = count * share / (count * share + (samples - count) * (1 - share))
        low, high = (share, high) if law @ weighted > share else (low, share)
    return (low + high) / 2


def _binomial(samples: int, chance: float) -> NDArray[np.float64]:
    ways = [
        math.lgamma(samples + 1) - math.lgamma(count + 1) - math.lgamma(samples - count + 1)
        for count in range(samples + 1)
    ]
    count = np.arange(samples + 1)
    logs = np.array(ways) + count * math.log(chance) + (samples - count) * math.log1p(-chance)
    return np.asarray(np.exp(logs))


def _times_log(weight: float, chance: float) -> float:
    """Weight·log(chance), with 0·log(0) = 0."""
    if weight == 0:
        return 0.0
    return weight * math.log(chance) if chance > 0 else -math.inf


def _share(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        message = f"{name} must lie between 0 and 1, got {value!r}"
        raise InputError(message)
    return float(value)
