"""Whether answers could have come from their channel at all, and whether groups say the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy.special import chdtrc, ndtr

from suffice.core.errors import InputError
from suffice.surveys.estimate import Estimates, answers_of, estimate
from suffice.surveys.mixture import log_likelihood, shares
from suffice.surveys.table import lined, probability

if TYPE_CHECKING:
    from suffice.releases.release import Release
    from suffice.surveys.answers import Answers

__all__ = ["Comparison", "Fit", "compare", "fit"]


_LEAST = 10  # answers through one law, below which frequencies say nothing of it


@final
@dataclass(frozen=True, slots=True)
class Fit:
    """How far the answers are from the nearest that the channel allows.

    `statistic` is twice the difference in log-likelihood between the frequencies of answers as they are
    and the best shares of truths inside [0, 1]; `p_value` is its chance under the channel, or an upper
    bound on it. `freedom` is how many frequencies the shares cannot follow: where it is 0 and the shares
    lie inside, every outcome fits, and the test says nothing.
    """

    question: str
    answers: int
    statistic: float
    freedom: int
    at_end: int
    p_value: float

    @property
    def blind(self) -> bool:
        """Whether no outcome near this one could have been found odd."""
        return self.freedom == 0 and self.at_end == 0

    def __str__(self) -> str:
        """One line."""
        if self.blind:
            return f"{self.question}: one channel and as many truths as answers, so any outcome fits"
        odds = probability(self.p_value)
        return f"{self.question}: statistic {self.statistic:.3f}, {self.freedom} free, p = {odds}"


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """Prevalences of groups, their differences from the first, and a test that all are the same."""

    estimates: Estimates
    against: Any
    differences: tuple[tuple[Any, float, float, float], ...]
    statistic: float
    freedom: int
    p_value: float

    def __str__(self) -> str:
        """A table of differences, and the test in one line."""
        rows = [
            (name, difference, error, probability(odds)) for name, difference, error, odds in self.differences
        ]
        told = lined(("group", f"less {self.against}", "s.e.", "p"), rows)
        odds = probability(self.p_value)
        return f"{told}\nall the same: chi-square {self.statistic:.2f}, {self.freedom} free, p = {odds}"


def fit(answers: Answers | Release) -> tuple[Fit, ...]:
    """The test of the channel, question by question; each answer counts as one, without weights.

    Channels that fewer than ten answers went through are left out; a question of such alone is not tested.
    """
    given = answers_of(answers).given()
    return tuple(_fit(name, part) for name, part in given.each())


def compare(
    answers: Answers | Release,
    question: str | None = None,
    *,
    by: str = "design",
    against: Any = None,
    cluster: str | None = None,
) -> Comparison:
    """Whether groups, such as arms with another design or direct questions, have one prevalence.

    Each group's share comes from its own channels. Arms are comparable when people were put into them at
    random; then a difference is not of people but of how they answered.
    """
    given = answers_of(answers).of(question)
    if len(given.truths()) != 2:
        raise InputError("Groups are compared on a question of two truths.")
    found = estimate(given, by=by, cluster=cluster)
    names = [one.group for one in found.rows]
    if len(names) < 2:
        raise InputError(f"The column {by!r} has one group, and two or more are compared.")
    first = names[0] if against is None else against
    if first not in names:
        raise InputError(f"There is no group {first!r}. The column {by!r} has {', '.join(map(repr, names))}.")
    at = names.index(first)
    others = [place for place in range(len(names)) if place != at]
    contrast = np.zeros((len(others), len(names)))
    contrast[np.arange(len(others)), others] = 1.0
    contrast[:, at] = -1.0
    values = contrast @ np.array([one.moments for one in found.rows])
    spread = contrast @ found.covariance @ contrast.T
    errors = np.sqrt(np.diag(spread))
    told = tuple(
        (names[place], float(value), float(error), float(2 * ndtr(-abs(value / error))))
        for place, value, error in zip(others, values, errors, strict=True)
    )
    statistic = float(values @ np.linalg.solve(spread, values))
    return Comparison(found, first, told, statistic, len(others), float(chdtrc(len(others), statistic)))


def _fit(name: str, part: Answers) -> Fit:
    """Twice the log-likelihood that frequencies, law by law, have beyond the best shares of truths."""
    laws = [law for law in _laws(part) if law.sum() >= _LEAST]
    if not laws:
        return Fit(name, 0, 0.0, 0, 0, 1.0)
    kept = np.logical_or.reduce(laws)
    part, laws = part.rows(kept), [law[kept] for law in laws]
    likelihood = part.likelihood()
    found = shares(likelihood)
    free_likelihood, cells = 0.0, 0
    for law in laws:
        counts = np.bincount(part.code[law])
        seen = counts[counts > 0]
        free_likelihood += float(seen @ np.log(seen / seen.sum()))
        channel = part.channels[int(part.channel[law][0])]
        cells += int((channel.matrix().max(axis=0) > 0).sum()) - 1
    statistic = max(0.0, 2 * (free_likelihood - log_likelihood(likelihood, found)))
    at_end = int((found < 1e-6).sum())
    freedom = max(0, cells - (found.size - 1))
    odds = float(chdtrc(freedom + at_end, statistic)) if freedom + at_end else 1.0
    return Fit(name, len(part), statistic, freedom, at_end, odds)


def _laws(part: Answers) -> list[np.ndarray[Any, np.dtype[np.bool_]]]:
    """The rows of every different law; channels of one matrix are one law."""
    seen: dict[bytes, np.ndarray[Any, np.dtype[np.bool_]]] = {}
    for at in np.unique(part.channel):
        key = part.channels[at].matrix().tobytes()
        mine = part.channel == at
        seen[key] = seen[key] | mine if key in seen else mine
    return list(seen.values())
