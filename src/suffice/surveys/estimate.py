"""How many people have which truth: by moments and by maximum likelihood, with honest errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy.special import ndtri

from suffice.core.errors import InputError
from suffice.releases.release import Release
from suffice.surveys.answers import Answers
from suffice.surveys.mixture import shares
from suffice.surveys.opening import opened
from suffice.surveys.paper import gaps, nothing
from suffice.surveys.table import lined
from suffice.surveys.variance import covariance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from suffice.channels.label import Label

__all__ = ["Estimate", "Estimates", "answers_of", "estimate", "numbered", "weights_of"]


@final
@dataclass(frozen=True, slots=True)
class Estimate:
    """The share of people whose truth is `truth`, for one question and one group.

    `moments` inverts the channel, is unbiased, and may leave [0, 1]: far outside means that people did not
    follow the channel, so neither it nor its interval from `low` to `high` is cut. `likelihood` is the
    maximum likelihood estimate, inside [0, 1]; its error is None where it stands at an end.
    """

    question: str
    group: Any
    truth: Label
    count: int
    missing: int
    moments: float
    stderr: float
    low: float
    high: float
    likelihood: float
    likelihood_stderr: float | None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Estimates in rows, and the covariance of their moments between them."""

    rows: tuple[Estimate, ...]
    covariance: NDArray[np.float64]
    level: float

    def __str__(self) -> str:
        """A table in plain text."""
        heads = (
            "question",
            "group",
            "truth",
            "answers",
            "missing",
            "share",
            "s.e.",
            "low",
            "high",
            "ML",
            "s.e.",
        )
        rows = [
            (
                one.question,
                "" if one.group is None else one.group,
                one.truth,
                one.count,
                one.missing,
                one.moments,
                one.stderr,
                one.low,
                one.high,
                one.likelihood,
                one.likelihood_stderr,
            )
            for one in self.rows
        ]
        return lined(heads, rows)

    def of(self, question: str | None = None, group: Any = None, truth: Label | None = None) -> Estimate:
        """The one row that fits."""
        fitting = [
            one
            for one in self.rows
            if question in {None, one.question} and group in {None, one.group} and truth in {None, one.truth}
        ]
        if len(fitting) != 1:
            raise InputError(
                f"{len(fitting)} estimates fit {(question, group, truth)}, and one was asked for."
            )
        return fitting[0]


def estimate(
    answers: Answers | Release,
    *,
    by: str | None = None,
    weight: str | None = None,
    strata: str | None = None,
    cluster: str | None = None,
    level: float = 0.95,
) -> Estimates:
    """The prevalence of every truth, question by question, and group by group of the column `by`.

    A question of two truths has one row, for the second. `weight`, `strata` and `cluster` are columns.
    Errors count all answers of a person, or of a cluster, as one, however they hang together. Missing
    answers are left out and counted.
    """
    given = answers_of(answers)
    if not 0 < level < 1:
        raise InputError(f"level= is between 0 and 1, such as 0.95, and got {level!r}.")
    cells = _cells(given, by)
    if not cells:
        raise InputError("There is no answer to estimate from.")
    parts = [_cell(given, mine, weight) for _, _, mine in cells]
    influence = np.concatenate([part.influence for part in parts], axis=1)
    spread = covariance(influence, _clusters(given, cluster), _strata(given, strata))
    width = len(parts[0].moments)
    errors = np.sqrt(np.diag(spread))
    z = float(ndtri((1 + level) / 2))
    rows, moment_places, at = [], [], 0
    for (question, group, mine), part in zip(cells, parts, strict=True):
        width = part.moments.size
        own = range(at, at + width)
        for place, truth in enumerate(part.truths):
            error = float(errors[own[place]])
            second = float(errors[at + width + place])
            value = float(part.moments[place])
            rows.append(
                Estimate(
                    question,
                    group,
                    truth,
                    part.count,
                    int(mine.sum()) - part.count,
                    value,
                    error,
                    value - z * error,
                    value + z * error,
                    float(part.likelihood[place]),
                    second if part.inside else None,
                )
            )
        moment_places += list(own)
        at += 2 * width
    return Estimates(tuple(rows), spread[np.ix_(moment_places, moment_places)], level)


