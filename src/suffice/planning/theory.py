"""What noise in the mean operator does to a model, at worst and on average, known before it is drawn.

A linear-odd loss with coefficient `a` is minimised with alpha·‖θ‖² over a noisy mean operator
mu + b. The two bounds of the mean-operator paper are here as they hold (docs/proofs/theorem_6.md,
docs/proofs/theorem_10.md); what the paper prints stands beside them under `printed_`, to compare.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from suffice.core.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from suffice.core.laws import Law
    from suffice.core.moments import Covariance

__all__ = [
    "crossover_count",
    "crossover_dimension",
    "distance_bound",
    "excess_bound",
    "expected_excess_bound",
    "length_bound",
    "printed_distance_bound",
    "printed_uniform_bound",
    "randomised_label_covariance",
    "risk_gap",
    "uniform_bound",
    "weighted_error",
]


def distance_bound(a: float, alpha: float, shift: float) -> float:
    """How far the minimiser moves when the mean operator moves by `shift`: at most |a|/(4 alpha)·shift.

    Equality for a loss without an even part, the unhinged and the linear one.
    """
    return abs(a) * _size("shift", shift) / (4 * _strength(alpha))


def excess_bound(a: float, alpha: float, shift: float) -> float:
    """How much worse the noisy minimiser is under the exact objective: at most a²·shift²/(16 alpha).

    Equality where `distance_bound` has it.
    """
    return (a * _size("shift", shift)) ** 2 / (16 * _strength(alpha))


def expected_excess_bound(a: float, alpha: float, covariance: Covariance) -> float:
    """The mean of `excess_bound` over noise of this covariance: a²·tr(C)/(16 alpha)."""
    return a**2 * covariance.trace() / (16 * _strength(alpha))


def length_bound(a: float, alpha: float, mean: ArrayLike) -> float:
    """How long the minimiser can be for this mean operator, exact or noisy: |a|·‖mean‖/(4 alpha)."""
    return distance_bound(a, alpha, float(np.linalg.norm(np.asarray(mean, dtype=np.float64))))


def printed_distance_bound(alpha: float, shift: float) -> float:
    """Theorem 6 as it is printed, shift/alpha: false where |a| > 4, four times loose at a = 1."""
    return _size("shift", shift) / _strength(alpha)


def risk_gap(a: float, radius: float, shift: float) -> float:
    """The largest |risk(mu) - risk(mu + b)| over all ‖θ‖ ≤ radius, which is (|a|/2)·radius·‖b‖ exactly."""
    return abs(a) / 2 * _size("radius", radius) * _size("shift", shift)


def uniform_bound(a: float, radius: float, law: Law, failure: float, *, unit: float = 1.0) -> float:
    """What `risk_gap` stays under with probability 1 - failure, for noise of this law.

    `unit` is the length of one unit of the law in the mean operator: a release on a grid of `bits`
    over `count` rows has unit = 2^-bits/count. The quantile of the length is exact for round noise
    (L2Laplace, Gaussian); for Laplace on every coordinate it is the union bound
    scale·√d·log(d/failure), and for Cube √d times that of the largest coordinate.
    """
    if not 0 < failure < 1:
        raise InputError(f"failure= is a probability between 0 and 1, and got {failure!r}.")
    return risk_gap(a, radius, law.quantile(1 - failure) * _size("unit", unit))


def printed_uniform_bound(
    a: float, radius: float, *, dimension: int, count: int, epsilon: float, failure: float
) -> float:
    """Theorem 10 as it is printed, |a|·radius·log(d/failure)/(count·epsilon).

    Its union bound is over coordinates while its norm is Euclidean, so a factor √d is missing: over
    all θ it fails more often than stated from d = 2 on, and nearly always from d = 100 on.
    """
    return abs(a) * radius * math.log(dimension / failure) / (count * epsilon)


def randomised_label_covariance(rows: ArrayLike, epsilon: float) -> NDArray[np.float64]:
    """Covariance of the mean operator estimated from labels that were each randomised at epsilon.

    A label is flipped with probability 1/(1+e^epsilon), and answers are divided by
    tanh(epsilon/2). The result is X'X/(m²·sinh²(epsilon/2)), whatever the labels are.
    """
    matrix = np.asarray(rows, dtype=np.float64)
    factor = math.sinh(_strength(epsilon, "epsilon") / 2) ** 2
    return matrix.T @ matrix / (len(matrix) ** 2 * factor)


def weighted_error(covariance: NDArray[np.float64], metric: NDArray[np.float64] | None = None) -> float:
    """tr(H⁻¹C): to first order, what a noisy mean operator costs a model whose curvature is H.

    Without a metric it is tr(C), the mean squared length of the error.
    """
    matrix = covariance if metric is None else np.linalg.solve(metric, covariance)
    return float(np.trace(matrix))


def crossover_dimension(count: int, epsilon: float) -> float:
    """The dimension above which randomised labels err less than round Laplace noise of the same epsilon.

    For rows of length one: the d at which √(d(d+1)) = ((ε/2)/sinh(ε/2))·√count.
    """
    half = _strength(epsilon, "epsilon") / 2
    square = (half / math.sinh(half)) ** 2 * _size("count", count)
    return math.sqrt(square + 0.25) - 0.5


def crossover_count(error: float, epsilon: float) -> float:
    """The number of rows up to which randomised labels err less than noise on the mean operator.

    `error` is the mean squared length of the noise on the *sum* of labels times rows of length one,
    whose sensitivity is 2: its variance falls as 1/count² in the mean and theirs as 1/count.
    Randomised labels spend epsilon with delta = 0, whatever the noise spends.
    """
    return _size("error", error) * math.sinh(_strength(epsilon, "epsilon") / 2) ** 2


def _strength(value: float, name: str = "alpha") -> float:
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{name}= is a positive number, and got {value!r}.")
    return value


def _size(name: str, value: float) -> float:
    if not (math.isfinite(value) and value >= 0):
        raise InputError(f"{name}= is a number of at least zero, and got {value!r}.")
    return value
