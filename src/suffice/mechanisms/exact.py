"""No noise at all: the statistic as it is, with no privacy guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from suffice.core import laws
from suffice.core.guarantees import NotPrivate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from suffice.core.bounds import Sensitivity
    from suffice.core.guarantees import Promise

__all__ = ["Exact"]


@final
@dataclass(frozen=True, slots=True)
class Exact:
    """The exact statistic. From it all labels can be computed back, given the features."""

    def promise(self) -> NotPrivate:
        """Nothing is promised."""
        return NotPrivate("the statistic is released exactly, without noise")

    def law(self, sensitivity: Sensitivity, dimension: int, classes: int = 2) -> laws.NoLaw:
        """No noise."""
        return laws.NoLaw(dimension * (classes - 1))

    def also(self, sensitivity: Sensitivity, law: laws.Law) -> tuple[Promise, ...]:
        """Nothing else is promised either."""
        return ()

    def perturb(self, total: NDArray[np.int64], law: laws.Law) -> NDArray[np.int64]:
        """The sum itself, the last block of K left out as in every release."""
        return total.ravel()[: law.dimension] if isinstance(law, laws.NoLaw) else total.ravel()
