"""The rows of one group, picked out of a source by the value of one column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import pyarrow as pa
import pyarrow.compute as pc

from suffice.core.errors import SchemaError
from suffice.core.protocols import Fragment, Source
from suffice.sources.frame import refuse_missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["Group", "Grouped"]


@final
@dataclass(frozen=True, slots=True)
class Group:
    """The rows of `source` whose `column` is `value`; the value is compared as text.

    How many rows there are is not told: it may be protected.
    """

    source: Source
    column: str
    value: str

    def __post_init__(self) -> None:
        """Refuse a column that has no texts to compare."""
        refuse_missing((self.column,), self.source.schema.names)
        kind = self.source.schema.field(self.column).type
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not (pa.types.is_integer(plain) or pa.types.is_string(plain) or pa.types.is_large_string(plain)):
            raise SchemaError(
                f"The column of groups {self.column!r} holds {kind}. Groups are texts or whole numbers."
            )

    @property
    def name(self) -> str:
        """The source's name and the group."""
        return f"{self.source.name} where {self.column} is {self.value}"

    @property
    def schema(self) -> pa.Schema:
        """That of the source."""
        return self.source.schema

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """Those of the source."""
        return tuple(getattr(self.source, "partition_columns", ()))

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Those of the source."""
        return tuple(getattr(self.source, "key_columns", ()))

    @property
    def assumes(self) -> tuple[str, ...]:
        """What a release of one group rests on, beside what a release of the source does."""
        stays = (
            f"whoever is in one group of {self.column!r} stays in it, from one edition to the next too: "
            "groups are charged apart"
        )
        return (*getattr(self.source, "assumes", ()), stays)

    def fragments(self, columns: Sequence[str]) -> Iterable[Grouped]:
        """The fragments of the source, each with its rows of the group."""
        refuse_missing(columns, self.schema.names)
        read = tuple(dict.fromkeys((*columns, self.column)))
        for fragment in self.source.fragments(read):
            yield Grouped(fragment, self.column, self.value, tuple(columns))

    def located(self, error: SchemaError) -> SchemaError:
        """The same error, its row that of the source instead of that among the group's rows."""
        column, row, got, remedy = error.place or ("", None, "", "")
        return error if row is None else error.bad_value(column, self._place(row), got, remedy)

    def _place(self, row: int) -> int:
        """The row of the source; a fold counts the group's rows of a fragment from where that starts."""
        fragments = list(self.source.fragments((self.column,)))
        found = max((one for one in fragments if one.start <= row), key=lambda one: one.start)
        left, before = row - found.start, found.start
        for batch in found.batches():
            places = pc.indices_nonzero(_chosen(batch.column(self.column), self.value))
            if left < len(places):
                return int(before + places[left].as_py())
            left, before = left - len(places), before + batch.num_rows
        return row


@final
@dataclass(frozen=True, slots=True)
class Grouped:
    """A fragment's rows of one group."""

    fragment: Fragment
    column: str
    value: str
    columns: tuple[str, ...]

    @property
    def id(self) -> str:
        """The fragment's."""
        return self.fragment.id

    @property
    def start(self) -> int:
        """How many rows of the source come before; rows of other groups are among them."""
        return self.fragment.start

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the group, a batch at a time."""
        for batch in self.fragment.batches():
            kept = batch.filter(_chosen(batch.column(self.column), self.value))
            if kept.num_rows:
                yield kept.select(list(self.columns))


def _chosen(column: pa.Array, value: str) -> pa.Array:
    """Which rows are of the group; a missing value is of none."""
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    return pc.fill_null(pc.equal(column.cast(pa.large_string()), pa.scalar(value, pa.large_string())), False)
