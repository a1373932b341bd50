"""Normal noise, calibrated in the 2-norm by the exact privacy profile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from suffice.core import laws
from suffice.core.guarantees import ApproxDP, ZeroConcentratedDP
from suffice.mechanisms.calibration import gaussian_rho, gaussian_stddev
from suffice.mechanisms.draw import above, added

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from suffice.core.bounds import Sensitivity
    from suffice.core.guarantees import Promise

__all__ = ["Gaussian"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian:
    """(epsilon, delta) by normal noise (docs/proofs/gaussian.md); on the contrast space for K classes."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        """Refuse what no promise could be made of."""
        self.promise()

    def promise(self) -> ApproxDP:
        """What is charged."""
        return ApproxDP(self.epsilon, self.delta)

    def law(self, sensitivity: Sensitivity, dimension: int, classes: int = 2) -> laws.Gaussian:
        """The least standard deviation that keeps (epsilon, delta)."""
        return laws.Gaussian(gaussian_stddev(sensitivity.l2, self.epsilon, self.delta), dimension, classes)

    def also(self, sensitivity: Sensitivity, law: laws.Law) -> tuple[Promise, ...]:
        """The zCDP of the same draw: l2²/(2·stddev²)."""
        if not isinstance(law, laws.Gaussian):
            return ()
        return (ZeroConcentratedDP(above(gaussian_rho(sensitivity.l2, law.stddev))),)

    def perturb(self, total: NDArray[np.int64], law: laws.Law) -> NDArray[np.int64]:
        """The sum plus a fresh draw."""
        return added(total, law)
