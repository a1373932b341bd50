"""Several questions at once: how many people have each combination of truths."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod
from typing import TYPE_CHECKING, final

import numpy as np

from suffice.core.errors import InputError
from suffice.surveys.estimate import answers_of, weights_of
from suffice.surveys.mixture import shares
from suffice.surveys.table import lined
from suffice.surveys.variance import covariance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from suffice.channels.label import Label
    from suffice.releases.release import Release
    from suffice.surveys.answers import Answers

__all__ = ["Joint", "joint"]

_MOST_CELLS = 1024


@final
@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """The share of people of every combination of truths, by moments with errors, and by maximum likelihood.

    A cell stands in the same place of `cells`, `moments`, `stderr` and `likelihood`.
    """

    questions: tuple[str, ...]
    cells: tuple[tuple[Label, ...], ...]
    people: int
    moments: NDArray[np.float64]
    stderr: NDArray[np.float64]
    likelihood: NDArray[np.float64]

    def __str__(self) -> str:
        """A table in plain text, a row per combination."""
        rows = [
            (*cell, float(self.moments[at]), float(self.stderr[at]), float(self.likelihood[at]))
            for at, cell in enumerate(self.cells)
        ]
        return lined((*self.questions, "share", "s.e.", "ML"), rows)


def joint(answers: Answers | Release, questions: Sequence[str], *, weight: str | None = None) -> Joint:
    """The joint table of these questions over the people who answered all of them, each once.

    Given the truths, the noise of a person's answers is independent from question to question. A cell's
    error counts people as independent.
    """
    given = answers_of(answers).given()
    if len(questions) < 2 or len(set(questions)) < len(questions):
        raise InputError(f"A joint table takes two questions or more, each once, and got {list(questions)}.")
    parts = [given.of(name) for name in questions]
    for name, part in zip(questions, parts, strict=True):
        if np.unique(part.person).size < len(part):
            raise InputError(f"Somebody answered {name!r} twice. Take one wave: answers.where(wave=...).")
    labels = [part.truths() for part in parts]
    if prod(map(len, labels)) > _MOST_CELLS:
        raise InputError(f"The table would have more than {_MOST_CELLS} cells. Take fewer questions.")
    people = reduce(np.intersect1d, [part.person for part in parts])
    if people.size < 2:
        raise InputError(f"Fewer than two people answered all of {list(questions)}.")
    rows = [part.rows(np.isin(part.person, people)) for part in parts]
    orders = [np.argsort(part.person) for part in rows]
    aligned = list(zip(rows, orders, strict=True))
    likelihood = reduce(_crossed, [part.likelihood()[order] for part, order in aligned])
    unbiased = reduce(_crossed, [part.unbiased()[order] for part, order in aligned])
    w = weights_of(rows[0], weight)[orders[0]]
    moments = w @ unbiased / w.sum()
    spread = covariance(w[:, None] * (unbiased - moments) / w.sum(), np.arange(people.size))
    return Joint(
        tuple(questions),
        tuple(product(*labels)),
        int(people.size),
        moments,
        np.sqrt(np.diag(spread)),
        shares(likelihood, w),
    )


def _crossed(one: NDArray[np.float64], two: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each person the products of all pairs, the first question's truths slowest."""
    return (one[:, :, None] * two[:, None, :]).reshape(len(one), -1)
