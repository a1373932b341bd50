"""Public rows as vectors that distances make sense between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from suffice.core.column import Categorical, Column, Numeric
from suffice.core.errors import InputError, SchemaError
from suffice.core.recipe import Recipe
from suffice.sources.frame import batches, is_source
from suffice.sources.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suffice.core.protocols import Source

__all__ = ["Vectors"]

Array: TypeAlias = NDArray[np.float64]

_FAR = 6.0
_NARROW = 0.5
_PASSES = 12


@final
@dataclass(frozen=True, slots=True)
class Vectors:
    """How public columns of any type become one vector.

    Numbers are centred and divided by their standard deviation, at most 6 of which count, also where it
    is taken: a few values far out would else be all that a column tells. A level is
    1/√2 away from none, so that two levels differ by one; a missing value is a level of its own. The
    entries of a list column (an image, an embedding) share one unit already and stay as they are.
    """

    recipe: Recipe | None
    lists: tuple[tuple[str, int], ...]
    columns: tuple[str, ...]

    @classmethod
    def learn(
        cls, rows: object, columns: Sequence[str] | None = None, *, standardise: bool = True
    ) -> Vectors:
        """Centres, scales, levels and lengths of lists, from public rows."""
        source = as_source(rows)
        kept = tuple(source.schema.names) if columns is None else tuple(columns)
        for name in kept:
            if name not in source.schema.names:
                raise SchemaError.missing_column(name, source.schema.names)
        if not kept:
            raise InputError("There is no column to make features of. Name some: columns=[...].")
        kinds = {name: source.schema.field(name).type for name in kept}
        lists = tuple((name, _length(source, name, kinds[name])) for name in kept if _is_list(kinds[name]))
        plain = [name for name in kept if not _is_list(kinds[name])]
        recipe = None
        if plain:
            recipe = Recipe.learn(source, columns=plain, missing="indicate", unseen="other", intercept=False)
            recipe = Recipe(tuple(_open(column, standardise) for column in recipe.columns), intercept=False)
            recipe = _settled(recipe, source, plain) if standardise else recipe
        return cls(recipe, lists, kept)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the entries."""
        plain = () if self.recipe is None else self.recipe.names
        return (*plain, *(f"{name}[{at}]" for name, length in self.lists for at in range(length)))

    def apply(self, rows: object) -> NDArray[np.float32]:
        """The vectors of these rows, in their order."""
        parts = [self._batch(batch) for batch in batches(rows, self.columns, self.columns)]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.names)), np.float32)

    def _batch(self, batch: pa.RecordBatch) -> NDArray[np.float32]:
        plain = [] if self.recipe is None else [_encoded(self.recipe, batch)]
        found = [_listed(batch.column(name), name, length) for name, length in self.lists]
        return np.concatenate([*plain, *found], axis=1)


def as_source(rows: object) -> Source:
    """A source as it is, anything else as a table in memory."""
    return rows if is_source(rows) else Table(rows)


def _open(column: object, standardise: bool) -> Numeric | Categorical:  # noqa: FBT001
    """The learned column with a place for what later rows may hold: missing values and new levels."""
    if isinstance(column, Categorical):
        if column.missing == "indicate":
            return Categorical(column.name, column.levels, "indicate", "other")
        return Categorical(column.name, column.levels, "other", "other")
    if not isinstance(column, Numeric):
        raise InputError(f"A column of numbers or levels was expected, and got {column!r}.")
    scale = column.scale if standardise else 1.0
    return Numeric(column.name, column.centre, scale, "indicate")


def _settled(recipe: Recipe, source: Source, names: list[str]) -> Recipe:
    """The same recipe with centres and scales of the values as they count, until they stay."""
    for _ in range(_PASSES):
        count, total, squares = 0, np.zeros(recipe.dimension), np.zeros(recipe.dimension)
        for batch in batches(source, names, names):
            rows = _encoded(recipe, batch).astype(np.float64)
            count, total, squares = (
                count + len(rows),
                total + rows.sum(axis=0),
                squares + (rows**2).sum(axis=0),
            )
        middle = total / max(count, 1)
        spread = np.sqrt(np.maximum(squares / max(count, 1) - middle**2, 0.0))
        columns: list[Column] = []
        offset, moved = 0, False
        for column in recipe.columns:
            narrow = isinstance(column, Numeric) and 1e-9 < spread[offset] < _NARROW
            if isinstance(column, Numeric) and narrow:
                centre = float(f"{column.centre + middle[offset] * column.scale:.6g}")
                scale = float(f"{column.scale * spread[offset]:.6g}")
                columns.append(Numeric(column.name, centre, scale, column.missing))
            else:
                columns.append(column)
            moved, offset = moved or narrow, offset + column.width()
        if not moved:
            break
        recipe = Recipe(tuple(columns), intercept=False)
    return recipe


def _encoded(recipe: Recipe, batch: pa.RecordBatch) -> NDArray[np.float32]:
    out = np.zeros((batch.num_rows, recipe.dimension), np.float32)
    for part in recipe.encode(batch):
        codes = getattr(part, "codes", None)
        if codes is not None:
            present = np.flatnonzero(codes >= 0)
            out[present, part.offset + codes[present]] = np.sqrt(0.5)
            continue
        values = (np.asarray(part.values, np.float64) - part.centre) * part.inverse  # type: ignore[union-attr]
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise SchemaError.bad_value(
                part.source, row, f"{values[row]}", "Replace or remove infinite values."
            )
        out[:, part.offset] = np.clip(values, -_FAR, _FAR) if part.inverse != 1.0 else values  # type: ignore[union-attr]
    return out


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _length(source: Source, name: str, kind: pa.DataType) -> int:
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size)
    for batch in batches(source, (name,)):
        for value in batch.column(name):
            if value.is_valid:
                return len(value)
    raise SchemaError(f"Column {name!r} holds no list at all. Leave it out.")


def _listed(column: pa.Array, name: str, length: int) -> NDArray[np.float32]:
    flat = column.flatten()
    if column.null_count or len(flat) != length * len(column) or flat.null_count:
        raise SchemaError(
            f"Each row of {name!r} needs a list of {length} numbers, none missing. Fill them in first."
        )
    values = np.asarray(flat.cast(pa.float32()).to_numpy(zero_copy_only=False)).reshape(len(column), length)
    if not np.isfinite(values).all():
        raise SchemaError(f"Column {name!r} holds numbers that are not finite. Replace or remove them.")
    return values
