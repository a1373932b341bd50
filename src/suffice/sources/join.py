"""Labels from one place and features from another, as one source.

Which rows there are is decided by the keys alone, before any other column is read, so that it
can be public where the keys are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

import numpy as np
import pyarrow as pa

from suffice.core.errors import InputError, SchemaError
from suffice.core.protocols import Fragment, Source
from suffice.sources.frame import batches, is_source, projected, refuse_missing
from suffice.sources.key import Keys, key_kind
from suffice.sources.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["Join", "Joined"]


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Join:
    """The rows of `features`, each with the columns of `labels` that have the same key.

    Keys are distinct on both sides: one label never reaches two rows. A row without a partner is
    refused, or with unmatched="drop" left out. The labels are held in memory, the features stream.
    """

    labels: Source
    features: Source
    on: str
    unmatched: Literal["refuse", "drop"]

    def __init__(
        self, labels: object, features: object, on: str, unmatched: Literal["refuse", "drop"] = "refuse"
    ) -> None:
        if unmatched not in {"refuse", "drop"}:
            raise InputError(f"unmatched= is 'refuse' or 'drop', and got {unmatched!r}.")
        sides = [side if is_source(side) else Table(side, name) for side, name in _named(labels, features)]
        for field, value in zip(
            ("labels", "features", "on", "unmatched"), (*sides, on, unmatched), strict=True
        ):
            object.__setattr__(self, field, value)
        _refuse_keys(self.labels.schema, self.features.schema, on)
        both = [
            name for name in self.labels.schema.names if name != on and name in self.features.schema.names
        ]
        if both:
            raise SchemaError(
                f"The column {both[0]!r} is in the labels and in the features. Rename it on one side, "
                "or leave it out there."
            )

    def __repr__(self) -> str:
        """Both sides and the key."""
        return f"Join({self.labels!r}, {self.features!r}, on={self.on!r}, unmatched={self.unmatched!r})"

    @property
    def name(self) -> str:
        """The names of both sides and the key."""
        return f"{self.labels.name} joined with {self.features.name} on {self.on}"

    @property
    def schema(self) -> pa.Schema:
        """The columns of the features, then those of the labels."""
        return pa.schema([*self.features.schema, *(f for f in self.labels.schema if f.name != self.on)])

    @property
    def rows(self) -> int | None:
        """As many as the features have, unless some may be left out."""
        return getattr(self.features, "rows", None) if self.unmatched == "refuse" else None

    @property
    def assumes(self) -> tuple[str, ...]:
        """What a guarantee on these rows rests on, in words."""
        sides = (self.labels, self.features)
        held = tuple(text for side in sides for text in getattr(side, "assumes", ()))
        if self.unmatched == "refuse":
            return held
        dropped = "rows without a partner were left out; which keys have a partner is known to the reader"
        return (*held, dropped)

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns that decide which rows there are."""
        return (self.on,)

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The columns that stand in the paths of either side."""
        sides = (self.labels, self.features)
        return tuple(name for side in sides for name in getattr(side, "partition_columns", ()))

    def fragments(self, columns: Sequence[str]) -> Iterable[Joined]:
        """The fragments of the features; the keys of both sides are read and compared first."""
        refuse_missing(columns, self.schema.names)
        wanted = [name for name in columns if name in self.labels.schema.names and name != self.on]
        plain = [name for name in columns if name not in wanted and name != self.on]
        labels = pa.Table.from_batches(
            list(batches(self.labels, (self.on, *wanted))), _chosen(self.labels.schema, (self.on, *wanted))
        )
        keys = Keys.of(labels.column(self.on), self.on)
        starts = self._starts(keys, labels.column(self.on))
        schema = _chosen(self.schema, columns)
        values = labels.select(wanted).combine_chunks()
        for fragment in self.features.fragments((self.on, *plain)):
            yield Joined(fragment.id, starts[fragment.id], fragment, keys, values, self.on, schema)

    def _starts(self, keys: Keys, labels: pa.ChunkedArray) -> dict[str, int]:
        """How many joined rows come before each fragment, once every key has been checked."""
        met = np.zeros(keys.count, dtype=bool)
        starts, joined = {}, 0
        for fragment in self.features.fragments((self.on,)):
            starts[fragment.id], seen = joined, 0
            for batch in fragment.batches():
                try:
                    joined += self._met(met, keys, batch.column(self.on))
                except SchemaError as error:
                    raise error.moved(fragment.start + seen) from error
                seen += batch.num_rows
        if self.unmatched == "refuse" and not met.all():
            row = int(np.argmin(met))
            raise SchemaError.bad_value(
                self.on,
                row,
                f"the key {labels[row].as_py()!r} among the labels, which no row of the features has",
                "State unmatched='drop' to leave such rows out.",
            )
        return starts

    def _met(self, met: NDArray[np.bool_], keys: Keys, column: pa.Array) -> int:
        rows = keys.rows(column, self.on)
        hits = np.flatnonzero(rows >= 0)
        if self.unmatched == "refuse" and len(hits) < len(rows):
            row = int(np.argmin(rows))
            raise SchemaError.bad_value(
                self.on,
                row,
                f"the key {column[row].as_py()!r}, which has no label",
                "State unmatched='drop' to leave such rows out.",
            )
        _, first = np.unique(rows[hits], return_index=True)
        again = met[rows[hits]]
        again[np.setdiff1d(np.arange(len(hits)), first)] = True
        if again.any():
            row = int(hits[np.argmax(again)])
            raise SchemaError.bad_value(
                self.on,
                row,
                f"the key {column[row].as_py()!r} for the second time",
                "One label must not reach two rows; make the keys of the features distinct.",
            )
        met[rows[hits]] = True
        return len(hits)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Joined:
    """A fragment of the features and the labels to look its keys up in, which are pickled with it."""

    id: str
    start: int
    features: Fragment
    keys: Keys
    labels: pa.Table
    on: str
    schema: pa.Schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows that have a label, with it."""
        for batch in self.features.batches():
            rows = self.keys.rows(batch.column(self.on), self.on)
            met = rows >= 0
            kept = batch if met.all() else batch.filter(pa.array(met))
            if not kept.num_rows:
                continue
            places = pa.array(rows[met])
            for name in self.labels.column_names:
                taken = self.labels.column(name).take(places).combine_chunks()
                kept = kept.append_column(name, taken)
            yield projected(kept, self.schema)


def _chosen(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    return pa.schema([schema.field(name) for name in names])


def _named(labels: object, features: object) -> tuple[tuple[object, str], tuple[object, str]]:
    return (labels, "labels"), (features, "features")


def _refuse_keys(labels: pa.Schema, features: pa.Schema, on: str) -> None:
    """Both sides need a key of one kind that can be compared exactly."""
    for side in (labels, features):
        refuse_missing((on,), side.names)
    kinds = [key_kind(side.field(on).type) for side in (labels, features)]
    if kinds[0] is None or kinds[0] != kinds[1]:
        raise SchemaError(
            f"The key {on!r} holds {labels.field(on).type} among the labels and {features.field(on).type} "
            "among the features. Keys are whole numbers, texts or dates, the same on both sides."
        )
