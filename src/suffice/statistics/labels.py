"""Labels row by row, in the order of a public key: what a channel is applied to, one answer per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from suffice.core.errors import InputError, SchemaError, UnboundedSensitivity
from suffice.core.units import LabelOf
from suffice.statistics.label import Class, Classes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from suffice.core.protocols import Source
    from suffice.core.units import Unit

__all__ = ["LabelColumn", "Labels"]

_KEYS = {"int64": pa.int64(), "string": pa.string()}


@final
@dataclass(frozen=True, slots=True)
class Labels:
    """The column `label`, to be released through a channel as one noisy answer per row.

    Answers leave in the order of `key`, a public column without repeats: the order of the source could
    tell what the noise hides.
    """

    label: str
    key: str | None = None

    def resolve(self, source: Source, unit: Unit, classes: tuple[Class, ...]) -> LabelColumn:
        """Settle columns and types from the schema alone; the classes are the truths of the channel."""
        if self.key is None:
            raise InputError(
                "Noisy labels leave in the order of a public key, since the order of the rows could tell "
                f"what the noise hides. Name one: Labels({self.label!r}, key='id')."
            )
        names = source.schema.names
        for name in (self.label, self.key):
            if name not in names:
                raise SchemaError.missing_column(name, names)
        if not isinstance(unit, LabelOf) or self.label not in unit.protected():
            raise UnboundedSensitivity(
                f"One answer per row protects a label alone, and this ledger protects {unit.sentence()}. "
                f"Use a ledger whose unit is LabelOf({self.label!r})."
            )
        if self.key in unit.protected():
            raise UnboundedSensitivity(
                f"The key {self.key!r} would be published as it is, and this ledger protects it. "
                "Name a public column."
            )
        return LabelColumn(
            Classes.of(source.schema, self.label, classes), self.key, _key_kind(source, self.key)
        )


@final
@dataclass(frozen=True, slots=True)
class LabelColumn:
    """Keys and the places of their labels, gathered over all rows."""

    classes: Classes
    key: str
    kind: str

    def reads(self) -> tuple[str, ...]:
        """The key and the label."""
        return (self.key, self.classes.column)

    def init(self) -> tuple[pa.Table, ...]:
        """No rows."""
        return ()

    def update(self, state: tuple[pa.Table, ...], batch: pa.RecordBatch) -> tuple[pa.Table, ...]:
        """These rows too; a row without a key or with an unlisted label is refused."""
        keys = batch.column(self.key)
        if keys.null_count:
            row = int(np.argmax(keys.is_null().to_numpy(zero_copy_only=False)))
            raise SchemaError.bad_value(
                self.key, row, "no key", "Fill it in, or leave the row out by a public rule."
            )
        plain = keys.dictionary_decode() if isinstance(keys, pa.DictionaryArray) else keys
        codes = pa.array(self.classes.codes(batch).astype(np.int64))
        return (*state, pa.table([plain.cast(_KEYS[self.kind]), codes], ["key", "code"]))

    def merge(self, one: tuple[pa.Table, ...], two: tuple[pa.Table, ...]) -> tuple[pa.Table, ...]:
        """The rows of both."""
        return one + two

    def sorted(self, state: tuple[pa.Table, ...]) -> tuple[pa.Array, NDArray[np.int64]]:
        """All keys in order, and the place of each one's label; a key that occurs twice is refused."""
        table = pa.concat_tables(state).combine_chunks()
        table = table.take(pc.sort_indices(table, sort_keys=[("key", "ascending")])).combine_chunks()
        keys = table["key"].combine_chunks()
        if len(keys) > 1:
            again = pc.index(pc.equal(keys[1:], keys[:-1]), value=True).as_py()
            if again >= 0:
                raise SchemaError.bad_value(
                    self.key,
                    None,
                    f"the key {keys[again].as_py()!r} twice",
                    "Give each row its own key, such as a number.",
                )
        return keys, np.asarray(table["code"].to_numpy(), dtype=np.int64)

    def answers(self, keys: pa.Array, drawn: NDArray[Any]) -> pa.Table:
        """The keys beside the answers: one column, or one per class where an answer is a row of bits."""
        label = self.classes.column
        if drawn.ndim == 1:
            return pa.table({self.key: keys, label: pa.array(drawn.tolist())})
        bits = {f"{label}={one}": pa.array(drawn[:, at]) for at, one in enumerate(self.classes.values)}
        return pa.table({self.key: keys} | bits)


def _key_kind(source: Source, name: str) -> str:
    """Keys are published as whole numbers or as text."""
    kind = source.schema.field(name).type
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_integer(plain):
        return "int64"
    if pa.types.is_string(plain) or pa.types.is_large_string(plain):
        return "string"
    raise SchemaError(f"The key {name!r} holds {kind}. Keys are whole numbers or text.")
