"""Round Laplace noise, calibrated in the 2-norm: the length is Gamma, the direction uniform."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from suffice.core import laws
from suffice.core.guarantees import ApproxDP, PureDP, ZeroConcentratedDP
from suffice.mechanisms.calibration import l2_laplace_scale, pure_rho
from suffice.mechanisms.draw import above, added

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from suffice.core.bounds import Sensitivity
    from suffice.core.guarantees import Promise

__all__ = ["L2Laplace"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class L2Laplace:
    """Noise with density proportional to exp(-‖b‖₂/scale) (docs/proofs/l2_laplace.md).

    Pure epsilon, or less noise for (epsilon, delta). For K classes the noise lives on blocks
    that sum to zero, where one label moves the statistic by √2 times its row.
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no promise could be made of."""
        self.promise()

    def promise(self) -> PureDP | ApproxDP:
        """What is charged."""
        return PureDP(self.epsilon) if self.delta == 0 else ApproxDP(self.epsilon, self.delta)

    def law(self, sensitivity: Sensitivity, dimension: int, classes: int = 2) -> laws.L2Laplace:
        """Scale l2/epsilon exactly, or the least scale that keeps (epsilon, delta)."""
        freedom = dimension * (classes - 1)
        scale = l2_laplace_scale(sensitivity.l2, self.epsilon, self.delta, freedom)
        return laws.L2Laplace(scale, dimension, classes)

    def also(self, sensitivity: Sensitivity, law: laws.Law) -> tuple[Promise, ...]:
        """The pure promise that the draw keeps in any case, and the zCDP that follows from it."""
        if not isinstance(law, laws.L2Laplace):
            return ()
        pure = above(sensitivity.l2 / law.scale)
        rho = ZeroConcentratedDP(above(pure_rho(pure)))
        return (rho,) if self.delta == 0 else (PureDP(pure), rho)

    def perturb(self, total: NDArray[np.int64], law: laws.Law) -> NDArray[np.int64]:
        """The sum plus a fresh draw."""
        return added(total, law)
