"""Project the means of K classes onto where labels could have put them.

The nearest point of Z_K = {(1/m) Σ p_i ⊗ x_i : p_i in the simplex} to a target v is approached from
inside by softmax fits of v whose penalty goes to nothing: at penalty (τ/2)‖θ‖² the class means of the
fitted probabilities are in Z_K, and no farther than τ·log K from the best in half the squared distance
(docs/proofs/class_projection.md).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from suffice.core.errors import InputError
from suffice.maths.conjugate import conjugate
from suffice.maths.even_pass import row_blocks
from suffice.maths.softmax import Place, SoftmaxObjective, minimise_softmax

Array: TypeAlias = NDArray[np.float64]

__all__ = ["ClassProjection", "free_fit", "project_classes"]

_COOLING = 4.0
_COLDEST = 1e-13
_BEYOND = 4.0
_ATTEMPTS = 4
_PRODUCTS = 250
_EXACT = 1e-11


@final
@dataclass(frozen=True, slots=True)
class ClassProjection:
    """The point of Z_K nearest to class means, one row per class.

    `point` is in Z_K, and `gap` bounds from above how much half its squared distance to the target
    exceeds the least one; it bounds the squared distance of `point` to the true projection too.
    `inside` is said only where probabilities of the rows were found that give the target itself, to
    rounding: then `point` is the target and `theta` the softmax fit without a penalty, which exists.
    Elsewhere `theta` is the softmax fit of `point`. `fits` says how many penalties were gone through.
    """

    point: Array
    gap: float
    inside: bool
    theta: Array
    fits: int
    converged: bool


def project_classes(
    rows: Array,
    means: Array,
    *,
    tolerance: float = 1e-4,
    weights: Array | None = None,
    start: Array | None = None,
    until_separated: bool = False,
) -> ClassProjection:
    """Project, until the gap is at most `tolerance` times the squared length of the longest row.

    The share of the target in which the blocks do not add up to the mean of the rows is removed first:
    all of Z_K adds up to it. Where it is not yet known whether the target is inside, the search goes
    on to a quarter of the gap. From a fit to start with, a target that is inside may be found at once.
    With `until_separated` it ends where a direction is found that separates the target from Z_K.
    """
    means = np.asarray(means, dtype=np.float64)
    if not np.isfinite(means).all():
        msg = "only finite class means can be projected"
        raise InputError(msg)
    radius = _radius(rows, weights)
    excess = _excess(rows, means, weights)
    free = SoftmaxObjective(rows, means - excess / len(means), weights=weights)
    whole = float(np.abs(excess).max()) <= 1e-9 * radius
    inner = None if start is None or not whole else _within(free, free.at(start), radius)[0]
    if inner is not None:
        return ClassProjection(means.copy(), 0.0, True, inner, 0, True)
    theta, heat, attempt = np.zeros_like(means), 1.0, 1.0 if whole else 0.0
    for fits in itertools.count(1):
        theta = _fit(free, heat, theta, radius)
        place = free.at(theta)
        away = -place.gradient
        gap = max(0.0, _support(rows, away, weights) - float((away * (free.means - away)).sum()))
        outside = float((away * away).sum()) > gap
        if heat <= attempt and not outside:
            inner, drop = _within(free, place, radius)
            if inner is not None:
                return ClassProjection(means.copy(), 0.0, True, inner, fits, True)
            attempt = heat * min(1.0, 2.0 / drop)  # a step to no penalty shrinks with it, if it ends
        enough = tolerance * radius**2 / (1.0 if outside or not whole else _BEYOND)
        if gap <= enough or heat < _COLDEST or (until_separated and outside):
            break
        heat /= _COOLING
    return ClassProjection(free.means - away, gap, False, theta, fits, gap <= tolerance * radius**2)


def _fit(free: SoftmaxObjective, heat: float, start: Array, radius: float) -> Array:
    """The softmax fit of the target under a penalty, in squared longest rows."""
    alpha, near = heat * radius**2 / 2.0, 0.1 * heat * radius
    return minimise_softmax(
        free.X, free.means, alpha=alpha, weights=free.weights, start=start, tolerance=near
    ).theta


def free_fit(rows: Array, means: Array, start: Array, weights: Array | None = None) -> Array | None:
    """The softmax fit without a penalty, where it can be proven to exist; None elsewhere."""
    found = minimise_softmax(
        rows, means, weights=weights, start=start, tolerance=1e-6 * _radius(rows, weights), max_iterations=30
    )
    free = SoftmaxObjective(rows, np.asarray(means, dtype=np.float64), weights=weights)
    return _within(free, free.at(found.theta), _radius(rows, weights))[0]


def _within(free: SoftmaxObjective, place: Place, radius: float) -> tuple[Array | None, float]:
    """The fit without a penalty, where Newton steps reach it and prove that it exists; else None.

    With it comes the most that a probability falls at the last step, as a share of itself.

    A step s turns probabilities p_k into p_k·(1 + <s_k, x> - Σ p_l <s_l, x>) to first order. Where
    every factor is positive for all rows these are probabilities, and where the step solves the Newton
    equation they give the target.
    """
    drop = np.inf
    for _ in range(_ATTEMPTS):
        size = float(np.linalg.norm(place.gradient))
        near = free.preconditioner(place)
        for enough in (max(0.1 * size, _EXACT * radius), _EXACT * radius):
            step = conjugate(
                lambda along, at=place: free.curvature(at, along),  # type: ignore[misc]
                place.gradient,
                near,
                enough,
                _PRODUCTS,
            )
            drop = _drop(free.X, place.theta, step)
            if drop >= 1.0:
                break
            if float(np.linalg.norm(place.gradient + free.curvature(place, step))) <= 10 * _EXACT * radius:
                return _settled(free, place.theta + step, radius), drop
        if drop > 2.0:
            break
        place = free.at(place.theta + step)
        if float(np.linalg.norm(place.gradient)) > 0.5 * size:
            break
    return None, drop


def _settled(free: SoftmaxObjective, theta: Array, radius: float) -> Array:
    return minimise_softmax(
        free.X, free.means, weights=free.weights, start=theta, tolerance=_EXACT * radius, max_iterations=10
    ).theta


def _drop(rows: Array, theta: Array, step: Array) -> float:
    """The most that a probability of a row falls to first order, as a share of itself."""
    most = 0.0
    for block in row_blocks(rows):
        scores, moved = theta @ block.T, step @ block.T
        chance = np.exp(scores - scores.max(axis=0))
        chance /= chance.sum(axis=0)
        most = max(most, float(((chance * moved).sum(axis=0) - moved.min(axis=0)).max()))
    return most


def _support(rows: Array, u: Array, weights: Array | None) -> float:
    """The support function (1/m) Σ w_i max_k <u_k, x_i> of Z_K."""
    total, start = 0.0, 0
    for block in row_blocks(rows):
        best = (u @ block.T).max(axis=0)
        total += float(best.sum() if weights is None else best @ weights[start : start + len(block)])
        start += len(block)
    return total / start


def _radius(rows: Array, weights: Array | None) -> float:
    if len(rows) == 0:
        msg = "there are no rows, so there is nothing to project onto"
        raise InputError(msg)
    squares = np.einsum("ij,ij->i", rows, rows)
    if weights is not None:
        squares = squares * weights**2
    return float(np.sqrt(squares.max())) or 1.0


def _excess(rows: Array, means: Array, weights: Array | None) -> Array:
    """By how much the blocks together exceed the mean of the rows."""
    centre = rows.mean(axis=0) if weights is None else weights @ rows / len(rows)
    return np.asarray(means.sum(axis=0) - centre, dtype=np.float64)
