"""The mean operator in pure Python whole numbers, from the rule as it is written, for comparison."""

from __future__ import annotations

import math
from fractions import Fraction


def round_half_even(value: float) -> int:
    """The nearest whole number to a double, ties to the even one, by exact fractions."""
    return round(Fraction(value))


def grid_row(values: list[float], centres: list[float], scales: list[float], bits: int) -> list[int]:
    """One row of numbers and the intercept, on the grid: three rounded double operations, then rint."""
    unit = float(2**bits) / math.sqrt(len(values) + 1)
    row = [
        round_half_even((value - centre) * (1.0 / scale) * unit)
        for value, centre, scale in zip(values, centres, scales, strict=True)
    ]
    return [*row, round_half_even(unit)]


def shortened(row: list[int], norm: object, radius: int) -> list[int]:
    """sign(q)·⌊|q|·R/f⌋ with f the larger of R and the norm rounded up."""
    if norm == 1:
        length = sum(map(abs, row))
    elif norm == 2:
        square = sum(q * q for q in row)
        length = math.isqrt(square - 1) + 1 if square else 0
    else:
        length = max(map(abs, row))
    factor = max(radius, length)
    return [(abs(q) * radius // factor) * (1 if q > 0 else -1) for q in row]


def signed_sum(rows: list[list[int]], signs: list[int]) -> list[int]:
    """Σ y·q in whole numbers."""
    return [sum(sign * row[j] for sign, row in zip(signs, rows, strict=True)) for j in range(len(rows[0]))]
