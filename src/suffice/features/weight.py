"""How much of the noise each coordinate is given, from public facts alone.

A release adds noise of one size to every coordinate of a vector, and its size grows with the
vector's length. So a coordinate of weight w is known to N/w² when the squares of all weights add up
to one, N being the noise of a vector of length one. What is worth knowing is decided by how much the
label may be expected to vary along it (docs/explanation/public-geometry.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.core.bounds import Sensitivity, least_root
from suffice.core.errors import InputError
from suffice.core.moments import Block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suffice.core.protocols import Additive

__all__ = ["expected", "noise", "shared"]

Array: TypeAlias = NDArray[np.float64]

_UNIT = 1 << 20
_EXPLAINED = 0.8
_DECAYS = (2.0, 4.0)
_REFERENCE = 10
_HALVINGS = 200
_LEAST = 1e-3


def noise(mechanism: Additive, count: int, dimension: int, classes: int) -> float:
    """The variance, over classes together, of one coordinate's mean where rows have length one."""
    reach = least_root(2 * _UNIT * _UNIT) if classes > 2 else 2 * _UNIT
    most = least_root(dimension * reach * reach)
    if not hasattr(mechanism, "law"):
        raise InputError(
            "Weights are chosen for a mechanism whose noise is known, such as "
            f"Gaussian(epsilon=1, delta=1e-5), and got {mechanism!r}."
        )
    spread = mechanism.law(Sensitivity(most, reach, reach), dimension, classes).covariance()
    whole = spread.trace() / dimension / _UNIT**2 / count**2
    if classes == 2:
        return float(whole)
    return float(whole * (classes / (classes - 1) if isinstance(spread, Block) else (classes - 1) / classes))


def expected(
    smoothness: Sequence[float | None], families: Sequence[str], sizes: Array, decay: float, variance: float
) -> Array:
    """How much of the label's variance each coordinate is expected to carry.

    Families of coordinates are expected to carry the same. Within one, a coordinate of a graph with
    eigenvalue λ carries (1 + (1 - λ)/g)^-decay, g being 1 - λ of the family's tenth; others carry shares
    in proportion to `sizes`, their variances.
    """
    shares = np.zeros(len(smoothness))
    known = np.array([np.nan if one is None else one for one in smoothness], dtype=np.float64)
    groups = _groups(families)
    for places in groups:
        parts = np.maximum(sizes[places], 1e-12 * sizes.max())
        if not np.isnan(known[places]).any():
            rough = np.maximum(1.0 - known[places], 0.0)
            gap = max(float(np.sort(rough)[min(_REFERENCE, len(rough)) - 1]), 1e-9)
            parts = (1.0 + rough / gap) ** -decay
        shares[places] = parts / parts.sum()
    return shares / len(groups) * variance * _EXPLAINED


def shared(
    smoothness: Sequence[float | None], families: Sequence[str], sizes: Array, error: float, classes: int
) -> Array:
    """The weight of each coordinate of variance one, the largest being one; 0 for those not worth it.

    For each of two rates of decay, the squared weights minimise Σ τ²N/(τ²p + N) over Σ p = 1, and
    their mean is taken. What a family without a graph is given is dealt in proportion to `sizes`, the
    variances that its coordinates have, so that rare levels do not make rows long.
    """
    variance = 1.0 if classes == 2 else 1.0 - 1.0 / classes
    rates = [_filled(expected(smoothness, families, sizes, decay, variance), error) for decay in _DECAYS]
    squares = np.mean(rates, axis=0)
    for places in _groups(families):
        if any(smoothness[int(at)] is None for at in places):
            squares[places] = squares[places].sum() * sizes[places] / sizes[places].sum()
    weights = np.sqrt(squares / squares.max())
    return np.where(weights < _LEAST, 0.0, weights)


def _groups(families: Sequence[str]) -> list[NDArray[np.intp]]:
    """The places of each family."""
    return [np.flatnonzero([one == family for one in families]) for family in dict.fromkeys(families)]


def _filled(signal: Array, error: float) -> Array:
    """Squared weights (level - N/τ²)₊, with the level at which they add up to one."""
    need = error / signal
    low, high = 0.0, 1.0 + float(need.min())
    for _ in range(_HALVINGS):
        level = (low + high) / 2
        low, high = (low, level) if np.maximum(0.0, level - need).sum() > 1.0 else (level, high)
    return np.maximum(0.0, high - need)
