"""A release: what leaves the owner's side, and all that a reader may know about it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NoReturn, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from suffice.channels import CHANNELS
from suffice.core.bounds import Bound, Radius, Sensitivity
from suffice.core.codec import decode, encode
from suffice.core.column import COLUMNS, Categorical, Cross, Hashed
from suffice.core.errors import InputError, ReleaseUnreadable
from suffice.core.guarantees import PROMISES, Guarantee
from suffice.core.laws import LAWS, Law
from suffice.core.protocols import Channel
from suffice.core.receipt import Receipt
from suffice.core.recipe import MOST_COLUMNS, Recipe
from suffice.core.units import UNITS
from suffice.core.witness import Witness
from suffice.releases import card, codec, consistency, file, notation
from suffice.releases import seal as seals
from suffice.releases.codec import FORMAT
from suffice.releases.envelope import MOST_BYTES, Envelope
from suffice.releases.fields import check_fields

__all__ = ["FORMAT", "Grid", "Release", "load", "opened"]


@final
@dataclass(frozen=True, slots=True)
class Grid:
    """The integer grid: `bits` after the point, and the radius of the rows in grid units."""

    bits: int
    radius: int | None = None


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Release:
    """A noisy statistic with its guarantee, its noise law, and the public facts that tie it to rows.

    `values` are whole numbers of grid units where there is a grid, and cannot be written to; a
    release of randomised answers has `answers` instead, one column or more, and the `channel` that
    every one of them passed. `about` holds further
    public facts of this kind of statistic, such as the label's name and its classes.
    `verified_by` names the trusted keys whose seal held when a file was loaded: it is what this
    reader checked, no part of the file and of equality. A release has no length and no items: one
    aggregate cannot be cut into folds.
    """

    kind: str
    values: NDArray[Any]
    names: tuple[str | tuple[str, str], ...]
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
    answers: pa.Table | None = None
    channel: Channel | None = None
    verified_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Take the values out of reach, and refuse parts that do not fit each other."""
        object.__setattr__(self, "values", _frozen(self.values))
        if isinstance(self.answers, pa.Table):
            object.__setattr__(self, "answers", _columns(self.answers))
        object.__setattr__(self, "about", {name: _plain(item) for name, item in self.about.items()})
        check_fields(self)
        consistency.check(self)

    def __eq__(self, other: object) -> bool:
        """Equal in every field, values included; who verified it does not matter."""
        if not isinstance(other, Release):
            return NotImplemented
        apart = {"values", "verified_by"}
        same = all(
            getattr(self, one.name) == getattr(other, one.name)
            for one in fields(self)
            if one.name not in apart
        )
        return same and self.values.dtype == other.values.dtype and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """One line."""
        return card.line(self)

    def __reduce__(self) -> tuple[object, ...]:
        """Copies and pickles are made anew, so that they are checked and read-only too."""
        return Release, tuple(getattr(self, one.name) for one in fields(self))

    def __array__(self, *_: object, **__: object) -> NoReturn:
        """Refuse to become an array, with the sentence that every splitter then shows."""
        raise TypeError(
            "A release is one aggregate of all rows, so it cannot be cut into folds, resampled or scored row "
            "by row: the same noise would be in training and test. Fit on it whole; choose the strength with "
            "alpha='noise', or compare settings with suffice.tune, which needs no labels and spends nothing."
        )

    def card(self, *, beside: tuple[str, ...] = (), html: bool = False) -> str:
        """The release in plain words: what it is, what it protects and how strongly, what it does not.

        `beside` has a line for each other release of the same ledger, which add up with this one.
        """
        return card.html(self, beside) if html else card.text(self, beside)

    def _repr_html_(self) -> str:
        """The card as self-contained HTML."""
        return card.html(self)

    def to_bytes(self) -> bytes:
        """The payload, without a seal: the same release gives the same bytes."""
        return codec.pack(self._header(), self.values, self.answers)

    @classmethod
    def from_bytes(cls, data: bytes, *, verified_by: tuple[str, ...] = ()) -> Release:
        """The release of a payload, or ReleaseUnreadable, or FormatTooNew."""
        header, values, answers = codec.unpack(data)
        try:
            given = {name: _decoded(name, item) for name, item in header.items()}
            release = cls(values=values, answers=answers, verified_by=verified_by, **_BLANK | given)
            same = notation.canonical(release._header()) == notation.canonical(header)
        except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError) as error:
            raise ReleaseUnreadable(f"The release's header does not fit together: {error}") from error
        if not same:
            raise ReleaseUnreadable("The release's header is not spelled as one is written.")
        return release

    def save(
        self, path: str | os.PathLike[str], *, seal: seals.Key | None = None, overwrite: bool = False
    ) -> Path:
        """Write the file whole or not at all, signed if a private key is given.

        A file that holds something else stays, unless `overwrite` says that it may go.
        """
        data = seals.sealed(self.to_bytes(), seal).to_bytes()
        return file.write(Path(path), data, overwrite=overwrite)

    def _header(self) -> dict[str, Any]:
        left_out = {"values", "answers", "verified_by", "format"}
        parts = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in left_out}
        return {name: encode(part) for name, part in parts.items() if part is not None and part != {}}


