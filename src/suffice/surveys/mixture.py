"""Maximum likelihood of the shares of the truths, when each answer's law under each truth is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suffice.core.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["grouped", "log_likelihood", "shares"]

_MOST_STEPS = 200_000
_NEAR = 1e-9


def shares(likelihood: NDArray[np.float64], weight: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """The shares that make the answers most likely, none of them below 0, adding up to 1.

    The log-likelihood is concave, and the largest mean ratio of a truth's likelihood to the mixture's
    less one bounds how far the mean log-likelihood is from its maximum: iteration ends when that is below
    1e-9.
    """
    rows, counts = grouped(likelihood, weight)
    counts = counts / counts.sum()
    found = np.full(rows.shape[1], 1.0 / rows.shape[1])
    if not (rows @ found > 0).all():
        raise InputError("An answer has probability 0 under every truth: the channel is not the one used.")
    for step in range(_MOST_STEPS):
        mixed = rows @ found
        gain = rows.T @ (counts / mixed)
        if gain.max() - 1.0 <= _NEAR:
            return found
        found = _newton(rows, counts, found, gain) if step % 8 == 7 else found * gain
        found /= found.sum()
    return found


def grouped(
    likelihood: NDArray[np.float64], weight: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Different rows once, with the weight that each has in all."""
    rows, place = np.unique(likelihood, axis=0, return_inverse=True)
    given = np.ones(len(likelihood)) if weight is None else weight
    counts = np.bincount(place.ravel(), weights=given, minlength=len(rows))
    return rows, counts.astype(np.float64)


def log_likelihood(
    likelihood: NDArray[np.float64], found: NDArray[np.float64], weight: NDArray[np.float64] | None = None
) -> float:
    """The logarithm of the probability of all answers."""
    rows, counts = grouped(likelihood, weight)
    return float(counts @ np.log(rows @ found))


def _newton(
    rows: NDArray[np.float64],
    counts: NDArray[np.float64],
    found: NDArray[np.float64],
    gain: NDArray[np.float64],
) -> NDArray[np.float64]:
    """A Newton step within the truths that have a share, if it leads up and stays inside; else one of EM."""
    alive = found > 1e-12
    usual = found * gain
    if alive.sum() < 2:
        return usual
    scores = rows[:, alive] / (rows @ found)[:, None]
    curvature = scores.T @ (counts[:, None] * scores)
    size = int(alive.sum())
    system = np.block([[curvature, np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]])
    try:
        step = np.linalg.solve(system, np.append(gain[alive], 0.0))[:size]
    except np.linalg.LinAlgError:
        return usual
    tried = found.copy()
    tried[alive] += step
    if tried.min() < 0:
        return usual
    better = counts @ np.log(np.maximum(rows @ tried, 1e-300)) > counts @ np.log(rows @ found)
    return tried if better else usual
