"""Logistic regression of a truth that nobody saw: the channel is part of the likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from suffice.core.errors import InputError
from suffice.surveys.estimate import answers_of, numbered, weights_of
from suffice.surveys.formula import Formula, parsed
from suffice.surveys.mixture import shares
from suffice.surveys.table import lined, probability
from suffice.surveys.variance import covariance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from suffice.releases.release import Release
    from suffice.surveys.answers import Answers

__all__ = ["Regression", "regress"]

_MOST_STEPS = 200
_NEAR = 1e-10
_STILL = 1e-4  # a step that promises less than this, and leads nowhere, stands at the maximum


@final
@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """Coefficients of a logistic regression on the truth, their covariance, and how well it fits.

    `left_out` counts answers that were missing or lacked a fact. `aic` is twice the number of
    coefficients less twice the log-likelihood; it means little with weights.
    """

    formula: str
    names: tuple[str, ...]
    coefficients: NDArray[np.float64]
    covariance: NDArray[np.float64]
    robust: bool
    answers: int
    left_out: int
    log_likelihood: float

    @property
    def stderr(self) -> NDArray[np.float64]:
        """Standard errors."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def z(self) -> NDArray[np.float64]:
        """Coefficients over their standard errors."""
        return self.coefficients / self.stderr

    @property
    def p_values(self) -> NDArray[np.float64]:
        """Two-sided, by the normal law."""
        return np.asarray(2 * ndtr(-np.abs(self.z)))

    @property
    def odds_ratios(self) -> NDArray[np.float64]:
        """By which factor the odds of the trait change for one unit more."""
        return np.exp(self.coefficients)

    @property
    def aic(self) -> float:
        """Akaike's criterion."""
        return 2 * len(self.names) - 2 * self.log_likelihood

    def interval(self, level: float = 0.95) -> NDArray[np.float64]:
        """Lower and upper ends, a row per coefficient."""
        width = ndtri((1 + level) / 2) * self.stderr
        return np.stack([self.coefficients - width, self.coefficients + width], axis=1)

    def __str__(self) -> str:
        """A table in plain text."""
        columns = (self.coefficients, self.stderr, self.z, self.p_values, self.odds_ratios)
        rows = [
            (name, b, error, z, probability(float(odds)), ratio)
            for name, b, error, z, odds, ratio in zip(
                self.names, *map(np.ndarray.tolist, columns), strict=True
            )
        ]
        kind = "robust errors" if self.robust else "errors of the model"
        return (
            f"{self.formula}\n{lined(('', 'coefficient', 's.e.', 'z', 'p', 'odds ratio'), rows)}\n"
            f"{self.answers} answers, {self.left_out} left out; {kind}; "
            f"log-likelihood {self.log_likelihood:.3f}, AIC {self.aic:.3f}"
        )


def regress(
    answers: Answers | Release,
    formula: str,
    *,
    weight: str | None = None,
    cluster: str | None = None,
    robust: bool | None = None,
) -> Regression:
    """The logistic regression of a question's second truth on facts, through each answer's own channel.

    The left side is a question, or `answer` for all of them (then `C(question)` and `C(design)` may stand
    on the right). Robust errors count the answers of a person, or of a cluster, as one, and are taken
    where somebody has several answers, a cluster or a weight is given, or `robust` says so; else errors
    come from the expected information.
    """
    model = parsed(formula)
    part = _asked(answers_of(answers), model)
    whole = (part.code >= 0) & model.complete(part.fact, len(part))
    rows = part.rows(whole)
    if not len(rows):
        raise InputError("No answer has all the facts of the formula.")
    if len(rows.truths()) != 2:
        raise InputError(
            f"A logistic regression is on a question of two truths; this one has {rows.truths()}."
        )
    names, X = model.matrix(rows.fact, len(rows))
    _check_rank(names, X)
    likelihood, w = rows.likelihood(), weights_of(rows, weight)
    start = np.zeros(X.shape[1])
    if model.intercept:
        start[0] = logit(np.clip(shares(likelihood, w)[1], 0.02, 0.98))
    laws = [one.matrix() for one in rows.channels]
    widest = max(one.shape[1] for one in laws)
    tables = np.stack([np.pad(one, ((0, 0), (0, widest - one.shape[1]))) for one in laws])[rows.channel]
    found, information = _maximum(X, likelihood, tables, w, start)
    groups = rows.person if cluster is None else numbered(rows.fact(cluster))
    several = np.unique(groups).size < len(rows)
    is_robust = robust if robust is not None else several or weight is not None
    bread = np.linalg.inv(information)
    scores = X * (w * _slope(X @ found, likelihood))[:, None]
    spread = covariance(scores @ bread, groups) if is_robust else np.asarray(bread, dtype=np.float64)
    value = float(w @ np.log(_mixed(X @ found, likelihood)))
    return Regression(formula, names, found, spread, is_robust, len(rows), len(part) - len(rows), value)