def answers_of(answers: Answers | Release) -> Answers:
    """The answers of a survey's release, or the answers as they are."""
    if isinstance(answers, Release):
        return opened(answers)
    if not isinstance(answers, Answers):
        raise InputError(
            f"Estimates take a release of a survey, or what surveys.read returns, and got a "
            f"{type(answers).__name__}."
        )
    return answers


def weights_of(answers: Answers, weight: str | None) -> NDArray[np.float64]:
    """The weight of every row: 1, or a column of positive numbers."""
    if weight is None:
        return np.ones(len(answers))
    column = answers.fact(weight)
    if column.dtype == object or not np.isfinite(column).all() or (column <= 0).any():
        raise InputError(f"The weights in {weight!r} are positive numbers, none of them missing.")
    return np.asarray(column, dtype=np.float64)


def numbered(column: NDArray[Any]) -> NDArray[np.intp]:
    """The values of a column as whole numbers from 0 up."""
    seen: dict[Any, int] = {}
    return np.array([seen.setdefault(one, len(seen)) for one in column.tolist()], dtype=np.intp)


@final
@dataclass(frozen=True, slots=True)
class _Part:
    truths: tuple[Label, ...]
    count: int
    moments: NDArray[np.float64]
    likelihood: NDArray[np.float64]
    inside: bool
    influence: NDArray[np.float64]


def _cells(answers: Answers, by: str | None) -> list[tuple[str, Any, NDArray[np.bool_]]]:
    """Question, group and rows of every estimate."""
    column = None if by is None else answers.fact(by)
    cells = []
    for at, question in enumerate(answers.questions):
        mine = answers.question == at
        named = [] if column is None else column[mine].tolist()
        groups = [None] if column is None else sorted({one for one in named if not nothing(one)}, key=str)
        for group in groups:
            inside = mine if group is None or column is None else mine & (column == group)
            if (answers.code[inside] >= 0).any():
                cells.append((question, group, inside))
    return cells


def _cell(answers: Answers, mine: NDArray[np.bool_], weight: str | None) -> _Part:
    """Both estimates of one cell, and what each row adds to their errors."""
    there = mine & (answers.code >= 0)
    rows = answers.rows(there)
    w = weights_of(answers, weight)[there]
    total = w.sum()
    unbiased = rows.unbiased()
    moments = w @ unbiased / total
    likelihood = rows.likelihood()
    found = shares(likelihood, w)
    slopes, inside = _likelihood_influence(likelihood, found, w)
    both = np.concatenate([w[:, None] * (unbiased - moments) / total, slopes], axis=1)
    truths = rows.truths()
    kept = np.arange(1, 2) if len(truths) == 2 else np.arange(len(truths))
    influence = np.zeros((len(answers), 2 * kept.size))
    influence[there] = both[:, [*kept, *(kept + len(truths))]]
    return _Part(tuple(truths[at] for at in kept), len(rows), moments[kept], found[kept], inside, influence)


def _likelihood_influence(
    likelihood: NDArray[np.float64], found: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], bool]:
    """What each answer adds to the error of the maximum; zeros where a share stands at an end."""
    none = np.zeros_like(likelihood)
    if found.min() < 1e-6:
        return none, False
    scores = (likelihood[:, 1:] - likelihood[:, :1]) / (likelihood @ found)[:, None]
    information = scores.T @ (weight[:, None] * scores)
    if np.linalg.cond(information) > 1e12:
        return none, False
    free = np.linalg.solve(information, (weight[:, None] * scores).T).T
    return np.concatenate([-free.sum(axis=1, keepdims=True), free], axis=1), True


def _clusters(answers: Answers, cluster: str | None) -> NDArray[np.intp]:
    if cluster is None:
        return answers.person
    _no_gaps(answers, cluster)
    return numbered(answers.fact(cluster))


def _strata(answers: Answers, strata: str | None) -> NDArray[np.intp] | None:
    if strata is None:
        return None
    _no_gaps(answers, strata)
    return numbered(answers.fact(strata))


def _no_gaps(answers: Answers, name: str) -> None:
    column = answers.fact(name)
    if name in answers.facts and gaps(column).any():
        raise InputError(f"The column {name!r} has missing values. Fill them, or leave these rows out.")
