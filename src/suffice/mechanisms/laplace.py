"""Independent Laplace noise on every coordinate, calibrated in the 1-norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from suffice.core import laws
from suffice.core.guarantees import PureDP, ZeroConcentratedDP
from suffice.mechanisms.calibration import laplace_rho, laplace_scale
from suffice.mechanisms.draw import above, added

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from suffice.core.bounds import Sensitivity
    from suffice.core.guarantees import Promise

__all__ = ["Laplace"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace:
    """Pure epsilon by independent Laplace noise (docs/proofs/laplace.md).

    For K classes the noise is drawn on all K blocks: one label moves two of them, each by the
    row, whether the last block is there or not.
    """

    epsilon: float

    def __post_init__(self) -> None:
        """Refuse what no promise could be made of."""
        self.promise()

    def promise(self) -> PureDP:
        """What is charged."""
        return PureDP(self.epsilon)

    def law(self, sensitivity: Sensitivity, dimension: int, classes: int = 2) -> laws.Laplace:
        """Scale l1/epsilon, exactly."""
        blocks = 1 if classes == 2 else classes
        return laws.Laplace(laplace_scale(sensitivity.l1, self.epsilon), dimension * blocks)

    def also(self, sensitivity: Sensitivity, law: laws.Law) -> tuple[Promise, ...]:
        """The exact zCDP of Laplace noise: epsilon + e^-epsilon - 1."""
        return (ZeroConcentratedDP(above(laplace_rho(self.epsilon))),)

    def perturb(self, total: NDArray[np.int64], law: laws.Law) -> NDArray[np.int64]:
        """The sum plus a fresh draw."""
        return added(total, law)
