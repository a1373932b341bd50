"""Noise that is uniform on cubes, calibrated in the max norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from suffice.core import laws
from suffice.core.guarantees import PureDP, ZeroConcentratedDP
from suffice.mechanisms.calibration import cube_scale, pure_rho
from suffice.mechanisms.draw import above, added

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from suffice.core.bounds import Sensitivity
    from suffice.core.guarantees import Promise

__all__ = ["Cube"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Cube:
    """Pure epsilon by noise with density proportional to exp(-max|b|/scale) (docs/proofs/cube.md).

    For K classes the noise is drawn on all K blocks.
    """

    epsilon: float

    def __post_init__(self) -> None:
        """Refuse what no promise could be made of."""
        self.promise()

    def promise(self) -> PureDP:
        """What is charged."""
        return PureDP(self.epsilon)

    def law(self, sensitivity: Sensitivity, dimension: int, classes: int = 2) -> laws.Cube:
        """Scale linf/epsilon, exactly."""
        blocks = 1 if classes == 2 else classes
        return laws.Cube(cube_scale(sensitivity.linf, self.epsilon), dimension * blocks)

    def also(self, sensitivity: Sensitivity, law: laws.Law) -> tuple[Promise, ...]:
        """The zCDP that every pure promise implies."""
        return (ZeroConcentratedDP(above(pure_rho(self.epsilon))),)

    def perturb(self, total: NDArray[np.int64], law: laws.Law) -> NDArray[np.int64]:
        """The sum plus a fresh draw."""
        return added(total, law)
