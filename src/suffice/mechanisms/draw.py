"""From a law to integers: the noise of a release, added to its sum."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from suffice.core import laws
from suffice.core.errors import GuaranteeUnknown
from suffice.mechanisms.sampler import rounded_cube, rounded_gaussian, rounded_l2_laplace, rounded_laplace

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

__all__ = ["above", "added", "noise"]

_LARGEST = 2**63 - 1


def added(total: NDArray[np.int64], law: laws.Law) -> NDArray[np.int64]:
    """The first numbers of the sum, as many as the law has, each with its noise.

    The noise is drawn without seeing the sum; only after adding is the result held within 64 bits.
    """
    drawn = noise(law)
    sums = total.ravel()[: len(drawn)].tolist()
    noisy = (value + more for value, more in zip(sums, drawn, strict=True))
    return np.array([max(-_LARGEST, min(_LARGEST, value)) for value in noisy], dtype=np.int64)


def noise(law: laws.Law) -> list[int]:
    """A fresh draw from a law, rounded exactly to the grid."""
    if isinstance(law, laws.Laplace):
        return rounded_laplace(law.scale, law.dimension)
    if isinstance(law, laws.L2Laplace):
        return rounded_l2_laplace(law.scale, law.dimension, classes=_contrast(law.classes))
    if isinstance(law, laws.Gaussian):
        return rounded_gaussian(law.stddev, law.dimension, classes=_contrast(law.classes))
    if isinstance(law, laws.Cube):
        return rounded_cube(law.scale, law.dimension)
    raise GuaranteeUnknown(f"There is no sampler for {law!r}.")


def above(number: Fraction | float) -> float:
    """The number as a double that is not below it."""
    near = float(number)
    return near if near >= number else math.nextafter(near, math.inf)


def _contrast(classes: int) -> int | None:
    return None if classes == 2 else classes
