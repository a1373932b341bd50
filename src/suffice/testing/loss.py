"""What a loss must fulfil: a straight odd part, and derivatives and a link that are its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from suffice.maths.linear_odd import LinearOdd, loss_named
from suffice.testing.law import must

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["check_loss"]

_MARGINS = np.concatenate([np.linspace(-12.0, 12.0, 241)[::3] + 0.0317, [-1e3, -40.0, 40.0, 1e3]])
_CLOSE = 2e-5


def check_loss(loss: str | LinearOdd | Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> LinearOdd:
    """Raise LawBroken unless the loss keeps every law; the loss as it is used is what comes back.

    A function of the margin is split into its parts first, which refuses it in words of its own if its
    odd part is no straight line.
    """
    made = loss_named(loss) if isinstance(loss, str | LinearOdd) else LinearOdd.from_function(loss)
    _check_parts(made)
    _check_slopes(made)
    _check_existence(made)
    if made.link is not None:
        _check_link(made)
    return made


def _near(one: NDArray[np.float64], two: NDArray[np.float64], scale: float = 1e-9) -> NDArray[np.bool_]:
    return np.abs(one - two) <= scale * (1 + np.abs(one) + np.abs(two))


def _where(z: NDArray[np.float64], fine: NDArray[np.bool_]) -> str:
    return f"It fails at the margin {z[int(np.argmin(fine))]:.6g}."


def _check_parts(loss: LinearOdd) -> None:
    z = _MARGINS
    value, mirrored = loss.value(z), loss.value(-z)
    must(np.isfinite(value).all(), "the loss is finite", _where(z, np.isfinite(value)))
    odd = _near(value - mirrored, -loss.a * z)
    must(odd.all(), "f(z) - f(-z) is -a z", _where(z, odd))
    even = _near(np.asarray(loss.even(z)), np.asarray(loss.even(-z)))
    must(even.all(), "the even part is even", _where(z, even))


def _check_slopes(loss: LinearOdd) -> None:
    """First and second derivative of the even part, beside differences of it, away from its corners."""
    z = _MARGINS[np.abs(_MARGINS) < 100]
    step = 1e-4
    smooth = np.abs(_second(loss, z, step) - _second(loss, z, step / 2)) < 1e-2
    slope = (loss.even(z + step) - loss.even(z - step)) / (2 * step)
    fine = _near(slope, loss.even_gradient(z), _CLOSE) | ~smooth
    must(fine.all(), "the derivative is that of the even part", _where(z, fine))
    bend = (loss.even_gradient(z + step) - loss.even_gradient(z - step)) / (2 * step)
    fine = _near(bend, loss.even_curvature(z), 1e-3) | ~smooth
    must(fine.all(), "the second derivative is that of the even part", _where(z, fine))


def _second(loss: LinearOdd, z: NDArray[np.float64], step: float) -> NDArray[np.float64]:
    found: NDArray[np.float64] = (loss.even(z + step) + loss.even(z - step) - 2 * loss.even(z)) / step**2
    return found


def _check_existence(loss: LinearOdd) -> None:
    told = LinearOdd(loss.even, loss.a).existence
    must(
        loss.existence == told,
        "the class of existence follows from how the even part grows",
        f"The loss says {loss.existence!r}, and its growth {told!r}.",
    )


def _check_link(loss: LinearOdd) -> None:
    z = np.sort(_MARGINS)
    chance, mirrored = loss.probability(z), loss.probability(-z)
    inside = (chance >= 0) & (chance <= 1)
    must(inside.all(), "the link is a probability", _where(z, inside))
    must(
        (np.diff(chance) >= -1e-12).all(), "the link does not fall", _where(z[1:], np.diff(chance) >= -1e-12)
    )
    sums = _near(chance + mirrored, np.ones_like(chance))
    must(sums.all(), "the two classes share the probability", _where(z, sums))
    between = (chance > 1e-6) & (chance < 1 - 1e-6) & (np.abs(z) < 10)
    slope = loss.even_gradient(z) - loss.a / 2
    back = loss.even_gradient(-z) - loss.a / 2
    best = _near(chance * slope, (1 - chance) * back, _CLOSE) | ~between
    must(best.all(), "a margin minimises the risk at the probability that it stands for", _where(z, best))
