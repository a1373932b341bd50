"""The strength of regularisation, from public facts: feature rows, a noisy mean and its known noise.

What is wanted is the alpha whose fit has least risk under the labels that nobody shows. For a
linear-odd loss that risk is linear in the mean operator, so its expectation given the release needs
one vector only: the posterior mean of the true mean operator. It is computed under a prior in which
labels follow a logistic model of unknown direction and unknown strength, and then alpha is searched
along the path of fits (docs/explanation/strength.md). Nothing is drawn and no privacy is spent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from suffice.core.errors import InputError
from suffice.core.moments import Covariance
from suffice.maths.even_pass import Block, Rows, parts, row_blocks
from suffice.maths.linear_odd import LinearOdd
from suffice.maths.minimise import minimise
from suffice.maths.piece import in_pieces
from suffice.maths.zonotope import Zonotope, project

Array: TypeAlias = NDArray[np.float64]

_ROWS = 1000
_AXES = 150
_SIGNALS = (4.0, 16.0, 64.0, 256.0)
_ROUNDS = 60
_SETTLED = 1e-2
_DAMPING = 0.75
_LARGEST, _SMALLEST, _FACTOR = 10.0, 1e-8, 2.0
_PATIENCE = 4
_LIGHT = 1e-5
_HEAVY = 0.02


@final
@dataclass(frozen=True, slots=True)
class Strength:
    """A strength of regularisation, and why.

    `risk` is the expected risk of the fit at `alpha`, given the release; `signal` is the estimated
    standard deviation of the logit that separates the classes; `mean` is the posterior mean of the
    mean operator over the `rows` rows that were looked at, `posterior` that over all rows.

    A fit to the projection of `posterior` needs no penalty against the noise, only `light` for a
    minimiser to exist, and it has less risk than any fit to the projected release.
    """

    alpha: float
    reason: str
    risk: float
    signal: float
    mean: Array
    rows: int
    posterior: Array
    light: float


def choose(
    features: Rows,
    mean: Array,
    covariance: Covariance,
    loss: LinearOdd,
    *,
    count: int,
    projected: bool = True,
) -> Strength:
    """The alpha of least expected risk for the fit of `loss` with a squared penalty.

    `features` are the rows that will be fitted, clipped as the release says; `mean` is the noisy mean as it
    was released, not projected; `covariance` is that of its noise; all in the units of the rows. `count` is
    how many rows the mean is a mean of. `projected` says that the fit will use the projection of the mean
    onto the zonotope. About a thousand rows are looked at, chosen by their values and not by their place.
    """
    case, axes, unit = _reduce(spread(features, _ROWS), mean, _dense(covariance, len(mean)), count)
    point = project(case.mean, Zonotope(case.rows), radius=1.0).point if projected else case.mean
    beliefs = _beliefs(case)
    weights = _weights(beliefs)
    label, signal = _mixed(beliefs, weights)
    expected = label @ case.rows / len(case.rows)
    alpha, risk = (
        _scale(point, expected, loss)
        if loss.existence == "penalty"
        else _search(case.rows, point, expected, loss)
    )
    return Strength(
        alpha * unit**2,
        _reason(loss, risk, signal, case),
        risk,
        signal,
        axes @ expected * unit,
        len(case.rows),
        axes @ _over_all(features, case, axes / unit, beliefs, weights) * unit,
        (alpha if loss.existence == "penalty" else _LIGHT) * unit**2,
    )


def believe(rows: Array, mean: Array, covariance: Covariance, *, count: int) -> tuple[Array, float]:
    """The expected label of each of these rows given the release, between -1 and 1, and the signal.

    The same posterior as that of `choose`, and no search: for who has several means to weigh.
    """
    case, _, _ = _reduce(rows, mean, _dense(covariance, len(mean)), count)
    beliefs = _beliefs(case)
    return _mixed(beliefs, _weights(beliefs))


def imagine(rows: Array, mean: Array, covariance: Covariance, *, count: int, draws: int) -> Array:
    """Expected labels of these rows under parameters drawn from the posterior, a column for each.

    Where `believe` says what to expect, this says how far it may be off. The same draws every time.
    """
    case, _, _ = _reduce(rows, mean, _dense(covariance, len(mean)), count)
    beliefs = _beliefs(case)
    fixed = np.random.default_rng(0)
    shares = fixed.multinomial(draws, _weights(beliefs))
    drawn = []
    for belief, share in zip(beliefs, shares, strict=True):
        root = np.linalg.cholesky(np.linalg.inv(belief.precision))
        drawn.append(belief.centre[:, None] + root @ fixed.standard_normal((len(root), int(share))))
    return np.asarray(np.tanh(case.rows @ np.concatenate(drawn, axis=1) / 2.0))


def _dense(covariance: Covariance, width: int) -> Array:
    noise = covariance.dense()
    if noise.shape != (width, width):
        raise InputError(
            f"the covariance must be {width} by {width}, got {noise.shape[0]} by {noise.shape[1]}"
        )
    return noise


def spread(features: Rows, most: int) -> Array:
    """At most `most` rows, evenly spread along a fixed direction: the same ones in whatever order."""
    keys = np.concatenate([block @ _direction(block.shape[1]) for block in row_blocks(features)])
    if len(keys) > most:
        ranks = ((np.arange(most) + 0.5) * len(keys) / most).astype(np.intp)
        chosen = np.zeros(len(keys), dtype=bool)
        chosen[np.argsort(keys)[ranks]] = True
    else:
        chosen = np.ones(len(keys), dtype=bool)
    kept, start = [], 0
    for block in row_blocks(features):
        kept.append(block[chosen[start : start + len(block)]])
        start += len(block)
    rows = np.concatenate(kept)
    return np.asarray(rows[np.lexsort(rows.T)], dtype=np.float64)


def _direction(width: int) -> Array:
    """Weights that no columns are likely to share: fractional parts of multiples of the golden ratio."""
    return np.asarray(np.modf(np.arange(1, width + 1) * 0.6180339887498949)[0] - 0.5, dtype=np.float64)


@final
@dataclass(frozen=True, slots=True)
class _Case:
    """The rows looked at, turned to their principal axes and in units of their root mean square length."""

    rows: Array
    mean: Array
    noise: Array
    variances: Array
    count: int


def _reduce(rows: Array, mean: Array, noise: Array, count: int) -> tuple[_Case, Array, float]:
    """The case, the axes that lead back, and the unit of length. Axes beyond the largest are left out."""
    unit = float(np.sqrt(np.square(rows).sum(axis=1).mean())) or 1.0
    values, vectors = np.linalg.eigh(rows.T @ rows / (len(rows) * unit**2))
    axes = vectors[:, ::-1][:, :_AXES]
    values = np.maximum(values[::-1][:_AXES], 1e-9 * max(float(values[-1]), 1e-300))
    turned = axes.T @ (noise / unit**2) @ axes + np.eye(axes.shape[1]) * 1e-9 / count
    return _Case(rows @ axes / unit, axes.T @ mean / unit, turned, values, count), axes, unit


def _reason(loss: LinearOdd, risk: float, signal: float, case: _Case) -> str:
    if loss.existence == "penalty":
        return f"with the {loss.name} loss the strength changes no decision; theta was given unit length"
    return (
        f"least expected {loss.name} risk, {risk:.3g}, given the noise and a signal of about "
        f"{signal:.2g} logits, judged on {len(case.rows)} public rows"
    )


@final
@dataclass(frozen=True, slots=True)
class _Belief:
    """A Gaussian N(centre, precision^-1) of the parameter, given a prior logit of deviation `signal`.

    `label` is the expected label of each row under it.
    """

    signal: float
    centre: Array
    precision: Array
    evidence: float
    label: Array


def _beliefs(case: _Case) -> list[_Belief]:
    """One belief per strength of signal, each started from the one before."""
    shape = case.variances / np.square(case.variances).sum()
    centre, precision = np.zeros(len(shape)), np.diag(1.0 / (shape * _SIGNALS[0] ** 2))
    beliefs: list[_Belief] = []
    for signal in _SIGNALS:
        beliefs.append(_linearise(case, 1.0 / (shape * signal**2), centre, precision, signal))
        centre, precision = beliefs[-1].centre, beliefs[-1].precision
    return beliefs


@final
@dataclass(frozen=True, slots=True)
class _Line:
    """The mean operator over a Gaussian parameter: its expectation and its expected slope.

    A label of margin z has variance 1 - tanh^2(z/2), twice the slope of tanh(z/2): so labels drawn at
    random add 2 slope / count to the covariance of the noise.
    """

    label: Array
    mean: Array
    slope: Array
    shrink: Array

    @classmethod
    def over(cls, rows: Array, centre: Array, precision: Array) -> _Line:
        """Expectations over N(centre, precision^-1), by the probit approximation of the logistic curve."""
        doubt = np.maximum(np.einsum("ij,ij->i", rows @ np.linalg.inv(precision), rows), 0.0)
        shrink = 1.0 / np.sqrt(1.0 + np.pi * doubt / 8.0)
        label = np.tanh(shrink * (rows @ centre) / 2.0)
        steep = shrink * (1.0 - label**2) / 2.0
        return cls(label, label @ rows / len(rows), (rows * steep[:, None]).T @ rows / len(rows), shrink)


def _over_all(features: Rows, case: _Case, turn: Array, beliefs: list[_Belief], weights: Array) -> Array:
    """The posterior mean over all rows: each belief's line over them, in one pass, and one step along it.

    The step makes up, to first order, for beliefs having been formed on some of the rows.
    """
    width = turn.shape[1]
    heavy = [(belief, weight) for belief, weight in zip(beliefs, weights, strict=True) if weight > _HEAVY]
    means, slopes, seen = np.zeros((len(heavy), width)), np.zeros((len(heavy), width, width)), 0
    for part in parts(features):
        seen += len(part)
        for mean, slope in in_pieces(len(part), partial(_lines, part, turn, heavy)):
            means += mean
            slopes += slope
    shape = case.variances / np.square(case.variances).sum()
    total, expected = sum(weight for _, weight in heavy), np.zeros(width)
    for (belief, weight), mean, slope in zip(heavy, means / seen, slopes / seen, strict=True):
        prior = 1.0 / (shape * belief.signal**2)
        noise = case.noise + 2.0 * slope / case.count
        pull = slope @ np.linalg.solve(noise, case.mean - mean) - prior * belief.centre
        curvature = slope @ np.linalg.solve(noise, slope) + np.diag(prior)
        expected += weight / total * (mean + slope @ np.linalg.solve(curvature, pull))
    return expected


def _lines(
    features: Block, turn: Array, heavy: list[tuple[_Belief, float]], piece: slice
) -> tuple[Array, Array]:
    """Each belief's line over a piece of the rows, summed."""
    width = turn.shape[1]
    means, slopes = np.zeros((len(heavy), width)), np.zeros((len(heavy), width, width))
    for block in row_blocks(features[piece]):
        rows = block @ turn
        for k, (belief, _) in enumerate(heavy):
            line = _Line.over(rows, belief.centre, belief.precision)
            means[k] += line.mean * len(rows)
            slopes[k] += line.slope * len(rows)
    return means, slopes