def _asked(answers: Answers, model: Formula) -> Answers:
    return answers if model.left == "answer" and "answer" not in answers.questions else answers.of(model.left)


def _check_rank(names: tuple[str, ...], X: NDArray[np.float64]) -> None:
    scale = np.maximum(np.abs(X).max(axis=0), 1e-300)
    if np.linalg.matrix_rank(X / scale) < X.shape[1]:
        raise InputError(f"The columns {list(names)} depend on each other. Leave one out.")


def _mixed(eta: NDArray[np.float64], likelihood: NDArray[np.float64]) -> NDArray[np.float64]:
    chance = expit(eta)
    return np.asarray((1 - chance) * likelihood[:, 0] + chance * likelihood[:, 1])


def _slope(eta: NDArray[np.float64], likelihood: NDArray[np.float64]) -> NDArray[np.float64]:
    """The derivative of each answer's log-likelihood by its linear predictor."""
    chance = expit(eta)
    return np.asarray((likelihood[:, 1] - likelihood[:, 0]) * chance * (1 - chance) / _mixed(eta, likelihood))


def _maximum(
    X: NDArray[np.float64],
    likelihood: NDArray[np.float64],
    tables: NDArray[np.float64],
    weight: NDArray[np.float64],
    start: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fisher scoring, every step halved until it leads up; the point and the expected information there."""
    found = start
    value = float(weight @ np.log(_mixed(X @ found, likelihood)))
    for _ in range(_MOST_STEPS):
        information = _information(X, tables, weight, found)
        score = X.T @ (weight * _slope(X @ found, likelihood))
        try:
            step = np.linalg.solve(information, score)
        except np.linalg.LinAlgError:
            break
        if score @ step < _NEAR * max(1.0, abs(value)) * 1e-2:
            return found, information
        while (tried := _value(X, likelihood, weight, found + step)) < value and np.abs(step).max() > 1e-12:
            step = step / 2
        if tried <= value and score @ step < _STILL:
            return found, information
        if tried <= value:
            break
        found, value = found + step, tried
        if np.abs(X @ found).max() > 500:
            break
    raise InputError(
        "The regression has no finite maximum: some column tells the truth apart without error, or people "
        "did not follow the channel, so that shares lie outside [0, 1]. See fit() and compare()."
    )


def _value(
    X: NDArray[np.float64],
    likelihood: NDArray[np.float64],
    weight: NDArray[np.float64],
    point: NDArray[np.float64],
) -> float:
    return float(weight @ np.log(np.maximum(_mixed(X @ point, likelihood), 1e-300)))


def _information(
    X: NDArray[np.float64],
    tables: NDArray[np.float64],
    weight: NDArray[np.float64],
    point: NDArray[np.float64],
) -> NDArray[np.float64]:
    """What is expected of the curvature, over all answers that each channel may give."""
    chance = expit(X @ point)
    no, yes = tables[:, 0], tables[:, 1]
    law = (1 - chance)[:, None] * no + chance[:, None] * yes
    each = np.divide((yes - no) ** 2, law, out=np.zeros_like(law), where=law > 0).sum(axis=1)
    return np.asarray(X.T @ (X * (weight * each * (chance * (1 - chance)) ** 2)[:, None]))
