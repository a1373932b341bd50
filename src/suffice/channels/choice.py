"""Which channel has the least error for given truths, by its exact predicted variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from suffice.channels.coordinate_release import CoordinateRelease
from suffice.channels.duchi import DuchiL2, DuchiLinf
from suffice.channels.interval import whole
from suffice.channels.label import Label
from suffice.channels.per_value import PerValue
from suffice.channels.privunit import PrivUnit
from suffice.channels.randomized_response import RandomizedResponse
from suffice.channels.subset_selection import SubsetSelection
from suffice.channels.unary import OptimisedUnary, SymmetricUnary
from suffice.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Choice", "best", "best_for_labels", "crossover"]


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen channel, its predicted variance, and that of every candidate by name, the least first."""

    channel: Any
    variance: float
    compared: tuple[tuple[str, float], ...]

    def __str__(self) -> str:
        """One line."""
        listed = ", ".join(f"{name} {variance:.4g}" for name, variance in self.compared)
        return f"{type(self.channel).__name__}: total variance of one unbiased answer {listed}"


def best_for_labels(labels: Sequence[Label], *, epsilon: float) -> Choice:
    """The channel for one of these labels whose estimate of all their frequencies has the least variance."""
    known = tuple(labels)
    made = (RandomizedResponse(known, epsilon=epsilon), *_encodings(known, epsilon))
    return _least([(one, one.variance()) for one in made])


def best(
    dimension: int,
    *,
    epsilon: float,
    norm: Literal[2, "inf", "ones"] = 2,
    radius: float = 1.0,
    ones: int | None = None,
) -> Choice:
    """The channel for vectors of this geometry with the least variance at its extreme points.

    `norm=2`: vectors of length at most `radius`. `norm="inf"`: coordinates from -radius to radius.
    `norm="ones"`: coordinates from 0 to radius, at most `ones` of them above 0.
    """
    whole("dimension", dimension)
    if norm == "ones":
        return _best_of_ones(dimension, epsilon, radius, dimension if ones is None else whole("ones", ones))
    if norm not in {2, "inf"} or ones is not None:
        raise InputError("norm= is 2, 'inf', or 'ones' with ones=.")
    far = np.zeros(dimension)
    far[: 1 if norm == 2 else dimension] = radius
    length = float(np.linalg.norm(far))
    boxed: list[Any] = [
        CoordinateRelease(dimension, epsilon, lower=-radius, upper=radius),
        PerValue(dimension, epsilon, lower=-radius, upper=radius),
    ]
    round_: list[Any] = [DuchiL2(dimension, epsilon, length)]
    round_ += [PrivUnit(dimension, epsilon, length)] if dimension > 1 else []
    round_ += [DuchiLinf(dimension, epsilon, radius)] if norm == "inf" else []
    return _least(
        [(one, float(np.trace(one.covariance(far)))) for one in boxed]
        + [(one, one.variance()) for one in round_]
    )


def crossover(dimension: int, *, epsilon: float) -> int:
    """The fewest ones in a vector of zeros and ones at which one coordinate beats all of them at once.

    About √dimension / 2 for small epsilon; one more than the dimension where it never does.
    """
    for ones in range(1, dimension + 1):
        if isinstance(_best_of_ones(dimension, epsilon, 1.0, ones).channel, CoordinateRelease):
            return ones
    return dimension + 1


def _best_of_ones(dimension: int, epsilon: float, radius: float, ones: int) -> Choice:
    far = np.zeros(dimension)
    far[:ones] = radius
    single = CoordinateRelease(dimension, epsilon, upper=radius)
    every = PerValue(dimension, epsilon, upper=radius, ones=ones)
    return _least([(one, float(np.trace(one.covariance(far)))) for one in (single, every)])


def _encodings(labels: tuple[Label, ...], epsilon: float) -> tuple[Any, ...]:
    return (
        SymmetricUnary(labels, epsilon),
        OptimisedUnary(labels, epsilon),
        SubsetSelection(labels, epsilon),
    )


def _least(candidates: list[tuple[Any, float]]) -> Choice:
    ordered = sorted(candidates, key=lambda one: one[1])
    compared = tuple((type(one).__name__, variance) for one, variance in ordered)
    return Choice(ordered[0][0], ordered[0][1], compared)