def _linearise(case: _Case, prior: Array, centre: Array, precision: Array, signal: float) -> _Belief:
    """A Gaussian whose precision is its own expected curvature, by damped steps in natural parameters.

    The mean operator enters by its line over the whole belief, not at its centre, so it does not go
    flat where labels are nearly certain.
    """
    for _ in range(_ROUNDS):
        line = _Line.over(case.rows, centre, precision)
        total = case.noise + 2.0 * line.slope / case.count
        pull = np.linalg.solve(total, case.mean - line.mean)
        target = line.slope @ np.linalg.solve(total, line.slope) + np.diag(prior)
        step = np.linalg.solve(target, line.slope @ pull - prior * centre)
        move = case.rows @ step
        if float(np.sqrt(np.mean((line.shrink * move) ** 2))) < _SETTLED:
            break
        share = min(_DAMPING, 2.0 / max(float(np.sqrt(np.mean(move**2))), 1e-300))
        centre = centre + share * step
        precision = share * target + (1.0 - share) * precision
    return _Belief(signal, centre, precision, _evidence(case, line, prior, centre, precision), line.label)


def _evidence(case: _Case, line: _Line, prior: Array, centre: Array, precision: Array) -> float:
    """The variational lower bound on the log probability of the noisy mean, linearised, up to a constant."""
    total = case.noise + 2.0 * line.slope / case.count
    rest, covariance = case.mean - line.mean, np.linalg.inv(precision)
    fit = rest @ np.linalg.solve(total, rest) + np.trace(
        np.linalg.solve(total, line.slope) @ covariance @ line.slope
    )
    away = prior @ np.diag(covariance) + prior @ centre**2 - len(centre)
    logs = np.linalg.slogdet(precision)[1] - np.log(prior).sum() + np.linalg.slogdet(total)[1]
    return float(-(fit + away + logs) / 2.0)


