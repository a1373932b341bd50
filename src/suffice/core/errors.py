"""Every error that suffice raises on purpose, and the one place where their sentences live.

* SufficeError
  x InputError(ValueError) + SchemaError + BoundsError + UnsupportedPair
  x PrivacyError + BudgetExceeded + UnboundedSensitivity + GuaranteeUnknown + UnprotectedRefused
  x ReleaseError + ReleaseMismatch(ValueError) + ReleaseUnreadable + FormatTooNew + SealBroken
  x ExchangeError + Refused + Unreachable + AlreadyReleased
  x MissingExtra(ImportError)
* warnings: UtilityWarning (noise larger than signal)

A message says what was wrong, what was got, and what to do.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable


class SufficeError(Exception):
    """The root of every error that suffice raises on purpose."""


class InputError(SufficeError, ValueError):
    """An argument, file or frame cannot be used as it is."""


class SchemaError(InputError):
    """A column is missing, has the wrong type, or holds a value outside what was declared."""

    @classmethod
    def missing_column(cls, name: str, available: Iterable[str]) -> Self:
        """Name the absent column, the nearest spelling, and the columns that are there."""
        names = list(available)
        near = difflib.get_close_matches(name, names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return cls(f"There is no column {name!r}.{hint} The source has: {_listed(names)}.")

    @classmethod
    def bad_value(cls, column: str, row: int | None, got: object, remedy: str) -> Self:
        """Name the column, the first row (counted from 0) that cannot be used, and the remedy."""
        where = f"column {column!r}" if row is None else f"column {column!r}, row {row}"
        error = cls(f"In {where} there is {got}. {remedy}")
        error.place = (column, row, got, remedy)
        return error

    place: tuple[str, int | None, object, str] | None = None

    def moved(self, rows: int) -> Self:
        """The same error, its row counted from `rows` further up."""
        column, row, got, remedy = self.place or ("", None, "", "")
        if row is None:
            return self
        return self.bad_value(column, row + rows, got, remedy)


class BoundsError(InputError):
    """A value lies outside the grid, or a bound is not a positive finite number."""


class UnsupportedPair(InputError):
    """Two parts were put together that do not fit, such as a mechanism and a norm."""


class PrivacyError(SufficeError):
    """The request cannot be answered within the guarantee that was promised."""


class BudgetExceeded(PrivacyError):
    """The ledger has less left than the request costs; nothing was spent."""

    def __init__(self, asked: object, remaining: object, charges: Iterable[str] = ()) -> None:
        self.asked = asked
        self.remaining = remaining
        self.charges = tuple(charges)
        spent = "".join(f"\n  {line}" for line in self.charges) or " nothing yet"
        super().__init__(
            f"This release costs {asked}, and {remaining} is left. Nothing was spent. "
            f"Ask for less, or have the budget raised by its holder. The budget went to:{spent}"
        )

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the parts, so that workers can hand the error back."""
        return type(self), (self.asked, self.remaining, self.charges)


class UnboundedSensitivity(PrivacyError):
    """One person could change the statistic by more than anything that was declared."""


class GuaranteeUnknown(PrivacyError):
    """No promise can be computed for this mechanism with this statistic and unit."""


class UnprotectedRefused(PrivacyError):
    """A release without a guarantee was asked of a ledger that does not allow it."""


class ReleaseError(SufficeError):
    """A release cannot be read, trusted or used."""


class ReleaseMismatch(ReleaseError, ValueError):
    """The release belongs to other rows, columns or settings than those it was given with."""


class ReleaseUnreadable(ReleaseError):
    """The bytes are not a release, or are damaged."""


class FormatTooNew(ReleaseError):
    """The file was written in a format that this version does not know."""


class SealBroken(ReleaseError):
    """The seal is absent, was made by another key, or does not fit the bytes."""


class ExchangeError(SufficeError):
    """The other side did not answer with a release."""


class Refused(ExchangeError):
    """The owner's policy does not admit the request."""


class Unreachable(ExchangeError):
    """The owner's service could not be reached."""


class AlreadyReleased(ExchangeError):
    """The same key was used before with another request."""


class MissingExtra(SufficeError, ImportError):
    """An optional dependency is needed for this."""

    @classmethod
    def named(cls, library: str, extra: str) -> Self:
        """Name the library and the command that installs it."""
        return cls(f"This needs {library}, which is not installed. Run: pip install 'suffice[{extra}]'")


class UtilityWarning(UserWarning):
    """The noise is larger than the signal, so a result should not be relied on."""


def _listed(names: list[str], most: int = 12) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f", and {len(names) - most} more" if len(names) > most else "")
