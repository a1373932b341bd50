"""Symmetric proper losses, made from their permissible generator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.core.errors import InputError

Array: TypeAlias = NDArray[np.float64]

_HALVINGS = 64
_PROBES = np.linspace(1e-6, 0.5, 201)


@final
@dataclass(frozen=True, slots=True)
class Generator:
    """A convex phi on [0, 1] with phi(p) = phi(1 - p), and its derivative `slope`.

    Its loss is f(z) = (phi*(-z) + phi(0)) / b with b = phi(0) - phi(1/2), so that f(0) = 1 and f
    falls to 0. Symmetry gives phi*(-z) = phi*(z) - z, hence f(z) - f(-z) = -z / b: every such loss
    is linear-odd with a = 1/b. The estimated probability at z is the point where phi has slope z.
    """

    phi: Callable[[Array], Array]
    slope: Callable[[Array], Array]

    def __post_init__(self) -> None:
        with np.errstate(divide="ignore", invalid="ignore"):
            values, mirrored = self.phi(_PROBES), self.phi(1.0 - _PROBES)
            slopes = self.slope(_PROBES)
        if not np.allclose(values, mirrored, rtol=1e-9, atol=1e-9):
            msg = "a generator must be symmetric, phi(p) = phi(1 - p); this one is not"
            raise InputError(msg)
        if not (np.diff(slopes) > 0).all() or abs(float(slopes[-1])) > 1e-9:
            msg = "a generator must be strictly convex with slope 0 at p = 1/2; check `slope`"
            raise InputError(msg)
        if not np.isfinite(self._at(0.0)) or self.height <= 0.0:
            msg = f"a generator must be finite at 0 and lower at 1/2; phi(0) - phi(1/2) is {self.height}"
            raise InputError(msg)

    @property
    def height(self) -> float:
        """The drop b = phi(0) - phi(1/2): the loss has a = 1/b."""
        return self._at(0.0) - self._at(0.5)

    def even(self, z: ArrayLike) -> Array:
        """The even part of the loss, stable for every finite z."""
        t = np.abs(np.asarray(z, dtype=np.float64))
        p = self._tail(t)
        value: Array = (self._at(0.0) - p * t - self.phi(p) + t / 2) / self.height
        return value

    def even_gradient(self, z: ArrayLike) -> Array:
        """Derivative of the even part."""
        z = np.asarray(z, dtype=np.float64)
        slope: Array = np.sign(z) * (0.5 - self._tail(np.abs(z))) / self.height
        return slope

    def probability(self, z: ArrayLike) -> Array:
        """The probability of the positive class at margin z."""
        z = np.asarray(z, dtype=np.float64)
        tail = self._tail(np.abs(z))
        return np.where(z < 0, tail, 1.0 - tail)

    def _at(self, p: float) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.asarray(self.phi(np.asarray([p])))[0])

    def _tail(self, t: Array) -> Array:
        """The p in [0, 1/2] where phi has slope -t, by halving."""
        low, high = np.zeros_like(t), np.full_like(t, 0.5)
        with np.errstate(divide="ignore", invalid="ignore"):
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                below = self.slope(middle) < -t
                low, high = np.where(below, middle, low), np.where(below, high, middle)
        tail: Array = (low + high) / 2
        return tail