def load(path: str | os.PathLike[str], *, trust: seals.Keys | None = None) -> Release:
    """The release in a file. With `trust`, one public key or several, nothing is read before a seal holds."""
    return opened(file.read(Path(path), most=MOST_BYTES), trust=trust)


def opened(data: bytes, *, trust: seals.Keys | None = None) -> Release:
    """The release in the bytes of a file, as `load` reads it."""
    envelope = Envelope.from_bytes(data)
    verified = () if trust is None else seals.sealers(envelope, trust)
    return Release.from_bytes(envelope.payload, verified_by=verified)


_BLANK: dict[str, Any] = dict.fromkeys(
    ("recipe", "bound", "grid", "sensitivity", "witness", "law", "receipt", "channel"), None
)
_KINDS: dict[str, tuple[type, ...]] = {
    "recipe": COLUMNS,
    "bound": (Bound, Radius),
    "grid": (Grid,),
    "sensitivity": (Sensitivity,),
    "witness": (Witness,),
    "law": LAWS,
    "guarantee": (Guarantee, *PROMISES, *UNITS),
    "receipt": (Receipt,),
    "channel": CHANNELS,
}


def _decoded(name: str, item: Any) -> Any:
    if name == "recipe":
        return _recipe(item)
    value = decode(item, _KINDS.get(name, ()))
    return dict(value) if name == "about" else value


def _recipe(item: Any) -> Recipe:
    """A recipe counts its coordinates by naming them, so a file's are counted before it is made."""
    if not isinstance(item, dict) or item.get("kind") != "Recipe":
        raise InputError("The recipe is not one.")
    given = {name: decode(part, COLUMNS) for name, part in item.items() if name != "kind"}
    columns = given.get("columns")
    if not isinstance(columns, tuple) or sum(map(_width, columns)) > MOST_COLUMNS + 2 * len(columns):
        raise InputError(f"The recipe makes more than {MOST_COLUMNS} coordinates.")
    return Recipe(**given)


def _width(column: Any) -> int:
    """At least as many coordinates as the column makes."""
    check_fields(column)
    if isinstance(column, Hashed):
        return column.buckets
    if isinstance(column, Cross):
        return _width(column.first) * _width(column.second)
    return len(column.levels) + 2 if isinstance(column, Categorical) else 2


def _frozen(values: Any) -> NDArray[Any]:
    if not isinstance(values, np.ndarray):
        raise InputError(f"The values of a release are an array, and got a {type(values).__name__}.")
    frozen = np.ascontiguousarray(values)
    if frozen.flags.writeable:
        frozen = frozen.copy()
        frozen.flags.writeable = False
    return frozen


def _columns(answers: pa.Table) -> pa.Table:
    """Columns of one piece, and nothing said of them but name and type."""
    columns = [column.combine_chunks() for column in answers.columns]
    fields = [pa.field(name, one.type) for name, one in zip(answers.column_names, columns, strict=True)]
    return pa.table(columns, schema=pa.schema(fields))


def _plain(value: Any) -> Any:
    """Numbers of Python instead of NumPy's, and tuples instead of lists, as they come back from a file."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    return {name: _plain(item) for name, item in value.items()} if isinstance(value, dict) else value
