"""Labels to classes: stated, or decided from the column's type, never from its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from suffice.core.errors import InputError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Class", "Classes"]

Class = str | int | bool


@final
@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of a label column, in order; the second of two is the positive one."""

    column: str
    values: tuple[Class, ...]

    @classmethod
    def of(cls, schema: pa.Schema, column: str, stated: Sequence[Class] | None) -> Classes:
        """The stated classes, or (False, True) for a boolean column and (0, 1) for an integer one."""
        kind = schema.field(column).type
        if stated is None and pa.types.is_boolean(kind):
            return cls(column, (False, True))
        if stated is None and pa.types.is_integer(kind):
            return cls(column, (0, 1))
        if stated is None:
            raise SchemaError(
                f"The label {column!r} holds {kind}, and its classes are not looked up in the data. "
                f"State them, negative first: classes=['no', 'yes']."
            )
        values = tuple(stated)
        if len(values) < 2 or len(set(map(repr, values))) != len(values):
            raise InputError(f"classes= lists two distinct labels or more, and got {list(values)!r}.")
        if any(isinstance(value, float) for value in values) or len({type(value) for value in values}) > 1:
            raise InputError(
                f"classes= are all text, all integers or all booleans, and got {list(values)!r}."
            )
        return cls(column, values)

    def codes(self, batch: pa.RecordBatch) -> NDArray[np.int8]:
        """The place of each row's label; a missing or unlisted label is refused with its row."""
        labels = batch.column(self.column)
        coded = pa.types.is_dictionary(labels.type)
        words = labels.dictionary if coded else labels
        try:
            known = pa.array(self.values).cast(words.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise SchemaError(
                f"The label {self.column!r} holds {words.type}, and the classes are {list(self.values)!r}. "
                "State classes of the column's own type."
            ) from error
        if not coded and (quick := _one_of_two(labels, known)) is not None:
            return quick
        places = pc.index_in(words, value_set=known)
        if coded:
            places = pc.take(places, labels.indices)
        if places.null_count:
            row = int(np.argmax(places.is_null().to_numpy(zero_copy_only=False)))
            got = labels[row].as_py()
            what = "no label" if got is None else f"the label {got!r}"
            raise SchemaError.bad_value(
                self.column, row, what, f"The classes are {list(self.values)!r}; every row needs one of them."
            )
        return np.asarray(
            places.to_numpy(zero_copy_only=False), dtype=np.int8 if len(self.values) < 128 else np.int32
        )


def _one_of_two(labels: pa.Array, known: pa.Array) -> NDArray[np.int8] | None:
    """Whether each label is the second of two whole numbers; None where some are neither, or missing."""
    if len(known) != 2 or labels.null_count or not pa.types.is_integer(labels.type):
        return None
    values, (first, second) = labels.to_numpy(), known.to_numpy()
    positive = values == second
    return positive.view(np.int8) if (positive | (values == first)).all() else None
