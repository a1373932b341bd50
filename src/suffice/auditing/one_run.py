"""Auditing in one run (Steinke, Nasr and Jagielski 2023): many canaries, one guess about each.

Each canary is in or out by a fair coin of its own. From what was released an attacker guesses some
of the coins and leaves the others open. Under (epsilon, delta) the number of right guesses is at
most, in law, a binomial one with probability e^epsilon/(1 + e^epsilon), up to a term in delta; so
too many right guesses are evidence against it (docs/proofs/audit.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy import stats

from suffice.core.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Rule", "Score", "epsilon_lower_bound", "guessed", "least_correct", "p_value", "power", "rule_for"]

_MOST_EPSILON = 60.0
_HALVINGS = 45
_LEVELS = np.concatenate([np.geomspace(1e-3, 0.05, 8), np.linspace(0.08, 0.5, 15)])


@final
@dataclass(frozen=True, slots=True)
class Rule:
    """Guess that the coin is heads at or above `high`, tails at or below `low`, and nothing in between."""

    low: float
    high: float

    def guesses(self, values: NDArray[np.float64]) -> NDArray[np.int8]:
        """+1 for heads, -1 for tails, 0 for no guess."""
        return (values >= self.high).astype(np.int8) - (values <= self.low).astype(np.int8)


@final
@dataclass(frozen=True, slots=True)
class Score:
    """How many canaries there were, how many coins were guessed, and how many of them rightly."""

    canaries: int
    guesses: int
    correct: int


def p_value(canaries: int, guesses: int, correct: int, *, epsilon: float, delta: float = 0.0) -> float:
    """The most that (epsilon, delta) gives to this many right guesses or more (theorem 5.2 there)."""
    if not 0 <= correct <= guesses <= canaries:
        raise InputError(f"Of {canaries} canaries {guesses} were guessed and {correct} rightly: impossible.")
    if not correct:
        return 1.0
    chance = 1.0 / (1.0 + math.exp(-epsilon))
    tail = float(stats.binom.sf(correct - 1, guesses, chance))
    if delta == 0:
        return tail
    below = np.cumsum(stats.binom.pmf(np.arange(correct - 1, -1, -1), guesses, chance))
    share = float((below / np.arange(1, correct + 1)).max())
    return min(1.0, tail + 2 * canaries * delta * share)


def epsilon_lower_bound(
    canaries: int, guesses: int, correct: int, *, delta: float = 0.0, error: float = 1e-3
) -> float:
    """The largest epsilon that the guesses refute; it exceeds the true one at most so often as `error`."""
    if p_value(canaries, guesses, correct, epsilon=0.0, delta=delta) >= error:
        return 0.0
    low, high = 0.0, _MOST_EPSILON
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        refuted = p_value(canaries, guesses, correct, epsilon=middle, delta=delta) < error
        low, high = (middle, high) if refuted else (low, middle)
    return low


def least_correct(canaries: int, guesses: int, *, epsilon: float, delta: float, error: float) -> int:
    """The fewest right guesses that refute (epsilon, delta); one more than all if none do."""
    low, high = 0, guesses + 1
    while low < high:
        middle = (low + high) // 2
        if p_value(canaries, guesses, middle, epsilon=epsilon, delta=delta) < error:
            high = middle
        else:
            low = middle + 1
    return low


def power(score: Score, *, epsilon: float, delta: float, error: float) -> float:
    """How probably another game that goes as well on average would refute (epsilon, delta)."""
    if not score.guesses:
        return 0.0
    least = least_correct(score.canaries, score.guesses, epsilon=epsilon, delta=delta, error=error)
    return float(stats.binom.sf(least - 1, score.guesses, score.correct / score.guesses))


def guessed(coins: ArrayLike, values: ArrayLike, rule: Rule) -> Score:
    """Play the rule: the coins are +1 and -1, the values are what the attacker saw of each canary."""
    tossed = np.asarray(coins, dtype=np.int8)
    told = rule.guesses(np.asarray(values, dtype=np.float64))
    return Score(len(tossed), int((told != 0).sum()), int((told * tossed > 0).sum()))


def rule_for(coins: ArrayLike, values: ArrayLike, *, error: float = 1e-6) -> tuple[float, Rule]:
    """The rule that refutes most on these canaries, and the bound that it reaches on them.

    It must be judged on other canaries, for it was chosen on these. An `error` far below that of the
    judgement keeps a rule from winning by a lucky streak of few guesses.
    """
    tossed, seen = np.asarray(coins, dtype=np.int8), np.asarray(values, dtype=np.float64)
    ordered = np.sort(seen)
    lows = ordered[(_LEVELS * (len(ordered) - 1)).astype(int)]
    highs = ordered[((1 - _LEVELS) * (len(ordered) - 1)).astype(int)]
    rules = [Rule(low, high) for low, high in zip(lows, highs, strict=True) if low < high]
    rules += [Rule(-math.inf, float(high)) for high in np.unique(highs)]
    rules += [Rule(float(low), math.inf) for low in np.unique(lows)]
    reached = [(_quick(guessed(tossed, seen, rule), error), rule) for rule in rules]
    return max(reached, key=lambda one: one[0])


def _quick(score: Score, error: float) -> float:
    """The bound for delta = 0, by Clopper and Pearson; it chooses among rules and proves nothing."""
    if not score.correct:
        return -math.inf
    wrong: Any = score.guesses - score.correct
    least = float(stats.beta.ppf(error, score.correct, wrong + 1))
    return math.log(least / (1 - least)) if least < 1 else _MOST_EPSILON
