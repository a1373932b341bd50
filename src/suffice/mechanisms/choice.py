"""Auto: the admissible mechanism of least predicted error, from public numbers alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suffice.core.laws import Cube as CubeLaw
from suffice.core.laws import Laplace as LaplaceLaw
from suffice.mechanisms.cube import Cube
from suffice.mechanisms.gaussian import Gaussian
from suffice.mechanisms.l2_laplace import L2Laplace
from suffice.mechanisms.laplace import Laplace

if TYPE_CHECKING:
    from suffice.core.bounds import Sensitivity
    from suffice.core.laws import Law
    from suffice.core.protocols import Additive
    from suffice.core.request import Auto

__all__ = ["best", "candidates", "predicted_error"]


def candidates(request: Auto) -> tuple[Additive, ...]:
    """Every mechanism that keeps the request's promise; without delta, those that need none."""
    pure = (Laplace(epsilon=request.epsilon), Cube(epsilon=request.epsilon))
    if request.delta == 0:
        return (*pure, L2Laplace(epsilon=request.epsilon))
    wide = {"epsilon": request.epsilon, "delta": request.delta}
    return (*pure, L2Laplace(**wide), Gaussian(**wide))


def predicted_error(law: Law, classes: int) -> float:
    """The expected squared length of the noise, where blocks of K classes add up to a public sum.

    Noise on all K blocks loses its share along that sum when the learner takes it out, which is
    what the learner does (docs/proofs/contrast.md).
    """
    whole = law.covariance().trace()
    if classes == 2:
        return whole
    if isinstance(law, LaplaceLaw | CubeLaw):
        return whole * (classes - 1) / classes
    return whole * classes / (classes - 1)  # contrast noise, its last block left out


def best(request: Auto, sensitivity: Sensitivity, dimension: int, classes: int) -> tuple[Additive, str]:
    """The candidate of least predicted error, and a sentence that compares them all."""
    errors = {
        mechanism: predicted_error(mechanism.law(sensitivity, dimension, classes), classes)
        for mechanism in candidates(request)
    }
    chosen = min(errors, key=lambda mechanism: errors[mechanism])
    least = errors[chosen]
    others = ", ".join(
        f"{type(mechanism).__name__} {error / least:.3g} times"
        for mechanism, error in errors.items()
        if mechanism is not chosen
    )
    return chosen, f"{type(chosen).__name__} has the least expected squared noise; {others} as much"