def _weights(beliefs: list[_Belief]) -> Array:
    """How likely each signal is: its evidence, times a prior in proportion to the signal."""
    logs = np.array([belief.evidence + np.log(belief.signal) for belief in beliefs])
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _mixed(beliefs: list[_Belief], weights: Array) -> tuple[Array, float]:
    """Expected labels, and the signal, over all strengths of signal."""
    label: Array = weights @ np.stack([belief.label for belief in beliefs])
    return label, float(np.exp(weights @ np.log([belief.signal for belief in beliefs])))


def _search(rows: Array, point: Array, expected: Array, loss: LinearOdd) -> tuple[float, float]:
    """Go down from a strong penalty, each fit started from the last, until the risk has stopped falling."""
    alphas, risks = [_LARGEST], [np.inf]
    theta, alpha = np.zeros(len(point)), _LARGEST
    while alpha >= _SMALLEST and len(risks) - int(np.argmin(risks)) <= _PATIENCE:
        theta = minimise(loss, rows, point, alpha=alpha, start=theta, tolerance=1e-6).theta
        alphas.append(alpha)
        risks.append(_risk(rows, theta, expected, loss))
        alpha /= _FACTOR
    best = int(np.argmin(risks))
    return alphas[best], risks[best]


def _scale(point: Array, expected: Array, loss: LinearOdd) -> tuple[float, float]:
    """For a loss whose parameter only scales with alpha: the alpha that gives it unit length."""
    length = float(np.linalg.norm(point)) or 1.0
    return abs(loss.a) * length / 4.0, float(
        loss.even(np.zeros(1))[0] - loss.a / 2 * point @ expected / length
    )


def _risk(rows: Array, theta: Array, expected: Array, loss: LinearOdd) -> float:
    return float(loss.even(rows @ theta).mean() - loss.a / 2 * theta @ expected)
