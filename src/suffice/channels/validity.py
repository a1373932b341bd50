"""Whether noise is spread noise: whether the law of the answers determines the law of the truths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from suffice.channels.gaussian_spread import GaussianSpread
from suffice.channels.together import Together
from suffice.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Validity", "check_map", "validity", "validity_of_kernel", "validity_of_matrix"]

_RELATIVE = 1e-9
_DIP = 1e-3


@final
@dataclass(frozen=True, slots=True)
class Validity:
    """Whether no two laws of truths give the same law of answers, and why."""

    valid: bool
    why: str


def validity(channel: Any) -> Validity:
    """Decide for a channel: the rank of its matrix, or the Fourier transform of its kernel."""
    if isinstance(channel, Together):
        parts = [validity(part) for part in channel.channels]
        return next((part for part in parts if not part.valid), parts[0])
    if isinstance(channel, GaussianSpread):
        return Validity(True, "the Fourier transform of a normal kernel is positive everywhere")
    if hasattr(channel, "matrix"):
        return validity_of_matrix(channel.matrix())
    raise InputError(
        f"A {type(channel).__name__} has neither a matrix nor a kernel here. Give its matrix to "
        "validity_of_matrix, or the Fourier transform of its kernel to validity_of_kernel."
    )


def validity_of_matrix(matrix: ArrayLike) -> Validity:
    """Discrete truths: the rows of the matrix, one per truth, must be linearly independent.

    A square matrix or positive entries are not needed: unary encodings have more answers than truths.
    """
    law = np.asarray(matrix, dtype=np.float64)
    values = np.linalg.svd(law, compute_uv=False)
    rank = int((values > _RELATIVE * values[0]).sum())
    if rank == len(law):
        return Validity(True, f"the {len(law)} rows are independent; condition {values[0] / values[-1]:.4g}")
    return Validity(
        False, f"the matrix has {len(law)} rows and rank {rank}: some truths cannot be told apart"
    )


def validity_of_kernel(
    fourier: Callable[[NDArray[np.float64]], ArrayLike], *, highest: float = 50.0, steps: int = 20_001
) -> Validity:
    """Continuous truths: the Fourier transform of the kernel must be positive everywhere.

    Looked at on a grid of frequencies up to `highest`; a dip far below what follows is taken for a zero.
    """
    seen = np.asarray(fourier(np.linspace(0.0, highest, steps)), dtype=np.float64)
    later = np.maximum.accumulate(seen[::-1])[::-1]
    wrong = (seen <= _DIP * later) & (later > _RELATIVE * seen[0])
    if (seen < -_RELATIVE * seen[0]).any() or wrong.any():
        bad = wrong | (seen < -_RELATIVE * seen[0])
        at = highest * int(np.argmax(bad)) / (steps - 1)
        return Validity(False, f"the kernel's Fourier transform is not positive at frequency {at:.4g}")
    return Validity(True, f"the kernel's Fourier transform is positive up to frequency {highest:g}")


def check_map(matrix: ArrayLike) -> None:
    """Refuse a linear map of the truth, such as downsampling, that gives two truths one image."""
    rows = np.asarray(matrix, dtype=np.float64)
    rank = int(np.linalg.matrix_rank(rows))
    if rank < rows.shape[1]:
        raise InputError(
            f"This map keeps {rank} of {rows.shape[1]} directions, so it is no spread noise: two truths that "
            "differ in the others give the same answers, whatever their number, and noise after it does not "
            "mend that. Nor is it protection: what it keeps it shows. Add noise to every coordinate "
            "instead, or model the reduced vectors themselves."
        )
