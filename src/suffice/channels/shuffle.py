"""What shuffled answers reveal: the exact central promise of many noisy yes-or-no answers without names."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.channels.interval import whole
from suffice.core.errors import InputError
from suffice.core.guarantees import ApproxDP

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["shuffled", "shuffled_delta"]

_DEVIATIONS = 14.0  # beyond so many standard deviations the mass is counted as revealed
_ALL = 200
_ENDS = 12
_EVEN = 25
_UP = 1 + 1e-9


def shuffled(channel: Any, count: int, *, delta: float = 1e-6) -> ApproxDP:
    """The epsilon, at `delta`, of `count` answers of a yes-or-no channel of which only the total is seen.

    Whoever shuffles must be trusted to drop names and order. The other people's truths are the worst that
    there are: all splits are tried up to 200 people, and beyond that the splits near either end,
    where the worst lies, with an even grid between.
    """
    if not 0 < delta < 1:
        raise InputError(f"delta= is a probability between 0 and 1, and got {delta!r}.")
    others = [
        _others(*_chances(channel), whole("count", count, most=10**9) - 1, yes) for yes in _splits(count)
    ]
    alone = channel.guarantee().promise
    low, high = 0.0, float(getattr(alone, "epsilon", 800.0))
    for _ in range(60):
        middle = (low + high) / 2
        over = any(_delta(channel, law, rest, middle) > delta for law, rest in others)
        low, high = (middle, high) if over else (low, middle)
    return ApproxDP(high * _UP, delta)


def shuffled_delta(channel: Any, count: int, epsilon: float, *, yes: int) -> float:
    """The exact delta at `epsilon` when `yes` of the other people's truths are yes."""
    law, rest = _others(*_chances(channel), whole("count", count, most=10**9) - 1, yes)
    return _delta(channel, law, rest, epsilon)


def _delta(channel: Any, others: NDArray[np.float64], rest: float, epsilon: float) -> float:
    """The hockey-stick divergence of the totals, one person's truth being yes or no, both ways round."""
    no, yes = _chances(channel)
    one = np.convolve(others, [1 - yes, yes])
    two = np.convolve(others, [1 - no, no])
    gain = math.exp(epsilon)
    worst = max(np.maximum(one - gain * two, 0).sum(), np.maximum(two - gain * one, 0).sum())
    return float(worst) + rest


def _chances(channel: Any) -> tuple[float, float]:
    """P(second answer | no) and P(second answer | yes)."""
    matrix = np.asarray(channel.matrix())
    if matrix.shape != (2, 2):
        raise InputError(f"Shuffling is computed for two truths and two answers, and got {matrix.shape}.")
    return float(matrix[0, 1]), float(matrix[1, 1])


def _splits(count: int) -> list[int]:
    """How many of the others may be yes: all numbers, or those near the ends and a grid."""
    if count <= _ALL:
        return list(range(count))
    ends = [*range(_ENDS), *range(count - _ENDS, count)]
    return sorted({*ends, *np.linspace(0, count - 1, _EVEN).astype(int).tolist()})


def _others(no: float, yes: float, others: int, said_yes: int) -> tuple[NDArray[np.float64], float]:
    """The law of the others' total, without its far tails, and the mass of these."""
    if not 0 <= said_yes <= others:
        raise InputError(f"yes= is from 0 to {others}, and got {said_yes!r}.")
    law = np.convolve(_binomial(said_yes, yes), _binomial(others - said_yes, no))
    return law, max(0.0, 1 - float(law.sum()))


def _binomial(count: int, part: float) -> NDArray[np.float64]:
    """The probabilities of a binomial law around its mean."""
    if count == 0 or part in {0.0, 1.0}:
        return np.ones(1)
    reach = _DEVIATIONS * math.sqrt(count * part * (1 - part)) + _DEVIATIONS**2
    low, high = max(0, math.floor(count * part - reach)), min(count, math.ceil(count * part + reach))
    at = np.arange(low, high)
    steps = np.log(count - at) - np.log(at + 1) + math.log(part / (1 - part))
    first = math.lgamma(count + 1) - math.lgamma(low + 1) - math.lgamma(count - low + 1)
    start = first + low * math.log(part) + (count - low) * math.log1p(-part)
    law = np.exp(start + np.concatenate([[0.0], np.cumsum(steps)]))
    return np.asarray(law / max(law.sum(), 1.0))
