"""A release: what leaves the owner's side, and all that a reader may know about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np

from suffice.core.moments import Block, Dense, Diagonal, Isotropic, Moments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from suffice.core.bounds import Bound, Sensitivity
    from suffice.core.guarantees import Guarantee
    from suffice.core.laws import Law
    from suffice.core.receipt import Receipt
    from suffice.core.recipe import Recipe
    from suffice.core.witness import Witness

__all__ = ["FORMAT", "Grid", "Release"]

FORMAT = 1


@final
@dataclass(frozen=True, slots=True)
class Grid:
    """The integer grid: `bits` after the point, and the radius of the rows in grid units."""

    bits: int
    radius: int | None = None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """A noisy statistic with its guarantee, its noise law, and the public facts that tie it to rows.

    `values` are whole numbers of grid units where there is a grid. `about` holds further public
    facts of this kind of statistic, such as the label's name and its classes. A release has no
    length and no items: one aggregate cannot be cut into folds.
    """

    kind: str
    values: NDArray[Any]
    names: tuple[str, ...]
    recipe: Recipe | None
    bound: Bound | None
    grid: Grid | None
    sensitivity: Sensitivity | None
    witness: Witness | None
    law: Law | None
    guarantee: Guarantee
    receipt: Receipt | None
    made_by: str
    about: dict[str, Any] = field(default_factory=dict)
    format: int = FORMAT

    def __eq__(self, other: object) -> bool:
        """Equal in every field, values included."""
        if not isinstance(other, Release):
            return NotImplemented
        same = all(
            getattr(self, name) == getattr(other, name) for name in Release.__dataclass_fields__ if name != "values"
        )
        return same and self.values.dtype == other.values.dtype and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, *_: object, **__: object) -> NoReturn:
        """Refuse to become an array, with the sentence that every splitter then shows."""
        raise TypeError(
            "A release is one aggregate of all rows, so it cannot be cut into folds, resampled or scored row by "
            "row: the same noise would be in training and test. Fit on it whole; choose the strength with "
            "alpha='noise', or compare settings with suffice.tune, which needs no labels and spends nothing."
        )
