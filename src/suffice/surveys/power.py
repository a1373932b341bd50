"""How many answers a survey needs, before it is made."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, final

import numpy as np
from scipy.special import ndtr, ndtri

from suffice.core.errors import InputError

if TYPE_CHECKING:
    from suffice.surveys.design import Design

__all__ = ["Size", "power"]


@final
@dataclass(frozen=True, slots=True)
class Size:
    """How many answers are needed, and what that gives.

    `inflation` is how many times more answers than direct questions would need for the same error, were they
    answered truly. `power` is the chance to reject, if a test was asked for.
    """

    answers: int
    stderr: float
    inflation: float
    power: float | None = None

    def __str__(self) -> str:
        """One line."""
        test = "" if self.power is None else f", power {self.power:.4f}"
        return (
            f"{self.answers} answers: standard error {self.stderr:.4f}{test}; "
            f"{self.inflation:.2f} times as many as direct"
        )


def power(
    design: Design,
    prevalence: float,
    *,
    se: float | None = None,
    answers: int | None = None,
    against: float | None = None,
    level: float = 0.05,
    chance: float = 0.8,
    sides: int = 2,
) -> Size:
    """The number of answers for a wanted standard error, or for a test of `against` with a chance to reject.

    With `answers` given: the error, and the power of the test, that so many have. The error is that of the
    maximum likelihood estimate, which for two answers is that of the moments. A test at `level` uses
    the error under `against` for its limit and the error under `prevalence` for its chance.
    """
    if len(design.truths()) != 2 or not 0 <= prevalence <= 1:
        raise InputError(
            f"power() takes a channel of two truths and a share in [0, 1], and got {prevalence!r}."
        )
    if (se is None) + (answers is None) + (against is None or answers is not None) != 2:
        raise InputError("power() takes one of se=, answers= and against=, or answers= with against=.")
    one = _deviation(design, prevalence)
    direct = prevalence * (1 - prevalence)
    inflation = one**2 / direct if direct > 0 else float("inf")
    if se is not None:
        if not se > 0:
            raise InputError(f"se= is a standard error above 0, and got {se!r}.")
        answers = ceil(one**2 / se**2 - 1e-9)
    if answers is None:
        answers = _needed(design, prevalence, float(against or 0.0), level, chance, sides)
    if answers < 1:
        raise InputError(f"answers= is a number from 1 up, and got {answers!r}.")
    reject = None
    if against is not None:
        reject = _reject(design, prevalence, against, level, sides, answers)
    return Size(answers, one / answers**0.5, inflation, reject)


def _deviation(design: Design, prevalence: float) -> float:
    """The root of one answer's inverse information on the prevalence."""
    no, yes = design.matrix()
    law = (1 - prevalence) * no + prevalence * yes
    return float(np.divide((yes - no) ** 2, law, out=np.zeros_like(law), where=law > 0).sum() ** -0.5)


def _reject(
    design: Design, prevalence: float, against: float, level: float, sides: int, answers: int
) -> float:
    if sides not in {1, 2} or not 0 < level < 1 or not 0 <= against <= 1:
        raise InputError(
            f"A test has 1 or 2 sides, a level and a share to test: {sides}, {level}, {against}."
        )
    limit = -ndtri(level / sides) * _deviation(design, against)
    gap = abs(prevalence - against) * answers**0.5
    one = _deviation(design, prevalence)
    upper = ndtr((gap - limit) / one)
    return float(upper + (ndtr(-(limit + gap) / one) if sides == 2 else 0.0))


def _needed(
    design: Design, prevalence: float, against: float, level: float, chance: float, sides: int
) -> int:
    if prevalence == against or not level < chance < 1:
        raise InputError("The share differs from against=, and chance= lies between level= and 1.")
    limit = -ndtri(level / sides) * _deviation(design, against)
    most = (limit + ndtri(max(chance, 0.5)) * _deviation(design, prevalence)) / (prevalence - against)
    high = max(1, ceil(float(most) ** 2))
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        if _reject(design, prevalence, against, level, sides, middle) >= chance:
            high = middle
        else:
            low = middle
    return high
