"""Ball arithmetic: real numbers known to lie within a radius of a midpoint (python-flint).

Every operation returns a ball that encloses the exact result for every point of its operands.
The precision decides how wide the balls are, never whether they enclose. It is one global of the
library, so whoever sets it holds a lock; a fork waits for the lock, so that a child never
inherits it locked.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import acb, arb, ctx, fmpq

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["acb", "arb", "enclose", "fraction_above", "fraction_below", "precision"]

_LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Run the block with midpoints of this many bits, alone."""
    with _LOCK:
        before = ctx.prec
        ctx.prec = bits
        try:
            yield
        finally:
            ctx.prec = before


def enclose(number: Fraction | int) -> arb:
    """A ball around an exact fraction, at the present precision."""
    return arb(fmpq(number.numerator, number.denominator))


def fraction_above(ball: arb) -> Fraction:
    """An exact fraction that is at least every point of a finite ball."""
    return _exact(ball.upper())


def fraction_below(ball: arb) -> Fraction:
    """An exact fraction that is at most every point of a finite ball."""
    return _exact(ball.lower())


def _exact(point: arb) -> Fraction:
    mantissa, exponent = point.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
