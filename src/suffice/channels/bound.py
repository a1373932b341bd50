"""Logarithms and exponentials that are never on the wrong side of the exact number.

They are taken with sixty decimal digits and then moved by 10^-40 of themselves, far more than those
digits can be wrong.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

from suffice.core.errors import InputError

__all__ = ["above", "exp_below", "log_above", "positive", "share"]

_WORK = Context(prec=60, Emax=999_999, Emin=-999_999)
_SLACK = Fraction(1, 10**40)
_MOST = 1000


def exp_below(power: Fraction) -> Fraction:
    """A number at most e^power, and hardly less; beyond a power of 1000 it stays where it is."""
    value = Fraction(*_WORK.exp(_decimal(min(power, Fraction(_MOST)))).as_integer_ratio())
    return value * (1 - _SLACK)


def log_above(number: Fraction, times: int = 1) -> float:
    """A double, hardly too large, that is at least `times` the natural logarithm of a number."""
    if number <= 1:
        return 0.0
    value = times * Fraction(*_WORK.ln(_decimal(number)).as_integer_ratio())
    return above(value + _SLACK * (times + value))


def above(number: Fraction) -> float:
    """The number as a double that is not below it."""
    near = float(number)
    return near if near >= number else math.nextafter(near, math.inf)


def positive(name: str, value: float | Fraction) -> Fraction:
    """The exact value of a finite number above 0."""
    known = isinstance(value, int | float | Fraction) and not isinstance(value, bool)
    if not known or not math.isfinite(value) or value <= 0:
        raise InputError(f"{name}= is a finite number above 0, and got {value!r}.")
    return Fraction(value)


def share(name: str, value: float | Fraction) -> Fraction:
    """The exact value of a probability."""
    known = isinstance(value, int | float | Fraction) and not isinstance(value, bool)
    if not known or not 0 <= value <= 1:
        raise InputError(f"{name}= is a probability from 0 to 1, and got {value!r}.")
    return Fraction(value)


def _decimal(value: Fraction) -> Decimal:
    return _WORK.divide(Decimal(value.numerator), Decimal(value.denominator))
