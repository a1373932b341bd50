"""What `suffice check` sees of the public columns of a source: one pass, in any order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MOST_LEVELS", "Profile", "Seen", "shown", "sort_of"]

MOST_LEVELS = 1000
_FEW_ROWS = 20
_BROKEN = ("float", "double", "halffloat", "decimal")
_NUMBERS = ("int", "uint", *_BROKEN)
_LEVELS = ("string", "large_string", "dictionary", "bool")


def sort_of(kind: str) -> str:
    """Whether an Arrow type, by its name, holds numbers, levels, or neither."""
    if kind.startswith(_NUMBERS):
        return "number"
    return "level" if kind.startswith(_LEVELS) else "other"


def shown(kind: str) -> str:
    """The type as a reader knows it: how text is packed does not matter to them."""
    return "text" if "string" in kind else kind


@final
@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of one column; `levels` is None once they are too many to list."""

    rows: int = 0
    missing: int = 0
    infinite: int = 0
    low: float | None = None
    high: float | None = None
    levels: frozenset[Any] | None = frozenset()

    def merged(self, other: Seen) -> Seen:
        """The rows of both."""
        both = None if self.levels is None or other.levels is None else self.levels | other.levels
        lows = [one for one in (self.low, other.low) if one is not None]
        highs = [one for one in (self.high, other.high) if one is not None]
        return Seen(
            self.rows + other.rows,
            self.missing + other.missing,
            self.infinite + other.infinite,
            min(lows, default=None),
            max(highs, default=None),
            both if both is not None and len(both) <= MOST_LEVELS else None,
        )

    def trouble(self, kind: str) -> str | None:
        """Why a column of this type is left out unless it is asked for by name, or None."""
        if sort_of(kind) == "other":
            return f"{kind} is neither a number nor a level"
        if self.missing == self.rows:
            return "it holds no value"
        if self.infinite:
            return f"it holds {self.infinite} infinite numbers"
        if self._is_constant() and not self.missing:
            return "it has one value only"
        if self._is_key(kind):
            return "it looks like a key: every value differs"
        if sort_of(kind) == "level" and self.levels is None:
            return f"it has more than {MOST_LEVELS} levels; Hashed takes so many"
        return None

    def _is_constant(self) -> bool:
        return (self.low is not None and self.low == self.high) or len(self.levels or ()) == 1

    def _is_key(self, kind: str) -> bool:
        if self.rows <= _FEW_ROWS or self.missing or kind.startswith(_BROKEN):
            return False
        dense = self.low is not None and self.high is not None and self.high - self.low + 1 == self.rows
        return dense or (self.levels is not None and len(self.levels) == self.rows)


@final
@dataclass(frozen=True, slots=True)
class Profile:
    """The sum over rows that a profile is: it reads these columns and no other."""

    names: tuple[str, ...]

    def reads(self) -> tuple[str, ...]:
        """The columns that are looked at."""
        return self.names

    def init(self) -> dict[str, Seen]:
        """No rows."""
        return {name: Seen() for name in self.names}

    def update(self, state: dict[str, Seen], batch: pa.RecordBatch) -> dict[str, Seen]:
        """These rows too."""
        return self.merge(state, {name: _seen(batch.column(name)) for name in self.names})

    def merge(self, one: dict[str, Seen], two: dict[str, Seen]) -> dict[str, Seen]:
        """The rows of both."""
        return {name: one[name].merged(two[name]) for name in self.names}


def _seen(column: pa.Array) -> Seen:
    import pyarrow as pa  # noqa: PLC0415  the help page loads no pyarrow
    import pyarrow.compute as pc  # noqa: PLC0415

    kind = str(column.type)
    absent = pc.sum(column.is_null(nan_is_null=True)).as_py() or 0
    seen = Seen(rows=len(column), missing=absent)
    if sort_of(kind) == "other" or absent == len(column):
        return seen
    if sort_of(kind) == "number":
        numbers = column.cast(pa.float64(), safe=False)
        numbers = numbers.filter(pc.is_finite(numbers))
        range_ = pc.min_max(numbers).as_py()
        finite = len(numbers)
        seen = replace(seen, infinite=len(column) - absent - finite, low=range_["min"], high=range_["max"])
    return replace(seen, levels=_levels(column, kind))


def _levels(column: pa.Array, kind: str) -> frozenset[Any] | None:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    if kind.startswith(_BROKEN):
        return None
    values = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    found = pc.unique(values).drop_null()
    return frozenset(found.to_pylist()) if len(found) <= MOST_LEVELS else None
