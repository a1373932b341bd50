"""What a release of class means makes one believe of the labels: expected class probabilities of rows.

The prior is that of two classes (`strength`): labels follow a softmax model whose directions and
strength are unknown. Each class has a Gaussian of its own for its scores, and all are moved together;
for two classes this is the belief of `strength` itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from suffice.learners.strength import spread
from suffice.maths.even_pass import row_blocks

Array: TypeAlias = NDArray[np.float64]

__all__ = ["ClassBelief", "believe"]

_ROWS = 1000
_AXES = 100
_SIGNALS = (4.0, 16.0, 64.0, 256.0)
_ROUNDS, _AGAIN = 40, 12
_SETTLED = 1e-2
_DAMPING, _LEAST = 0.9, 0.2
_HEAVY = 0.02
_PASSES = 3
_LIGHT = 1e-5


@final
@dataclass(frozen=True, slots=True)
class ClassBelief:
    """Class means that the release and the rows make likely, and how strong a signal they speak of.

    `seen` are some of the rows and `expected` the expected class means over them; `posterior` is that
    over all rows, in the relative interior of where labels can put it. A fit to `posterior` needs no
    penalty against the noise, only `light` so that it is well conditioned. `signal` is the standard
    deviation of a difference of two classes' logits.
    """

    seen: Array
    expected: Array
    posterior: Array
    signal: float
    light: float


def believe(
    features: Array, means: Array, variance: float, *, count: int, sample: bool = False
) -> ClassBelief:
    """What to believe of the class means of these rows, after a release of `means` with noise.

    `variance` is that of the noise in each direction in which blocks add up to zero. `count` is how
    many rows the means are over. `sample` says that those were other rows of the same population. A
    thousand or so rows are looked at closely, and all of them a few times.
    """
    seen = features if len(features) <= 1.5 * _ROWS else spread(features, _ROWS)
    other = 1.0 / count + 1.0 / len(features) if sample else 0.0
    chosen = 1.0 / len(seen) - 1.0 / len(features)
    case, axes, unit = _reduce(seen, means, variance, count, other + chosen)
    beliefs = _beliefs(case)
    chance = np.tensordot(_weights(beliefs), np.stack([belief.chance for belief in beliefs]), axes=1)
    heavy = [each for each, weight in zip(beliefs, _weights(beliefs), strict=True) if weight > _HEAVY]
    refined = [_over_all(features, axes / unit, case, other, belief) for belief in heavy]
    weights = _weights([belief for belief, _ in refined])
    return ClassBelief(
        seen,
        chance @ seen / len(seen),
        np.tensordot(weights, np.stack([whole for _, whole in refined]), axes=1),
        float(np.exp(weights @ np.log([belief.signal for belief, _ in refined]))),
        _LIGHT * unit**2,
    )


def _beliefs(case: _Case) -> list[_Belief]:
    """One belief per strength of signal, each started from the one before."""
    shape = case.variances / np.square(case.variances).sum()
    centre, beliefs = np.zeros_like(case.means), []
    precision = np.stack([np.diag(2.0 / (shape * _SIGNALS[0] ** 2))] * len(centre))
    for signal in _SIGNALS:
        beliefs.append(_settle(case, 2.0 / (shape * signal**2), centre, precision, signal, _ROUNDS))
        centre, precision = beliefs[-1].centre, beliefs[-1].precision
    return beliefs


def _weights(beliefs: list[_Belief]) -> Array:
    """How likely each signal is: its evidence, times a prior in proportion to the signal."""
    logs = np.array([belief.evidence + np.log(belief.signal) for belief in beliefs])
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def _over_all(
    features: Array, turn: Array, case: _Case, other: float, belief: _Belief
) -> tuple[_Belief, Array]:
    """The belief that all rows lead to, and the expected class means over all of them.

    The rows that were looked at stand for all by their slopes alone: what the expected means over them
    lack of those over all rows is taken from the target, a few times over.
    """
    whole = _whole(features, turn, belief)
    if case.sampling == other:
        return belief, whole
    for _ in range(_PASSES):
        full = whole @ turn
        some = belief.chance @ case.rows / len(case.rows)
        lacking = (some - some.mean(axis=0)) - (full - full.mean(axis=0))
        shifted = replace(case, means=case.means + lacking, sampling=other)
        belief = _settle(shifted, belief.prior, belief.centre, belief.precision, belief.signal, _AGAIN)
        whole = _whole(features, turn, belief)
    return belief, whole


def _whole(features: Array, turn: Array, belief: _Belief) -> Array:
    """The expected class means over all rows, under a belief."""
    covariance, m = np.asarray(np.linalg.inv(belief.precision), dtype=np.float64), len(features)
    means = np.zeros((len(covariance), features.shape[1]))
    for block in row_blocks(features):
        means += _expected(block @ turn, belief.centre, covariance)[0] @ block / m
    return means


@final
@dataclass(frozen=True, slots=True)
class _Case:
    """Rows turned to their principal axes, in units of their root mean square length; contrast means."""

    rows: Array
    means: Array
    noise: float
    variances: Array
    count: int
    sampling: float

    def total(self, chance: Array, slope: Array) -> Array:
        """The covariance of the noise, of labels drawn at random and of the choice of rows, by class."""
        noise = self.noise * np.eye(slope.shape[-1]) + slope / self.count
        if self.sampling == 0.0:
            return np.asarray(noise)
        return np.asarray(noise + self.sampling * _moments(self.rows, (chance - 1.0 / len(chance)) ** 2))


def _moments(rows: Array, weights: Array) -> Array:
    """Second moments of the rows, under a row of weights for each class."""
    return np.stack([(rows.T * each) @ rows for each in weights]) / len(rows)


def _reduce(
    rows: Array, means: Array, variance: float, count: int, sampling: float
) -> tuple[_Case, Array, float]:
    """The case, the axes that lead back, and the unit of length. Axes beyond the largest are left out."""
    unit = float(np.sqrt(np.square(rows).sum(axis=1).mean())) or 1.0
    values, vectors = np.linalg.eigh(rows.T @ rows / (len(rows) * unit**2))
    axes = vectors[:, ::-1][:, :_AXES]
    values = np.maximum(values[::-1][:_AXES], 1e-9 * max(float(values[-1]), 1e-300))
    contrast = (means - means.mean(axis=0)) @ axes / unit
    noise = variance / unit**2 + 1e-9 / count
    return _Case(rows @ axes / unit, contrast, noise, values, count, sampling), axes, unit


@final
@dataclass(frozen=True, slots=True)
class _Belief:
    """Gaussians N(centre_k, precision_k^-1) of the classes' parameters, and what follows for rows."""

    signal: float
    prior: Array
    centre: Array
    precision: Array
    evidence: float
    chance: Array


