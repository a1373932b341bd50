"""How promises add up and turn into each other: closed forms, never below the true value.

Proofs: docs/proofs/composition.md. Numbers are fractions; a logarithm or an exponential is taken
with sixty decimal digits and then moved up by 10^-30, far more than those digits can be wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

__all__ = ["approx_of_zcdp", "balanced_of_zcdp", "zcdp_of_pure"]

_WORK = Context(prec=60)
_UP = Context(prec=60, rounding=ROUND_CEILING)
_DOWN = Context(prec=60, rounding=ROUND_FLOOR)
_SLACK = Fraction(1, 10**30)
_LARGE = 1000  # beyond this epsilon, tanh(epsilon/2) is 1 to more digits than are carried


def zcdp_of_pure(epsilon: Fraction) -> Fraction:
    """A rho that every epsilon-DP mechanism keeps: epsilon tanh(epsilon/2), attained by a fair choice."""
    if epsilon >= _LARGE:
        return epsilon
    growth = _fraction(_WORK.exp(_decimal(epsilon, _UP)))
    return min(epsilon * (1 - 2 / (growth + 1)) + _SLACK, epsilon * epsilon / 2, epsilon)


def approx_of_zcdp(rho: Fraction, delta: Fraction) -> Fraction:
    """An epsilon such that every rho-zCDP mechanism is (epsilon, delta)-DP.

    The least value over the order a of a rho + log(1 - 1/a) - log(a delta)/(a - 1), found
    in doubles and evaluated exactly at the order found; any order gives a valid bound.
    """
    order = 1 + Fraction(math.exp(_least_at(_curve(float(rho), math.log(delta)))))
    log_order, log_delta = _log(order, _DOWN), _log(delta, _DOWN)
    value = order * rho + _log(1 - 1 / order, _UP) - (log_delta + log_order) / (order - 1)
    return max(value + 2 * _SLACK * (1 + 1 / (order - 1)), Fraction(0))


def balanced_of_zcdp(rho: Fraction, epsilon: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    """The (epsilon, delta) of a rho-zCDP mechanism that takes the same share of both halves of a budget.

    Of all pairs that the mechanism keeps, this one fits the budget (epsilon, delta) the most
    often. The share of delta never exceeds the whole.
    """
    low, high = math.log(1e-18), 0.0
    for _ in range(48):
        middle = (low + high) / 2
        curve = _curve(float(rho), middle + math.log(delta))
        too_little = curve(_least_at(curve)) > math.exp(middle) * epsilon
        low, high = (middle, high) if too_little else (low, middle)
    part = delta * min(Fraction(math.exp(high)), Fraction(1))
    return approx_of_zcdp(rho, part), part


def _curve(rho: float, log_delta: float) -> Callable[[float], float]:
    def height(position: float) -> float:
        excess = math.exp(position)
        log_order = math.log1p(excess)
        return rho * (1 + excess) + position - log_order - (log_delta + log_order) / excess

    return height


def _least_at(height: Callable[[float], float]) -> float:
    low, high = -25.0, 60.0
    for _ in range(90):
        third = (high - low) / 3
        if height(low + third) <= height(high - third):
            high -= third
        else:
            low += third
    return (low + high) / 2


def _decimal(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def _fraction(value: Decimal) -> Fraction:
    return Fraction(*value.as_integer_ratio())


def _log(value: Fraction, context: Context) -> Fraction:
    return _fraction(_WORK.ln(_decimal(value, context)))
