"""A public feature table: keyed rows of single-precision coordinates that say what they were made of."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from suffice.core.column import Numeric
from suffice.core.errors import InputError, SchemaError
from suffice.core.recipe import Recipe
from suffice.features.weight import noise, shared
from suffice.releases import file
from suffice.sources.feature import METADATA, Features, Passport, fingerprint
from suffice.sources.frame import batches, to_arrow
from suffice.sources.key import Keys, key_kind

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from suffice.core.protocols import Additive

__all__ = ["FeatureTable"]

_GROUP = 1 << 15
_GRID = 12.0


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FeatureTable:
    """Coordinates of public rows by key, with what they were made of.

    `smoothness` holds the eigenvalue of each coordinate that belongs to a graph, and None for others.
    Names end in a number; what stands before it is the coordinate's family.
    """

    key: str
    keys: pa.Array
    names: tuple[str, ...]
    values: NDArray[np.float32]
    smoothness: tuple[float | None, ...]
    provenance: str

    def __post_init__(self) -> None:
        """Refuse keys, names and numbers that a table cannot hold."""
        put = object.__setattr__
        put(self, "names", tuple(self.names))
        put(self, "smoothness", tuple(None if one is None else float(one) for one in self.smoothness))
        put(self, "values", np.ascontiguousarray(self.values, dtype=np.float32))
        shape = (len(self.keys), len(self.names))
        if self.values.shape != shape or len(self.smoothness) != shape[1]:
            raise InputError(
                f"A table of {shape[0]} keys and {shape[1]} names holds {shape} numbers and a smoothness for "
                f"each name, and got {self.values.shape} and {len(self.smoothness)}."
            )
        if len(set(self.names)) != len(self.names) or self.key in self.names:
            raise InputError("Each coordinate needs a name of its own, and none that of the key.")
        if key_kind(self.keys.type) is None:
            raise SchemaError(
                f"The key {self.key!r} holds {self.keys.type}; use whole numbers, texts or dates."
            )
        Keys.of(pa.chunked_array([self.keys]), self.key)
        if not np.isfinite(self.values).all():
            row = int(np.argmin(np.isfinite(self.values).all(axis=1)))
            remedy = "A transformer made it; check it."
            raise SchemaError.bad_value("features", row, "no finite number", remedy)
        if not isinstance(self.provenance, str) or not self.provenance.strip():
            raise InputError("A feature table says what it was made of: provenance='what and how'.")

    def __repr__(self) -> str:
        """Size and provenance."""
        return f"FeatureTable({len(self.keys)} rows, {len(self.names)} coordinates: {self.provenance})"

    @property
    def fingerprint(self) -> str:
        """64 hexadecimal digits, the same in whatever order the rows stand."""
        pieces = [(self.keys, self.values)]
        return fingerprint(self.key, self.names, self.provenance, self.smoothness, pieces)

    @property
    def families(self) -> tuple[str, ...]:
        """The family of each coordinate."""
        return tuple(name.rstrip("0123456789") for name in self.names)

    def beside(self, other: FeatureTable) -> FeatureTable:
        """The coordinates of both tables, for the rows of this one, which the other must have too."""
        if other.key != self.key:
            raise InputError(f"The keys of the two tables are {self.key!r} and {other.key!r}. Use one key.")
        rows = Keys.of(pa.chunked_array([other.keys]), self.key).rows(self.keys, self.key)
        if len(rows) != len(other.keys) or (rows < 0).any():
            raise InputError("The two tables hold different rows. Make both from the same ones.")
        return FeatureTable(
            self.key,
            self.keys,
            (*self.names, *other.names),
            np.concatenate([self.values, other.values[rows]], axis=1),
            (*self.smoothness, *other.smoothness),
            "; ".join(dict.fromkeys((self.provenance, other.provenance))),
        )

    def recipe(
        self, mechanism: Additive, *, classes: int = 2, weights: Literal["auto", "equal"] = "auto"
    ) -> Recipe:
        """How these coordinates become a vector for a release through this mechanism.

        "auto" gives each coordinate a share of the noise that depends on its smoothness, its family, the
        number of rows, the number of classes and the law of the noise, and leaves out those not worth
        it. All of that is public. "equal" weighs all alike.
        """
        if weights not in {"auto", "equal"}:
            raise InputError(f"weights= is 'auto' or 'equal', and got {weights!r}.")
        centre = self.values.mean(axis=0, dtype=np.float64)
        spread = self.values.std(axis=0, dtype=np.float64)
        chosen = np.ones(len(self.names))
        if weights == "auto":
            error = noise(mechanism, len(self.keys), len(self.names), classes)
            chosen = shared(self.smoothness, self.families, np.square(spread), error, classes)
        kept = np.flatnonzero((chosen > 0) & (spread > 1e-9 * spread.max()))
        reach = np.abs(self.values[:, kept] - centre[kept]).max(axis=0)
        least = reach / (_GRID * np.sqrt(len(kept) + 1))  # no value may lie beyond the grid
        columns = [
            Numeric(
                self.names[at], float(f"{centre[at]:.6g}"), float(f"{max(spread[at] / chosen[at], low):.6g}")
            )
            for at, low in zip(kept, least, strict=True)
        ]
        return Recipe(tuple(columns), origin="learned")

    def arrow(self) -> pa.Table:
        """Key and coordinates as one Arrow table."""
        columns = [pa.array(column) for column in np.ascontiguousarray(self.values.T)]
        return pa.table([self.keys, *columns], names=[self.key, *self.names])

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the Parquet file that `sf.Features` reads, whole or not at all."""
        passport = Passport(self.key, self.provenance, self.smoothness, self.fingerprint)
        table, sink = self.arrow().replace_schema_metadata({METADATA: passport.to_bytes()}), io.BytesIO()
        pq.write_table(table, sink, row_group_size=_GROUP, compression="zstd", use_dictionary=[self.key])
        return file.write(Path(path), sink.getvalue(), overwrite=overwrite)

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, fingerprint: str | None = None) -> Self:
        """The table in a file, checked as an owner checks it."""
        source = Features(path, fingerprint=fingerprint)
        passport, names = source.passport, source.names
        whole = pa.Table.from_batches(list(batches(source, source.schema.names)))
        keys = whole.column(passport.key).combine_chunks()
        plain = keys.dictionary_decode() if pa.types.is_dictionary(keys.type) else keys
        values = np.stack([whole.column(name).to_numpy() for name in names], axis=1)
        return cls(passport.key, plain, names, values, passport.smoothness, passport.provenance)

    @classmethod
    def of(
        cls, features: object, keys: object, *, key: str, provenance: str, prefix: str = "feature"
    ) -> Self:
        """A table of numbers that were made elsewhere, such as embeddings, and the key of each row."""
        values = np.asarray(features if isinstance(features, np.ndarray) else _numbers(features))
        names = tuple(f"{prefix}{at}" for at in range(values.shape[1]))
        return cls(key, as_keys(keys), names, values, (None,) * len(names), provenance)


def as_keys(keys: object) -> pa.Array:
    """Keys as one Arrow array."""
    found: Any = keys
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    if not isinstance(found, pa.Array):
        found = pa.array(found)
    return found.dictionary_decode() if pa.types.is_dictionary(found.type) else found


def _numbers(frame: object) -> NDArray[np.float32]:
    table = to_arrow(frame)
    return np.stack([np.asarray(column.to_numpy(), np.float32) for column in table.columns], axis=1)
