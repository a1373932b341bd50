"""Batches to integer rows: the recipe's columns handed to the kernels where they lie."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar, final

import numpy as np

from suffice.core.column import Coded
from suffice.core.errors import SchemaError
from suffice.core.recipe import unusable
from suffice.maths import kernels
from suffice.maths.kernels import Column, Levels, Number, Offence, Plan, Vectors

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from suffice.core.bounds import Norm
    from suffice.core.column import Measured
    from suffice.core.recipe import Recipe

__all__ = ["Encoder"]

Found = TypeVar("Found")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """What the rows of one batch add up to, and how far they reach."""

    totals: NDArray[np.int64]
    count: int
    feature_sum: NDArray[np.int64]
    fingerprint: tuple[int, int]
    reach: tuple[int, int, int]


@final
@dataclass(frozen=True, slots=True)
class Encoder:
    """A recipe on a grid of `bits`; every method reads one batch and raises for a row it cannot encode.

    A number beyond the grid is such a row where rows are public. Where they are protected it is
    moved to the edge, for then a refusal would tell of it.
    """

    recipe: Recipe
    bits: int
    saturate: bool = False

    def rows(self, batch: pa.RecordBatch, norm: Norm, radius: int | None = None) -> NDArray[np.int32]:
        """The rows as integers, shortened to the radius if there is one."""
        encoded = self.recipe.encode(batch)
        return _checked(kernels.encode(self._plan(encoded), _columns(encoded), radius, norm), encoded)

    def vectors(self, batch: pa.RecordBatch, norm: Norm, radius: int) -> Vectors:
        """The shortened rows in units of the recipe, as float32, and the witness of these rows."""
        encoded = self.recipe.encode(batch)
        plan, columns, scale = self._plan(encoded), _columns(encoded), 2.0**-self.bits
        return _checked(kernels.vectors(plan, columns, radius=radius, norm=norm, scale=scale), encoded)

    def norms(self, batch: pa.RecordBatch, norm: Norm) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """The integer norm and the public hash of every row."""
        encoded = self.recipe.encode(batch)
        return _checked(kernels.row_norms(self._plan(encoded), _columns(encoded), norm), encoded)

    def sums(
        self, batch: pa.RecordBatch, labels: NDArray[np.int8], norm: Norm, radius: int, classes: int | None
    ) -> Batch:
        """The shortened rows times their sign, or by class, and the public facts of these rows."""
        encoded = self.recipe.encode(batch)
        plan, columns = self._plan(encoded), _columns(encoded)
        found = _checked(
            kernels.mean_fold(plan, columns, labels, radius=radius, norm=norm, classes=classes), encoded
        )
        if found.feature_sum is None or found.fingerprint is None:
            raise SchemaError("The pass over rows left no witness.")
        return Batch(found.totals, found.count, found.feature_sum, found.fingerprint, found.reach)

    def _plan(self, encoded: list[Measured | Coded]) -> Plan:
        parts = tuple(
            (part.offset, part.width) if isinstance(part, Coded) else (part.offset, part.centre, part.inverse)
            for part in encoded
            if part.source != "intercept"
        )
        dimension = self.recipe.dimension
        intercept = dimension - 1 if self.recipe.intercept else None
        return _plan(parts, dimension, self.recipe.unit(self.bits), intercept, self.saturate)


@lru_cache(maxsize=64)
def _plan(
    parts: tuple[tuple[int, int] | tuple[int, float, float], ...],
    dimension: int,
    unit: float,
    intercept: int | None,
    saturate: bool,  # noqa: FBT001
) -> Plan:
    """The same for every batch of a source, and not quick to check."""
    told = tuple(Levels(*part) if len(part) == 2 else Number(*part) for part in parts)
    return Plan(told, dimension, unit, intercept, saturate)


def _columns(encoded: list[Measured | Coded]) -> list[Column]:
    return [
        Column(part.codes if isinstance(part, Coded) else part.values)
        for part in encoded
        if part.source != "intercept"
    ]


def _checked(found: Found | Offence, encoded: list[Measured | Coded]) -> Found:
    """What the kernel found, or the error for the first row that it could not encode."""
    if not isinstance(found, Offence):
        return found
    if found.column >= len(encoded):
        raise SchemaError.bad_value("label", found.row, "a value outside the classes", "State the classes.")
    part = encoded[found.column]
    values = part.codes if isinstance(part, Coded) else part.values
    value = float(values[found.row])
    raise (
        SchemaError.bad_value(part.source, found.row, f"the code {value:g}", "The recipe has no such level.")
        if isinstance(part, Coded)
        else unusable(part, found.row, value)
    )
