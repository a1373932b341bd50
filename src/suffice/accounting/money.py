"""Privacy as whole numbers, so that a ledger adds and compares without rounding.

One unit is 10^-9 of epsilon, 10^-12 of rho, 10^-18 of delta, and what is left over is rounded up.
A float stands for the shortest decimal number that denotes it, which is the number its writer
typed: ten charges of 0.1 fill a budget of 1.0 to the last unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from suffice.accounting.composition import balanced_of_zcdp, zcdp_of_pure
from suffice.core.errors import InputError, UnsupportedPair
from suffice.core.guarantees import ApproxDP, NotPrivate, Promise, PureDP, ZeroConcentratedDP

__all__ = ["Amount", "cost", "reading"]

_UNITS = {"PureDP": 10**9, "ApproxDP": 10**9, "ZeroConcentratedDP": 10**12}
_DELTA_UNITS = 10**18
_MOST = 2**62  # two amounts still add up within a signed 64-bit integer


@final
@dataclass(frozen=True, slots=True)
class Amount:
    """A sum in one currency, in whole units; zero is allowed."""

    currency: str
    units: int
    delta_units: int = 0

    @classmethod
    def of(cls, promise: Promise) -> Amount:
        """What the promise costs in its own currency, rounded up."""
        match promise:
            case PureDP(epsilon):
                return _amount("PureDP", reading(epsilon))
            case ApproxDP(epsilon, delta):
                return _amount("ApproxDP", reading(epsilon), reading(delta))
            case ZeroConcentratedDP(rho):
                return _amount("ZeroConcentratedDP", reading(rho))
            case NotPrivate():
                raise InputError(f"Nothing that is not private has a price: {promise}.")

    @property
    def exact(self) -> tuple[Fraction, Fraction]:
        """The epsilon or rho, and the delta, as the exact numbers that the units stand for."""
        return Fraction(self.units, _UNITS[self.currency]), Fraction(self.delta_units, _DELTA_UNITS)

    def minus(self, other: Amount) -> Amount:
        """What is left when the other is taken away."""
        return Amount(self.currency, self.units - other.units, self.delta_units - other.delta_units)

    def within(self, other: Amount) -> bool:
        """No part of this is more than that of the other."""
        return self.units <= other.units and self.delta_units <= other.delta_units

    def share_of(self, total: Amount) -> tuple[Fraction, Fraction]:
        """The larger share of the total's halves that this takes, then the smaller."""
        shares = [Fraction(self.units, total.units)]
        shares.append(Fraction(self.delta_units, total.delta_units) if total.delta_units else Fraction(0))
        return max(shares), min(shares)

    def __str__(self) -> str:
        """The way the promise is printed, with as many digits as are counted."""
        first, delta = (float(part) for part in self.exact)
        if self.currency == "ZeroConcentratedDP":
            return f"rho = {first:.12g}"
        return f"epsilon = {first:.12g}" + (f", delta = {delta:.12g}" if self.currency == "ApproxDP" else "")


def cost(promise: Promise, also: Iterable[Promise], budget: Amount) -> Amount:
    """What a release takes from a budget: the cheapest of the promises that its one draw keeps.

    Each promise that can be stated in the budget's currency is; the cheapest takes the smallest
    share of the budget, where the share of a pair is the larger of its two.
    """
    keeps = (promise, *also)
    prices = [price for kept in keeps if (price := _price(kept, budget)) is not None]
    if not prices:
        raise UnsupportedPair(
            f"The ledger counts {_COUNTS[budget.currency]}, and this release promises only "
            f"{'; '.join(map(str, keeps))}. Take another mechanism, or a ledger of another currency."
        )
    return min(prices, key=lambda price: price.share_of(budget))


_COUNTS = {
    "PureDP": "epsilon alone",
    "ApproxDP": "epsilon and delta",
    "ZeroConcentratedDP": "rho (zero-concentrated privacy)",
}


def reading(value: Fraction | float) -> Fraction:
    """The exact number that is meant: for a float, the shortest decimal that denotes it."""
    if isinstance(value, float):
        return Fraction(float.__repr__(value))
    return Fraction(value)


def _price(promise: Promise, budget: Amount) -> Amount | None:
    match budget.currency, promise:
        case ("PureDP", PureDP()) | ("ApproxDP", ApproxDP()) | ("ZeroConcentratedDP", ZeroConcentratedDP()):
            return Amount.of(promise)
        case "ApproxDP", PureDP(epsilon):
            return _amount("ApproxDP", reading(epsilon))
        case "ZeroConcentratedDP", PureDP(epsilon):
            return _amount("ZeroConcentratedDP", zcdp_of_pure(reading(epsilon)))
        case "ApproxDP", ZeroConcentratedDP(rho):
            return _amount("ApproxDP", *balanced_of_zcdp(reading(rho), *budget.exact))
    return None


def _amount(currency: str, first: Fraction, delta: Fraction = Fraction(0)) -> Amount:
    units, delta_units = math.ceil(first * _UNITS[currency]), math.ceil(delta * _DELTA_UNITS)
    if units >= _MOST:
        raise InputError(f"A ledger counts up to {_MOST // _UNITS[currency]:,}, and got {float(first):g}.")
    return Amount(currency, units, delta_units)
