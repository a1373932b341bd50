"""What moments lose against the marginal likelihood when every answer went through randomised response.

An outcome has finitely many states with features `phi` (one row each) and the law p(y) ∝ exp(θ·phi(y)).
An answer is the state itself with probability `truth`, and a draw from `base` otherwise. Two ways lead
back to θ: maximise the likelihood of the answers (costly, not convex), or turn answers into unbiased
features and solve for their mean (a linear step and a convex one). Both errors shrink as 1/√n; what is
computed here, by enumeration of states and answers and nothing else, is the covariance of √n·(error).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suffice.core.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "answer_noise",
    "channel_noise",
    "efficiency",
    "fisher_information",
    "marginal_variance",
    "moment_variance",
    "randomised_response",
    "response_noise",
    "state_law",
]


def state_law(features: ArrayLike, theta: ArrayLike) -> NDArray[np.float64]:
    """The law p(y) ∝ exp(θ·phi(y)) over the rows of `features`."""
    phi, slope = _features(features), np.asarray(theta, dtype=np.float64)
    if slope.shape != phi.shape[1:] or not np.isfinite(slope).all():
        message = f"theta must be {phi.shape[1]} finite numbers, one per feature, not {theta!r}"
        raise InputError(message)
    scores = phi @ slope
    weights = np.exp(scores - scores.max())
    return np.asarray(weights / weights.sum())


def fisher_information(features: ArrayLike, theta: ArrayLike) -> NDArray[np.float64]:
    """The covariance of the features: the information in one outcome that nobody randomised."""
    return _covariance(_features(features), state_law(features, theta))


def randomised_response(truth: float, base: ArrayLike) -> NDArray[np.float64]:
    """The table S[o, y] of the answer `o` to the state `y`: truth·1[o = y] + (1 - truth)·base(o)."""
    if not 0 < truth <= 1:
        message = f"the probability of a true answer must lie in (0, 1], got {truth!r}"
        raise InputError(message)
    other = _law("base", base)
    return truth * np.eye(len(other)) + (1 - truth) * other[:, None]


def response_noise(
    features: ArrayLike, theta: ArrayLike, truth: float, base: ArrayLike
) -> NDArray[np.float64]:
    """What randomised response adds to the covariance of an unbiased answer (P1 lemma 1, the matrix H).

    (1 - t)/t²·Cov[phi(y')] + (1 - t)/t·E[(phi(y) - E phi(y'))⊗²] with t = `truth` and y' ~ `base`: the
    first term is the variance of the draw, the second that of the choice between draw and truth.
    """
    phi, law = _features(features), state_law(features, theta)
    randomised_response(truth, base)
    other = _law("base", base, len(phi))
    off = phi - other @ phi
    drawn, chosen = _covariance(phi, other), off.T @ (law[:, None] * off)
    return np.asarray((1 - truth) / truth**2 * drawn + (1 - truth) / truth * chosen)


def answer_noise(law: ArrayLike, table: ArrayLike, estimates: ArrayLike) -> NDArray[np.float64]:
    """E[Cov[beta(o) | y]], state by state: `estimates` has one row beta(o) for each answer of the table."""
    chances, beta = _table(table), np.asarray(estimates, dtype=np.float64)
    states = _law("law", law, chances.shape[1])
    parts = (weight * _covariance(beta, column) for weight, column in zip(states, chances.T, strict=True))
    return np.asarray(sum(parts, np.zeros((beta.shape[1],) * 2)))


def channel_noise(features: ArrayLike, theta: ArrayLike, table: ArrayLike) -> NDArray[np.float64]:
    """E[Cov[phi(y) | o]]: what of the features remains open once an answer of this table is known."""
    phi, chances = _features(features), _table(table, len(_features(features)))
    joint = chances * state_law(features, theta)
    answers = joint.sum(axis=1)
    parts = (
        answer * _covariance(phi, row / answer) for answer, row in zip(answers, joint, strict=True) if answer
    )
    return np.asarray(sum(parts, np.zeros((phi.shape[1],) * 2)))


def marginal_variance(features: ArrayLike, theta: ArrayLike, table: ArrayLike) -> NDArray[np.float64]:
    """(I - E[Cov[phi(y) | o]])⁻¹: no estimator from the same answers does better (P1 equation 13).

    It is computed as the inverse of Cov[E[phi(y) | o]], the same matrix without a difference of two
    numbers that are nearly equal when the answers say little.
    """
    phi, law = _features(features), state_law(features, theta)
    chances = _table(table, len(phi))
    answers = chances @ law
    seen = answers > 0
    off = chances[seen] @ (law[:, None] * (phi - law @ phi)) / answers[seen, None]
    return np.asarray(np.linalg.inv(off.T @ (answers[seen, None] * off)), dtype=np.float64)


def moment_variance(features: ArrayLike, theta: ArrayLike, noise: NDArray[np.float64]) -> NDArray[np.float64]:
    """I⁻¹ + I⁻¹·noise·I⁻¹, with the noise of `response_noise` or `answer_noise` (P1 equations 14 and 15)."""
    inverse = np.linalg.inv(fisher_information(features, theta))
    return np.asarray(inverse + inverse @ noise @ inverse)


def efficiency(features: ArrayLike, theta: ArrayLike, truth: float, base: ArrayLike | None = None) -> float:
    """tr(V_likelihood·V_moments⁻¹)/d: the mean share of the attainable precision that moments keep.

    1 means that nothing is lost. `base` is uniform unless it is given.
    """
    phi = _features(features)
    other = np.full(len(phi), 1 / len(phi)) if base is None else _law("base", base, len(phi))
    best = marginal_variance(phi, theta, randomised_response(truth, other))
    moments = moment_variance(phi, theta, response_noise(phi, theta, truth, other))
    return float(np.trace(np.linalg.solve(moments, best)) / phi.shape[1])


def _covariance(rows: NDArray[np.float64], law: NDArray[np.float64]) -> NDArray[np.float64]:
    off = rows - law @ rows
    return np.asarray(off.T @ (law[:, None] * off))


def _features(features: ArrayLike) -> NDArray[np.float64]:
    phi = np.asarray(features, dtype=np.float64)
    if phi.ndim != 2 or not phi.size or not np.isfinite(phi).all():
        message = f"features must be a table of finite numbers with one row per state, got shape {phi.shape}"
        raise InputError(message)
    return phi


def _law(name: str, law: ArrayLike, count: int | None = None) -> NDArray[np.float64]:
    given = np.asarray(law, dtype=np.float64)
    if given.ndim != 1 or (count is not None and len(given) != count):
        message = f"{name} must have one probability per state ({count or 'a flat list'}), got {given.shape}"
        raise InputError(message)
    if not (given >= 0).all() or abs(given.sum() - 1) > 1e-9:
        message = f"{name} must be probabilities that sum to 1, got {given.tolist()}"
        raise InputError(message)
    return given


def _table(table: ArrayLike, states: int | None = None) -> NDArray[np.float64]:
    given = np.asarray(table, dtype=np.float64)
    if given.ndim != 2 or (states is not None and given.shape[1] != states):
        message = f"the table must have one column per state ({states or 'any'}), got shape {given.shape}"
        raise InputError(message)
    if not (given >= 0).all() or (np.abs(given.sum(axis=0) - 1) > 1e-9).any():
        message = "every column of the table must be probabilities that sum to 1: answers are its rows"
        raise InputError(message)
    return given
