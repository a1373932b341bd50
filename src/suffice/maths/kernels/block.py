"""What the kernels over whole matrices are given: rows of floats, edges, subsets and keys, checked."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.core.errors import InputError
from suffice.maths.kernels.plan import LIMIT

__all__ = ["EVEN", "STRIPE", "EvenLoss"]

EvenLoss: TypeAlias = Literal["logistic", "square", "matsushita", "modified_huber"]
EVEN: tuple[EvenLoss, ...] = ("logistic", "square", "matsushita", "modified_huber")
STRIPE = 32

Vector: TypeAlias = NDArray[np.float64]


def check_rows(
    X: NDArray[Any], theta: NDArray[Any], weights: NDArray[Any] | None
) -> tuple[NDArray[Any], Vector, Vector | None]:
    """Rows of float32 or float64 with each row side by side; the vectors as float64."""
    rows = X if X.dtype in (np.float32, np.float64) and X.dtype.isnative else np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or theta.shape != (rows.shape[1],) or len(theta) == 0:
        raise InputError(f"rows of {theta.shape} numbers were expected, got an array of shape {rows.shape}")
    if weights is not None and weights.shape != (len(rows),):
        raise InputError(f"one weight per row is needed: {len(rows)} rows, weights of shape {weights.shape}")
    if rows.strides[1] != rows.itemsize or rows.strides[0] < rows.shape[1] * rows.itemsize:
        rows = np.ascontiguousarray(rows)
    told = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    return rows, np.ascontiguousarray(theta, dtype=np.float64), told


def check_loss(loss: str) -> int:
    """The place of a loss among those that have a kernel."""
    if loss not in EVEN:
        raise InputError(f"there is a kernel for {', '.join(EVEN)}, got {loss!r}")
    return EVEN.index(loss)


def check_subsets(
    edges: NDArray[np.int32], count: int, subsets: NDArray[np.uint32] | None, key: bytes | None
) -> None:
    """Edges are int32 rows within the limit; subsets are given word by word, or by a key, not both."""
    stripes = -(-len(edges) // STRIPE)
    if edges.ndim != 2 or edges.dtype != np.int32 or edges.shape[1] == 0:
        raise InputError(f"edges are rows of int32, got {edges.dtype} of shape {edges.shape}")
    if count < 1:
        raise InputError(f"at least one rado is asked for, got {count}")
    if (subsets is None) == (key is None):
        raise InputError("state either the subsets or a key")
    if subsets is not None and (subsets.dtype != np.uint32 or subsets.shape != (stripes, count)):
        raise InputError(
            f"subsets are uint32 of shape {(stripes, count)}, got {subsets.dtype} {subsets.shape}"
        )
    if key is not None:
        check_key(key)


def check_key(key: bytes) -> None:
    """A key of ChaCha20 has 32 bytes."""
    if len(key) != 32:
        raise InputError(f"a key has 32 bytes, got {len(key)}")


def edge_too_large() -> InputError:
    """What is said of an edge beyond the limit."""
    return InputError(f"edges lie within {LIMIT} grid units; a larger one would overflow its table")
