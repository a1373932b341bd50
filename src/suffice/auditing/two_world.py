"""The two-world test: how often one event happens in each of two neighbouring worlds.

Where a mechanism keeps (epsilon, delta), no event is more than e^epsilon times as likely in one
world as in the other, plus delta. The event is chosen on the first half of the draws and counted
on the second, so that the choice costs nothing (docs/proofs/audit.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy import stats

from suffice.core.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Event", "TwoWorlds", "epsilon_lower_bound", "power", "two_worlds"]

_THRESHOLDS = 120
_SHARES = 40
_LEAST = 1e-300


@final
@dataclass(frozen=True, slots=True)
class Event:
    """A score at or above a threshold, or at or below it; `first` says in which world it is likelier."""

    score: str
    threshold: float
    above: bool
    first: bool

    def happens(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """For each release, whether it does."""
        return values >= self.threshold if self.above else values <= self.threshold

    def __str__(self) -> str:
        """The way it is printed."""
        return f"{self.score} {'≥' if self.above else '≤'} {self.threshold:.6g}"


@final
@dataclass(frozen=True, slots=True)
class TwoWorlds:
    """How often an event was seen in each world, and the epsilon that follows but for `error`."""

    epsilon: float
    delta: float
    error: float
    event: Event
    likely: int
    rare: int
    draws: int


def epsilon_lower_bound(
    likely: int,
    rare: int,
    draws: int,
    *,
    rare_draws: int | None = None,
    delta: float = 0.0,
    error: float = 0.01,
) -> float:
    """The epsilon that an event seen `likely` times in one world and `rare` times in the other asks for.

    Both numbers are of `draws` independent releases, the second of `rare_draws` if that is given. The
    bound exceeds the true epsilon with probability at most `error`: half of it for either end, by
    Clopper and Pearson.
    """
    others = draws if rare_draws is None else rare_draws
    if not 0 <= rare <= others or not 0 <= likely <= draws or min(draws, others) < 1:
        raise InputError(f"An event happens 0 to draws times, and got {likely} and {rare} of {draws}.")
    return float(_bound(np.array([likely]), np.array([rare]), draws, delta, error, others)[0])


def two_worlds(
    one: Mapping[str, ArrayLike],
    two: Mapping[str, ArrayLike],
    *,
    delta: float = 0.0,
    error: float = 0.01,
    tests: int = 1,
) -> TwoWorlds:
    """The best event of these scores, chosen on the first half of the releases, counted on the second.

    `one` and `two` map the name of a score to its values, a release each, in the two worlds.
    `tests` is how many such tests share the error.
    """
    first = {name: np.asarray(values, dtype=np.float64) for name, values in one.items()}
    second = {name: np.asarray(values, dtype=np.float64) for name, values in two.items()}
    sizes = {values.shape for values in (*first.values(), *second.values())}
    if set(first) != set(second) or len(sizes) != 1 or min(sizes, default=(0,))[0] < 4:
        raise InputError("Two worlds need the same scores of the same number of releases, four or more.")
    half, share = next(iter(sizes))[0] // 2, error / tests
    event = max(
        (_best(name, first[name][:half], second[name][:half], delta, share) for name in first),
        key=lambda found: found[0],
    )[1]
    seen = [int(event.happens(world[event.score][half:]).sum()) for world in (first, second)]
    likely, rare = seen if event.first else seen[::-1]
    draws = next(iter(sizes))[0] - half
    bound = epsilon_lower_bound(likely, rare, draws, delta=delta, error=share)
    return TwoWorlds(bound, delta, share, event, likely, rare, draws)


def power(found: TwoWorlds, epsilon: float) -> float:
    """How probably another sample of the same two worlds would refute `epsilon` by the same event."""
    levels = (np.arange(_SHARES) + 0.5) / _SHARES
    likely, rare = (
        stats.binom.ppf(levels, found.draws, seen / found.draws) for seen in (found.likely, found.rare)
    )
    every = np.repeat(likely, _SHARES), np.tile(rare, _SHARES)
    return float((_bound(*every, found.draws, found.delta, found.error) > epsilon).mean())


def _best(
    name: str, one: NDArray[np.float64], two: NDArray[np.float64], delta: float, error: float
) -> tuple[float, Event]:
    """The threshold of one score with the largest bound, and that bound."""
    pooled = np.sort(np.concatenate([one, two]))
    places = np.unique(np.linspace(0, len(pooled) - 1, _THRESHOLDS).astype(int))
    marks = np.unique(pooled[places])
    one, two, draws = np.sort(one), np.sort(two), len(one)
    found: list[tuple[float, Event]] = []
    for above in (True, False):
        side: Any = "left" if above else "right"
        counts = [np.searchsorted(world, marks, side) for world in (one, two)]
        in_one, in_two = (draws - count if above else count for count in counts)
        for first, likely, rare in ((True, in_one, in_two), (False, in_two, in_one)):
            bounds = _bound(likely, rare, draws, delta, error)
            at = int(np.argmax(bounds))
            found.append((float(bounds[at]), Event(name, float(marks[at]), above, first)))
    return max(found, key=lambda one: one[0])


def _bound(
    likely: NDArray[Any],
    rare: NDArray[Any],
    draws: int,
    delta: float,
    error: float,
    rare_draws: int | None = None,
) -> NDArray[np.float64]:
    others = draws if rare_draws is None else rare_draws
    with np.errstate(invalid="ignore"):
        least = np.where(likely > 0, stats.beta.ppf(error / 2, likely, draws - likely + 1), 0.0)
        most = np.where(rare < others, stats.beta.ppf(1 - error / 2, rare + 1, others - rare), 1.0)
    return np.asarray(np.maximum(np.log(np.maximum(least - delta, _LEAST) / most), -math.inf))
