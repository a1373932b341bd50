"""From Arrow arrays to columns of a plan: the same memory, seen through the buffer protocol."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from suffice.core.errors import InputError
from suffice.maths.kernels.plan import NUMBERS, Column

__all__ = ["arrow_column"]


def arrow_column(array: pa.Array, lookup: NDArray[np.int32] | None = None) -> Column:
    """The values of a numeric, boolean or dictionary array, its offset and validity kept; no value is copied.

    Of a dictionary array the codes are taken, and `lookup` says which level each entry of its
    dictionary is (-1: none, -2: an offence). Booleans are the one kind that is unpacked.
    """
    values = array.indices if pa.types.is_dictionary(array.type) else array
    valid, data = values.buffers()[:2] if len(values) else (None, None)
    table = None if lookup is None else np.ascontiguousarray(lookup, dtype=np.int32)
    bitmap = None if valid is None or values.null_count == 0 else np.frombuffer(valid, np.uint8)
    return Column(_numbers(values, data), bitmap, values.offset, table)


def _numbers(array: pa.Array, data: pa.Buffer | None) -> NDArray[np.generic]:
    if pa.types.is_boolean(array.type):
        bits = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
        first, last = array.offset, array.offset + len(array)
        spread = np.unpackbits(bits[first // 8 : (last + 7) // 8], bitorder="little")
        return spread[first % 8 : first % 8 + len(array)]
    kind = _dtype(array.type)
    if data is None:
        return np.zeros(0, kind)
    return np.frombuffer(data, kind, count=len(array), offset=array.offset * kind.itemsize)


def _dtype(kind: pa.DataType) -> np.dtype[np.generic]:
    if (pa.types.is_integer(kind) or pa.types.is_floating(kind)) and not pa.types.is_float16(kind):
        found: np.dtype[np.generic] = np.dtype(kind.to_pandas_dtype())
        if found in NUMBERS:
            return found
    raise InputError(
        f"numbers, booleans and dictionaries have buffers of numbers, and got an array of {kind}"
    )
