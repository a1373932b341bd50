"""The leading eigenvectors of a large sparse operator, a block at a time.

A polynomial of the operator that is small on [-1, b] and grows beyond turns a block of random vectors
towards the eigenvectors above b (Chebyshev-filtered subspace iteration). Unlike the Lanczos recursion it
works on all vectors at once, so that its time goes into products of matrices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

if TYPE_CHECKING:
    from suffice.core.fold import Progress

__all__ = ["leading"]

Array: TypeAlias = NDArray[np.float64]

_FIRST, _DEGREE = 10, 16
_ROUNDS = 40
_DENSE = 600


def leading(
    operator: Any, count: int, *, seed: int, tolerance: float = 1e-3, progress: Progress | None = None
) -> tuple[Array, Array]:
    """The `count` largest eigenvalues of a symmetric operator with spectrum in [-1, 1], and vectors for them.

    It ends when operator·v differs from value·v by at most `tolerance` for every one of them; the error of
    a value is then of the order of its square. `progress` is told of each round.
    """
    nodes = operator.shape[0]
    wide = count + max(20, count // 4)
    if nodes <= max(_DENSE, 2 * wide):
        values, vectors = np.linalg.eigh(operator.toarray())
        return values[::-1][:count], vectors[:, ::-1][:, :count]
    block = np.random.default_rng(seed).standard_normal((nodes, wide))
    edge, degree = 0.0, _FIRST
    for done in range(1, _ROUNDS + 1):
        block = _orthonormal(_filtered(operator, block, edge, degree))
        image = operator @ block
        values, turn = np.linalg.eigh(block.T @ image)
        values, turn = values[::-1], np.ascontiguousarray(turn[:, ::-1])
        block, image = block @ turn, image @ turn
        rest = image[:, :count] - block[:, :count] * values[:count]
        if progress is not None:
            progress(done, None)
        if float(np.sqrt(np.square(rest).sum(axis=0).max())) <= tolerance:
            break
        edge, degree = min(max(edge, float(values[-1])), 0.999), _DEGREE
    return values[:count], block[:, :count]


def _filtered(operator: Any, block: Array, edge: float, degree: int) -> Array:
    """The Chebyshev polynomial of this degree that stays within ±1 on [-1, edge], column by column."""
    centre, half = (edge - 1.0) / 2.0, (edge + 1.0) / 2.0
    before, now = block, (operator @ block - centre * block) / half
    for _ in range(degree - 1):
        after = operator @ now
        after -= centre * now
        after *= 2.0 / half
        after -= before
        before, now = now, after
    return np.asarray(now / np.maximum(np.abs(now).max(axis=0), 1e-300))


def _orthonormal(block: Array) -> Array:
    """An orthonormal basis of the same space: Cholesky of its products twice, or the QR of the block."""
    for _ in range(2):
        try:
            lower = cholesky(block.T @ block, lower=True)
        except LinAlgError:
            return np.asarray(np.linalg.qr(block)[0])
        if np.diag(lower).min() < 1e-6 * np.diag(lower).max():
            return np.asarray(np.linalg.qr(block)[0])
        block = np.ascontiguousarray(solve_triangular(lower, block.T, lower=True).T)
    return block
