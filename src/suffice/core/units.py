"""What one protected change is: the unit of privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self, final

from suffice.core.errors import InputError

__all__ = ["UNITS", "Answer", "FeatureOf", "LabelOf", "RecordOf", "Unit"]


@final
@dataclass(frozen=True, slots=True, init=False)
class LabelOf:
    """Neighbours differ in the label columns of one row, or of one person's rows; all else is public.

    `person` names the public column that says whose row it is, and `at_most` how many rows
    one person may have.
    """

    columns: tuple[str, ...]
    person: str | None = None
    at_most: int = 1

    def __init__(self, *columns: str, person: str | None = None, at_most: int = 1) -> None:
        if not columns:
            raise InputError("LabelOf() names no column. Name the label to protect: LabelOf('bought').")
        _set_person(self, person, at_most)
        object.__setattr__(self, "columns", columns)

    @classmethod
    def from_fields(cls, columns: tuple[str, ...], person: str | None = None, at_most: int = 1) -> Self:
        """Build from the fields by name, as the codec does."""
        return cls(*columns, person=person, at_most=at_most)

    def protected(self) -> frozenset[str]:
        """The columns whose values no public fact may depend on."""
        return frozenset(self.columns)

    @property
    def rows_are_public(self) -> bool:
        """Feature rows, and which rows are present, are known to the reader."""
        return True

    def sentence(self) -> str:
        """What is protected, in plain words."""
        named = " and ".join(repr(column) for column in self.columns)
        if self.person is None:
            return f"the value of {named} in any one row"
        return f"the values of {named} in all rows of any one {self.person!r} (at most {self.at_most})"


@final
@dataclass(frozen=True, slots=True)
class FeatureOf:
    """Neighbours differ in one feature column of one row; labels and other columns are public."""

    column: str

    def protected(self) -> frozenset[str]:
        """The columns whose values no public fact may depend on."""
        return frozenset((self.column,))

    @property
    def rows_are_public(self) -> bool:
        """The feature vectors hold the protected column, so they are not public."""
        return False

    def sentence(self) -> str:
        """What is protected, in plain words."""
        return f"the value of {self.column!r} in any one row"


@final
@dataclass(frozen=True, slots=True)
class RecordOf:
    """Neighbours differ in one whole record, or in all records of one person.

    With "replace" a record is exchanged for another and the count is public; with
    "add-remove" a record is there or not, and the count is protected too.
    """

    relation: Literal["replace", "add-remove"]
    person: str | None = None
    at_most: int = 1

    def __post_init__(self) -> None:
        """Refuse relations and counts that mean nothing."""
        if self.relation not in {"replace", "add-remove"}:
            raise InputError(f"RecordOf takes 'replace' or 'add-remove', and got {self.relation!r}.")
        _set_person(self, self.person, self.at_most)

    def protected(self) -> None:
        """Every column is protected, which None stands for."""
        return

    @property
    def rows_are_public(self) -> bool:
        """Nothing of a record is public."""
        return False

    def sentence(self) -> str:
        """What is protected, in plain words."""
        whose = "any one record" if self.person is None else f"all records of any one {self.person!r}"
        what = "the content of" if self.relation == "replace" else "the presence and content of"
        return f"{what} {whose}" + ("" if self.person is None else f" (at most {self.at_most})")


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """Neighbours are two truths of one person, whose answer is protected before it leaves."""

    def protected(self) -> None:
        """No table of truths exists."""
        return

    @property
    def rows_are_public(self) -> bool:
        """No table of truths exists."""
        return False

    def sentence(self) -> str:
        """What is protected, in plain words."""
        return "the true answer of any one person"


Unit = LabelOf | FeatureOf | RecordOf | Answer
UNITS = (LabelOf, FeatureOf, RecordOf, Answer)


def _set_person(unit: LabelOf | RecordOf, person: str | None, at_most: int) -> None:
    if isinstance(at_most, bool) or not isinstance(at_most, int) or at_most < 1:
        raise InputError(f"at_most counts rows per person, from 1 up, and got {at_most!r}.")
    if person is None and at_most != 1:
        raise InputError(f"at_most={at_most} needs person=, the column that says whose row it is.")
    object.__setattr__(unit, "person", person)
    object.__setattr__(unit, "at_most", at_most)
