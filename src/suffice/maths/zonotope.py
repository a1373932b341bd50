"""Where mean operators live: zonotopes of feature rows, and the projection onto them.

A mean operator of labels (or of anything in [-1, 1]) lies in Z = {X's/m : s in [-1, 1]^m}; the class
means of K labels lie in Z_K = {(1/m) sum p_i (x) x_i : p_i in the simplex}. Neither is ever written
down: one pass over the rows gives the farthest point in a direction, and that is all the projection
asks of them (docs/proofs/zonotope.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from suffice.core.errors import InputError
from suffice.maths import kernels
from suffice.maths.even_pass import Rows, parts, row_blocks
from suffice.maths.piece import in_pieces

Array: TypeAlias = NDArray[np.float64]
Farthest: TypeAlias = Callable[[Array], Array]

_NOTHING = 1e-14


@final
@dataclass(frozen=True, slots=True)
class Zonotope:
    """Z = {X's/m : s in [-1, 1]^m}, by its farthest points."""

    X: Rows

    def __call__(self, u: Array) -> Array:
        """A point of Z farthest along u."""
        total, count = np.zeros(len(u)), 0
        for part in parts(self.X):
            total += _corner(part, u)
            count += len(part)
        return total / _some(count)

    def support(self, u: Array) -> float:
        """The support function (1/m) sum |<u, x_i>|."""
        return float(u @ self(u))


@final
@dataclass(frozen=True, slots=True)
class ClassZonotope:
    """Z_K = {(1/m) sum p_i (x) x_i : p_i in the simplex of K classes}, as K blocks one after another."""

    X: Rows
    classes: int

    def __call__(self, u: Array) -> Array:
        """A point of Z_K farthest along u."""
        directions = u.reshape(self.classes, -1)
        total, count = np.zeros_like(directions), 0
        for block in row_blocks(self.X):
            best = np.argmax(block @ directions.T, axis=1)
            total += (best == np.arange(self.classes)[:, None]).astype(np.float64) @ block
            count += len(block)
        return (total / _some(count)).ravel()

    def support(self, u: Array) -> float:
        """The support function (1/m) sum max_k <u_k, x_i>."""
        return float(u @ self(u))


@final
@dataclass(frozen=True, slots=True)
class Projection:
    """The point of a convex set nearest to a target.

    `point` is in the set. `gap` bounds from above how much its squared distance to the target,
    halved, exceeds the least one; it also bounds the squared distance of `point` to the true
    projection. `inside` means that no direction separates the target from the set at this gap, and
    then `point` is the target itself. `multiplier` is an outward normal of the set at `point`, in
    the given metric, zero inside. `converged` is False where `passes` ran out.
    """

    point: Array
    gap: float
    inside: bool
    multiplier: Array
    passes: int
    converged: bool


def project(
    target: Array,
    farthest: Farthest,
    *,
    metric: Array | None = None,
    radius: float | None = None,
    tolerance: float = 1e-8,
    max_passes: int = 500,
    until_separated: bool = False,
) -> Projection:
    """Project onto a convex set known by its farthest points, by the nearest point of growing simplices.

    The metric is a positive definite matrix M: what is minimised is (p - target)' M (p - target).
    It ends when the gap is at most `tolerance` times radius squared; without a radius (the largest
    length of a row, say), times the largest squared length of a point of the set that was met.
    With `until_separated` it also ends where a direction is found that separates the target from the
    set: all that then counts is that `inside` is False, which no more passes would change.
    """
    target = np.asarray(target, dtype=np.float64)
    if not np.isfinite(target).all():
        msg = "only a finite vector can be projected"
        raise InputError(msg)
    root = _root(metric, len(target))
    corners = farthest(_turned(root, target))[None, :]
    weights, passes = np.ones(1), 1
    size = _size(root, corners[0]) if radius is None else radius**2
    while True:
        point = weights @ corners
        offset = _lowered(root, point - target)
        fresh = farthest(-_turned(root, point - target))
        passes += 1
        size = max(size, _size(root, fresh)) if radius is None else size
        gap = max(0.0, float(offset @ _lowered(root, point - fresh)))
        separated = until_separated and float(offset @ offset) > gap
        if gap <= tolerance * size or passes >= max_passes or separated:
            break
        corners, weights = _nearest(np.vstack([corners, fresh]), np.append(weights, 0.0), target, root)
    converged = gap <= tolerance * size
    inside = converged and float(offset @ offset) <= gap
    if inside:
        return Projection(target.copy(), gap, inside, np.zeros_like(target), passes, converged)
    return Projection(point, gap, inside, -_turned(root, point - target), passes, converged)


def _corner(rows: NDArray[np.floating], u: Array) -> Array:
    """The sum of the rows, each with the sign of its product with u."""
    corners = in_pieces(len(rows), lambda piece: kernels.sign_pass(rows[piece], u)[1])
    return np.asarray(np.sum(corners, axis=0))


def _nearest(corners: Array, weights: Array, target: Array, root: Array | None) -> tuple[Array, Array]:
    """Move to the nearest point of the simplex of the corners, dropping those that carry no weight."""
    while True:
        wanted = _affine(_lowered(root, corners - target))
        low = wanted <= _NOTHING
        if not low.any():
            return corners, wanted
        share = min(1.0, float((weights[low] / np.maximum(weights[low] - wanted[low], _NOTHING**2)).min()))
        weights = (1.0 - share) * weights + share * wanted
        keep = weights > _NOTHING
        if keep.all():
            keep[int(np.argmin(weights))] = False
        corners, weights = corners[keep], weights[keep] / weights[keep].sum()


def _affine(offsets: Array) -> Array:
    """Weights, summing to one, of the shortest vector in the affine hull of the offsets."""
    if len(offsets) == 1:
        return np.ones(1)
    rest = np.linalg.lstsq((offsets[1:] - offsets[0]).T, -offsets[0], rcond=1e-13)[0]
    return np.append(1.0 - rest.sum(), rest)


def _root(metric: Array | None, width: int) -> Array | None:
    if metric is None:
        return None
    if np.shape(metric) != (width, width):
        msg = f"the metric must be a {width} by {width} matrix, got shape {np.shape(metric)}"
        raise InputError(msg)
    try:
        return np.asarray(np.linalg.cholesky(metric), dtype=np.float64)
    except np.linalg.LinAlgError as error:
        msg = "the metric must be symmetric and positive definite"
        raise InputError(msg) from error


def _lowered(root: Array | None, vectors: Array) -> Array:
    """Coordinates in which the metric is the Euclidean one."""
    return vectors if root is None else vectors @ root


def _turned(root: Array | None, vector: Array) -> Array:
    """The metric times the vector."""
    return vector if root is None else root @ (root.T @ vector)


def _size(root: Array | None, vector: Array) -> float:
    lowered = _lowered(root, vector)
    return float(lowered @ lowered)


def _some(count: int) -> int:
    if count == 0:
        msg = "there are no rows, so there is nothing to project onto"
        raise InputError(msg)
    return count
