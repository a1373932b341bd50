"""Rows as vectors of doubles, to be predicted from: neither shortened nor rounded to the grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suffice.core.column import Coded
from suffice.core.recipe import unusable
from suffice.sources.frame import batches

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from suffice.core.column import Measured
    from suffice.core.recipe import Recipe

__all__ = ["unrounded"]


def unrounded(X: object, recipe: Recipe) -> NDArray[np.float64]:
    """The vectors of rows under a recipe. A number may lie beyond the grid here, but must be one."""
    whole = [_rows(batch, recipe) for batch in batches(X, recipe.reads(), recipe.reads())]
    return np.concatenate(whole) if whole else np.zeros((0, recipe.dimension))


def _rows(batch: pa.RecordBatch, recipe: Recipe) -> NDArray[np.float64]:
    rows = np.zeros((batch.num_rows, recipe.dimension))
    for part in recipe.encode(batch):
        if isinstance(part, Coded):
            present = np.flatnonzero(part.codes >= 0)
            rows[present, part.offset + part.codes[present]] = 1.0
        else:
            rows[:, part.offset] = _scaled(part)
    rows /= np.sqrt(recipe.dimension)
    return rows


def _scaled(part: Measured) -> NDArray[np.float64]:
    values = part.values.astype(np.float64)
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(np.argmax(bad))
        raise unusable(part, row, float(values[row]))
    return np.asarray((values - part.centre) * part.inverse)
