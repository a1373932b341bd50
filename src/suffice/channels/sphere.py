"""Directions on the sphere: drawn, measured, and turned towards a vector of a bounded length."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.channels.dyadic import WHOLE, events
from suffice.core.errors import BoundsError, InputError
from suffice.core.randomness import octets

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["checked", "directions", "mean_height", "signed", "towards", "unit_rows"]

_SLACK = 1e-9


def directions(rows: int, dimension: int) -> NDArray[np.float64]:
    """Independent directions, uniform on the sphere up to the precision of doubles.

    Normal numbers by Box and Muller from 64 fresh bits each, divided by their length.
    """
    pairs = (dimension + 1) // 2
    fresh = np.frombuffer(octets(16 * rows * pairs), dtype=np.uint64).reshape(2, rows, pairs)
    uniform = (fresh.astype(np.float64) + 0.5) * 2.0**-64
    radius, angle = np.sqrt(-2 * np.log(uniform[0])), 2 * math.pi * uniform[1]
    normal = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)[:, :dimension]
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    return np.asarray(normal / np.where(length > 0, length, 1.0))


def mean_height(dimension: int) -> float:
    """The mean of the absolute value of one coordinate of a uniform direction."""
    half = dimension / 2
    return math.exp(math.lgamma(half) - math.lgamma(half + 0.5)) / math.sqrt(math.pi)


def checked(truth: Any, dimension: int, radius: float) -> NDArray[np.float64]:
    """The vectors in units of the radius; a longer one is refused, and one that is longer by rounding cut."""
    rows = np.asarray(truth, dtype=np.float64)
    if rows.ndim == 0 or rows.shape[-1] != dimension:
        raise InputError(f"A truth is a vector of {dimension} numbers, and got shape {rows.shape}.")
    scaled = rows / radius
    length = np.linalg.norm(scaled, axis=-1, keepdims=True)
    if not (length <= 1 + _SLACK).all():
        raise BoundsError(
            f"A truth is at most {radius:g} long, and got {float(length.max()) * radius:g}. Shorten it, or "
            "state a larger radius=."
        )
    return np.asarray(scaled / np.maximum(length, 1.0))


def towards(scaled: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The direction of each vector (the first axis for zero), and the chance of its side.

    A direction taken with this chance, and its opposite otherwise, has the vector as its mean.
    """
    length = np.linalg.norm(scaled, axis=-1, keepdims=True)
    first = np.zeros(scaled.shape[-1])
    first[0] = 1.0
    unit = np.where(length > 0, scaled / np.where(length > 0, length, 1.0), first)
    return unit, np.floor((1 + np.minimum(length[..., 0], 1.0)) / 2 * WHOLE) / WHOLE


def signed(scaled: NDArray[np.float64]) -> NDArray[np.float64]:
    """A unit vector for each, at random its direction or the opposite, with the vector as its mean."""
    unit, chance = towards(scaled)
    ahead = events((chance * WHOLE).astype(np.uint64))
    return np.asarray(np.where(ahead[..., None], unit, -unit))


def unit_rows(answer: Any, dimension: int) -> NDArray[np.float64]:
    """The answers as unit vectors; anything else is refused."""
    rows = np.asarray(answer, dtype=np.float64)
    if rows.ndim == 0 or rows.shape[-1] != dimension:
        raise InputError(f"An answer is a unit vector of {dimension} numbers, and got shape {rows.shape}.")
    if not (np.abs(np.linalg.norm(rows, axis=-1) - 1) <= _SLACK).all():
        raise InputError("An answer is a vector of length 1, and one of these is not.")
    return rows