@final
@dataclass(frozen=True, slots=True)
class _Line:
    """Expected probabilities and class means over the Gaussians, and their slope class by class.

    A slope is K/(K-1) times that of a class by itself: what it is when all other classes move the
    other way, exactly so for two classes and where all are equally likely. Labels drawn at random
    add slope/count to the noise.
    """

    chance: Array
    contrast: Array
    slope: Array
    total: Array
    shrink: Array

    @classmethod
    def over(cls, case: _Case, centre: Array, covariance: Array) -> _Line:
        """The line over the rows of a case."""
        rows = case.rows
        chance, steep, shrink = _expected(rows, centre, covariance)
        slope, means = _moments(rows, steep), chance @ rows / len(rows)
        return cls(chance, means - means.mean(axis=0), slope, case.total(chance, slope), shrink)


def _expected(rows: Array, centre: Array, covariance: Array) -> tuple[Array, Array, Array]:
    """Expected probabilities, their slopes and how doubt shrinks a score: a row per class each."""
    kinds = len(centre)
    doubt = np.stack([np.einsum("ij,ij->i", rows @ each, rows) for each in covariance])
    shrink = 1.0 / np.sqrt(1.0 + np.pi * np.maximum(doubt, 0.0) / 4.0)
    scores = shrink * (centre @ rows.T)
    chance = np.exp(scores - scores.max(axis=0))
    chance /= chance.sum(axis=0)
    return chance, shrink * chance * (1.0 - chance) * (kinds / (kinds - 1.0)), shrink


def _step(case: _Case, line: _Line, prior: Array, centre: Array) -> tuple[Array, Array]:
    """Where the linearised posterior leads all classes, and its precision for each of them."""
    pull = np.linalg.solve(line.total, (case.means - line.contrast)[:, :, None])
    target = line.slope @ np.linalg.solve(line.total, line.slope) + np.diag(prior)
    step = np.linalg.solve(target, line.slope @ pull - (prior * centre)[:, :, None])[:, :, 0]
    return step - step.mean(axis=0), target


def _settle(
    case: _Case, prior: Array, centre: Array, precision: Array, signal: float, rounds: int
) -> _Belief:
    """Damped steps, all classes at once, until no expected score moves any more; shorter where they grow."""
    damping, before = _DAMPING, np.inf
    for _ in range(rounds):
        line = _Line.over(case, centre, np.asarray(np.linalg.inv(precision), dtype=np.float64))
        step, target = _step(case, line, prior, centre)
        move = step @ case.rows.T
        felt = float(np.sqrt(2.0 * np.mean((line.shrink * move) ** 2)))
        if felt < _SETTLED:
            break
        damping, before = (damping if felt < before else max(damping / 2.0, _LEAST)), felt
        share = min(damping, 2.0 / max(float(np.sqrt(2.0 * np.mean(move**2))), 1e-300))
        centre = centre + share * step
        precision = share * target + (1.0 - share) * precision
    evidence = _evidence(case, line, prior, centre, precision)
    return _Belief(signal, prior, centre, precision, evidence, line.chance)


def _evidence(case: _Case, line: _Line, prior: Array, centre: Array, precision: Array) -> float:
    """The variational lower bound on the log probability of the class means, up to a constant.

    Blocks add up to zero, so K of them have the freedom of K-1.
    """
    kinds, width = centre.shape
    covariance = np.linalg.inv(precision)
    rest = (case.means - line.contrast)[:, :, None]
    fit = float((rest * np.linalg.solve(line.total, rest)).sum()) + float((prior * centre**2).sum())
    spread = np.einsum("kij,kji->", np.linalg.solve(line.total, line.slope) @ covariance, line.slope)
    away = np.einsum("j,kjj->", prior, covariance) - kinds * width
    logs = np.linalg.slogdet(precision)[1].sum() - kinds * np.log(prior).sum()
    logs += np.linalg.slogdet(line.total)[1].sum()
    return float(-(fit + (spread + away + logs) * (kinds - 1) / kinds) / 2.0)
