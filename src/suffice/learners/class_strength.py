"""The strength of regularisation for several classes at once, from the same public facts as for two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suffice.learners.strength import choose, spread
from suffice.maths.softmax import SoftmaxObjective, minimise_softmax
from suffice.maths.zonotope import ClassZonotope, project

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from suffice.core.moments import Isotropic
    from suffice.maths.linear_odd import LinearOdd

__all__ = ["choose_classes"]

_ROWS = 1000
_LARGEST, _SMALLEST, _FACTOR = 10.0, 1e-8, 2.0
_PATIENCE = 4


def choose_classes(
    rows: NDArray[np.float64],
    signed: list[tuple[NDArray[np.float64], Isotropic]],
    means: NDArray[np.float64],
    loss: LinearOdd,
    *,
    count: int,
) -> tuple[float, str]:
    """The alpha of least expected softmax risk, and why.

    `signed` has for each class the mean of ±1 (this class or another) times the row, and the noise
    of it. The expected risk given the release is linear in the class means, so each class's
    posterior mean, found as for two classes, is all that is needed of the labels.
    """
    seen = spread(rows, _ROWS)
    beliefs = [choose(rows, mean, noise, loss, count=count) for mean, noise in signed]
    centre = seen.mean(axis=0)
    expected = np.stack([(belief.mean + centre) / 2.0 for belief in beliefs])
    expected += (centre - expected.sum(axis=0)) / len(expected)
    kinds = len(means)
    point = project(means.ravel(), ClassZonotope(seen, kinds)).point.reshape(kinds, -1)
    alpha, risk = _search(seen, point, expected)
    signal = float(np.exp(np.mean([np.log(belief.signal) for belief in beliefs])))
    return alpha, (
        f"least expected softmax risk, {risk:.3g}, given the noise and a signal of about {signal:.2g} logits "
        f"for each of {kinds} classes, judged on {len(seen)} public rows"
    )


def _search(
    rows: NDArray[np.float64], point: NDArray[np.float64], expected: NDArray[np.float64]
) -> tuple[float, float]:
    """Down from a strong penalty, each fit started from the last, until the risk has stopped falling."""
    alphas, risks = [_LARGEST], [np.inf]
    theta, alpha = np.zeros_like(point), _LARGEST
    judged = SoftmaxObjective(rows, expected)
    while alpha >= _SMALLEST and len(risks) - int(np.argmin(risks)) <= _PATIENCE:
        theta = minimise_softmax(rows, point, alpha=alpha, start=theta, tolerance=1e-6).theta
        alphas.append(alpha)
        risks.append(judged.smooth(theta)[0])
        alpha /= _FACTOR
    best = int(np.argmin(risks))
    return alphas[best], risks[best]
