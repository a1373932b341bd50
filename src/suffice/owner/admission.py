"""What is refused before anything is read or charged, from public facts alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from suffice.core.errors import BoundsError, InputError, UnboundedSensitivity
from suffice.core.fold import fold
from suffice.core.units import LabelOf, RecordOf
from suffice.sources.group import Group
from suffice.statistics.person_counts import PersonCounts

if TYPE_CHECKING:
    from suffice.accounting.ledger import Ledger
    from suffice.core.laws import Law
    from suffice.core.protocols import Resolved, Source
    from suffice.core.units import Unit

__all__ = ["check_capacity", "check_people", "count_people", "named", "refuse_layout"]

_CAPACITY = 1 << 63
_MOST_ROWS = 1 << 38
_SCALES = 64


def refuse_layout(source: Source, unit: Unit) -> None:
    """A folder name, a file's place or a join key that reads a protected column would give it away."""
    hidden = unit.protected()
    for role in ("partition_columns", "key_columns"):
        for name in getattr(source, role, ()):
            if hidden is not None and name in hidden:
                what = (
                    "files are sorted into folders by"
                    if role == "partition_columns"
                    else "rows are joined on"
                )
                raise UnboundedSensitivity(
                    f"The {what} {name!r}, which this ledger protects. Lay the rows out by a public column."
                )


def named(key: str) -> str:
    """The key of a draw that its asker named."""
    if not isinstance(key, str) or not key.strip():
        raise InputError(f"key= names a draw of its own, such as 'second draw', and got {key!r}.")
    return f"named:{key}"


def check_people(source: Source, ledger: Ledger) -> None:
    """The columns that say whose row it is, and in which group, are there and can be relied on."""
    unit, groups = ledger.unit, ledger.partitions
    if groups is not None:
        Group(source, groups[0], "")
    if not isinstance(unit, LabelOf | RecordOf) or unit.person is None:
        return
    PersonCounts(unit.person, None if groups is None else groups[0]).check_schema(source.schema)
    if unit.person in (unit.protected() or ()):
        raise UnboundedSensitivity(
            f"The column {unit.person!r} says whose row it is, and this ledger protects it. "
            "Name a public column."
        )


def count_people(source: Source, ledger: Ledger, part: str | None, workers: int) -> None:
    """Refuse a person with more rows than the unit says, or in several groups that are charged apart."""
    unit = ledger.unit
    if isinstance(unit, LabelOf | RecordOf) and unit.person is not None:
        counts = PersonCounts(unit.person, None if part is None else ledger.group(part)[0])
        counts.check(fold(counts, source, workers=workers), unit.at_most)


def check_capacity(source: Source, settled: Resolved, law: Law, unit: Unit) -> None:
    """Sums and noise fit 64 bits, decided from public numbers; the number of rows may be none."""
    hidden = isinstance(unit, RecordOf) and unit.relation == "add-remove"
    rows = None if hidden else getattr(source, "rows", None)
    spread = math.ceil(_SCALES * math.sqrt(law.covariance().trace()))
    if (_MOST_ROWS if rows is None else rows) * settled.radius + spread >= _CAPACITY:
        raise BoundsError(
            f"{rows or 'An unknown number of'} rows of radius {settled.radius} and noise of {spread} grid "
            "units do not fit 64 bits. Use a coarser grid (bits=16) or a larger epsilon."
        )
