"""A public feature table as a source: Parquet that says what it was made of and carries its own fingerprint.

A label owner may release on any such table: how far one label moves a sum is computed from the
table's own rows. What cannot be computed is that nobody made the table with the labels in hand, so
that is stated, by the file and then by every guarantee (docs/proofs/public_features.md).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from suffice.core.errors import InputError, SchemaError
from suffice.sources.frame import refuse_missing
from suffice.sources.key import key_kind
from suffice.sources.parquet import Parquet

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from suffice.sources.parquet import RowGroups

__all__ = ["METADATA", "Features", "Passport", "fingerprint"]

METADATA = b"suffice.features"
_MODULUS = 1 << 256


@final
@dataclass(frozen=True, slots=True)
class Passport:
    """What a feature table says of itself: key, provenance, smoothness of its coordinates, fingerprint.

    `smoothness` holds an eigenvalue below 1 for each coordinate of a graph and None for any other.
    """

    key: str
    provenance: str
    smoothness: tuple[float | None, ...]
    fingerprint: str

    def to_bytes(self) -> bytes:
        """As it stands in the file."""
        parts = {name: getattr(self, name) for name in ("key", "provenance", "smoothness", "fingerprint")}
        return json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()

    @classmethod
    def of(cls, schema: pa.Schema, path: str) -> Self:
        """The passport in a file's schema, or an InputError."""
        written = (schema.metadata or {}).get(METADATA)
        if written is None:
            raise InputError(
                f"The file {path!r} does not say what its features were made of. Write it with "
                "FeatureTable.write or `suffice features`; to read it as any other rows use sf.Parquet."
            )
        try:
            parts: Mapping[str, Any] = json.loads(written)
            made = cls(parts["key"], parts["provenance"], tuple(parts["smoothness"]), parts["fingerprint"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"What the file {path!r} says of its features cannot be read: {error}."
            ) from error
        if not isinstance(made.provenance, str) or not made.provenance.strip():
            raise InputError(f"The file {path!r} does not say what its features were made of.")
        return made


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Features:
    """The rows of a feature table, once its keys, types, numbers and fingerprint have been checked.

    All of that is public and is read before any label. `fingerprint`, if given, is the one that was
    agreed on: another table is refused.
    """

    name: str
    schema: pa.Schema
    passport: Passport
    parquet: Parquet

    def __init__(self, path: str | os.PathLike[str], *, fingerprint: str | None = None) -> None:
        parquet = Parquet(path)
        passport = Passport.of(pq.read_schema(parquet.files[0].path), parquet.name)
        _check_types(parquet.schema, passport, parquet.name)
        if fingerprint is not None and passport.fingerprint != fingerprint:
            raise InputError(
                f"The table {parquet.name!r} is {passport.fingerprint[:16]}..., and {fingerprint[:16]}... "
                "was agreed on. Ask for the table that was meant."
            )
        for field, value in {
            "name": f"{parquet.name} ({passport.fingerprint[:16]})",
            "schema": parquet.schema,
            "passport": passport,
            "parquet": parquet,
        }.items():
            object.__setattr__(self, field, value)
        self._check()

    def __repr__(self) -> str:
        """As it was asked for."""
        return f"Features({self.parquet.name!r})"

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.parquet.rows

    @property
    def names(self) -> tuple[str, ...]:
        """The coordinates, without the key."""
        return tuple(name for name in self.schema.names if name != self.passport.key)

    @property
    def assumes(self) -> tuple[str, ...]:
        """What a guarantee on these rows rests on, in words."""
        made = f"the feature table {self.passport.fingerprint[:16]} was made without the labels"
        return (f"{made}, before the noise was drawn; it says of itself: {self.passport.provenance}",)

    def fragments(self, columns: Sequence[str]) -> Iterable[RowGroups]:
        """The row groups of the file, these columns only."""
        refuse_missing(columns, self.schema.names)
        return self.parquet.fragments(columns)

    def _check(self) -> None:
        """Every number finite, every key there and once, and the rows those of the fingerprint."""
        key, names = self.passport.key, self.names
        keys: list[pa.Array] = []
        start = 0

        def pieces() -> Iterator[tuple[pa.Array, np.ndarray[Any, np.dtype[np.float32]]]]:
            nonlocal start
            for fragment in self.parquet.fragments((key, *names)):
                for batch in fragment.batches():
                    values = _matrix(batch, names, start)
                    start += batch.num_rows
                    keys.append(_undone(batch.column(key)))
                    yield batch.column(key), values

        found = fingerprint(key, names, self.passport.provenance, self.passport.smoothness, pieces())
        if found != self.passport.fingerprint:
            raise InputError(
                f"The table {self.parquet.name!r} holds other rows than its fingerprint is of, so it was "
                "changed after it was written. Ask for it again."
            )
        whole = pa.chunked_array(keys)
        if whole.null_count or len(whole.unique()) != len(whole):
            raise SchemaError(f"The key {key!r} is missing in a row or occurs twice. Give each row its own.")


def fingerprint(
    key: str,
    names: Sequence[str],
    provenance: str,
    smoothness: Sequence[float | None],
    pieces: Iterable[tuple[pa.Array, np.ndarray[Any, np.dtype[np.float32]]]],
) -> str:
    """64 hexadecimal digits of a table, the same in whatever order its rows stand."""
    head = json.dumps([key, list(names), provenance, list(smoothness)], ensure_ascii=False)
    total = int.from_bytes(hashlib.sha256(head.encode()).digest(), "big")
    for keys, values in pieces:
        plain = _undone(keys)
        texts = [str(one).encode() for one in plain.to_pylist()]
        block = np.ascontiguousarray(values, dtype="<f4")
        for text, row in zip(texts, block, strict=True):
            digest = hashlib.sha256(len(text).to_bytes(4, "big") + text + row.tobytes()).digest()
            total = (total + int.from_bytes(digest, "big")) % _MODULUS
    return f"{total:064x}"


def _undone(keys: pa.Array) -> pa.Array:
    return keys.dictionary_decode() if pa.types.is_dictionary(keys.type) else keys


def _check_types(schema: pa.Schema, passport: Passport, path: str) -> None:
    if passport.key not in schema.names:
        raise SchemaError.missing_column(passport.key, schema.names)
    if key_kind(schema.field(passport.key).type) is None:
        raise SchemaError(
            f"The key {passport.key!r} holds {schema.field(passport.key).type}. Keys are whole numbers, "
            "texts or dates."
        )
    odd = [field for field in schema if field.name != passport.key and field.type != pa.float32()]
    if odd:
        raise SchemaError(
            f"The coordinate {odd[0].name!r} of {path!r} holds {odd[0].type}, and a feature table holds "
            "single-precision numbers. Write it with FeatureTable.write."
        )
    if len(passport.smoothness) != len(schema.names) - 1:
        raise SchemaError(
            f"The table {path!r} tells the smoothness of {len(passport.smoothness)} coordinates."
        )


def _matrix(batch: pa.RecordBatch, names: Sequence[str], start: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    columns = []
    for name in names:
        values = np.asarray(batch.column(name).to_numpy(zero_copy_only=False), dtype=np.float32)
        if not np.isfinite(values).all():
            row = start + int(np.argmin(np.isfinite(values)))
            raise SchemaError.bad_value(name, row, "no finite number", "Make the table anew.")
        columns.append(values)
    return np.stack(columns, axis=1) if columns else np.zeros((batch.num_rows, 0), np.float32)
