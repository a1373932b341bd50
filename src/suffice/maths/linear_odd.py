"""Linear-odd losses: f(z) - f(-z) = -a z, so that labels enter the risk through their mean operator alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.core.errors import InputError
from suffice.maths.generator import Generator

Array: TypeAlias = NDArray[np.float64]
Function: TypeAlias = Callable[[Array], Array]
Existence: TypeAlias = Literal["zonotope", "span", "penalty"]

_GRID = np.concatenate([np.geomspace(1e-3, 1e3, 61), np.linspace(0.05, 12.0, 240)])
_FAR = np.array([1e5, 2e5, 1e6, 2e6])


@final
@dataclass(frozen=True, slots=True)
class LinearOdd:
    """A loss of the margin whose odd part is linear: f(z) = even(z) - a z / 2.

    For fixed `a` every even function gives exactly one such loss (docs/proofs/linear_odd.md).
    `existence` says where the unpenalised objective has a finite infimum: "zonotope", the mean
    operator must lie in {X's/m : s in [-1, 1]^m}; "span", in the span of the rows; "penalty",
    nowhere, a penalty is always needed. Left out, it is read off the growth of the even part.
    """

    even: Function
    a: float
    derivative: Function | None = None
    second: Function | None = None
    name: str = "custom"
    link: Function | None = None
    existence: Existence | Literal["derive"] = "derive"
    smooth: bool = True

    def __post_init__(self) -> None:
        if not np.isfinite(self.a):
            msg = f"the coefficient a of a linear-odd loss must be finite, got {self.a}"
            raise InputError(msg)
        with np.errstate(over="ignore", invalid="ignore"):
            left, right = self.even(-_GRID), self.even(_GRID)
        if not (np.isfinite(right).all() and np.allclose(left, right, rtol=1e-10, atol=1e-12)):
            msg = (
                f"the even part of the loss {self.name!r} must be finite with even(-z) = even(z); "
                "to start from a whole loss use LinearOdd.from_function"
            )
            raise InputError(msg)
        if self.existence == "derive":
            object.__setattr__(self, "existence", _growth(self.even, self.a))

    @classmethod
    def from_function(
        cls,
        f: Function,
        *,
        derivative: Function | None = None,
        second: Function | None = None,
        name: str = "custom",
        link: Function | None = None,
    ) -> LinearOdd:
        """Split a user's own loss of the margin; refuse it unless f(z) - f(-z) = -a z on a wide grid."""
        a = _odd_coefficient(f, name)
        slope = None if derivative is None else _Shifted(derivative, a / 2)
        even = _EvenPart(f)
        return cls(even, a, slope, second, name, link, smooth=_flat_at_zero(even))

    @classmethod
    def from_generator(cls, phi: Function, slope: Function, *, name: str = "proper") -> LinearOdd:
        """The symmetric proper loss of a permissible generator: convex, symmetric about 1/2, slope given."""
        generator = Generator(phi, slope)
        return cls(
            generator.even,
            1.0 / generator.height,
            generator.even_gradient,
            name=name,
            link=generator.probability,
            existence="zonotope",
        )

    @property
    def curvature_at_zero(self) -> float:
        """even''(0), the curvature that a row has before anything is learned."""
        return float(self.even_curvature(np.zeros(1))[0])

    @property
    def convex(self) -> bool:
        """Whether the even part, and with it the loss, is convex on a wide grid."""
        z = np.linspace(-12.0, 12.0, 481)
        slack = 1e-9 * (1.0 + np.abs(self.even(z[1:-1])))
        return bool((self.even(z[2:]) + self.even(z[:-2]) - 2 * self.even(z[1:-1]) >= -slack).all())

    def value(self, z: ArrayLike) -> Array:
        """The loss at margin z."""
        margins = np.asarray(z, dtype=np.float64)
        return self.even(margins) - self.a * margins / 2

    def even_gradient(self, z: ArrayLike) -> Array:
        """Derivative of the even part; by a five-point formula where none was given."""
        margins = np.asarray(z, dtype=np.float64)
        return _slope(self.even, margins) if self.derivative is None else self.derivative(margins)

    def even_curvature(self, z: ArrayLike) -> Array:
        """Second derivative of the even part; numerical where none was given."""
        margins = np.asarray(z, dtype=np.float64)
        if self.second is not None:
            return self.second(margins)
        if self.derivative is not None:
            return _slope(self.derivative, margins)
        return _bend(self.even, margins)

    def probability(self, z: ArrayLike) -> Array:
        """The probability of the positive class that a margin stands for."""
        if self.link is None:
            msg = f"the loss {self.name!r} estimates no probability; use logistic, or predict classes only"
            raise InputError(msg)
        return self.link(np.asarray(z, dtype=np.float64))


@final
@dataclass(frozen=True, slots=True)
class _EvenPart:
    f: Function

    def __call__(self, z: Array) -> Array:
        return (np.asarray(self.f(z), dtype=np.float64) + np.asarray(self.f(-z), dtype=np.float64)) / 2


@final
@dataclass(frozen=True, slots=True)
class _Shifted:
    derivative: Function
    shift: float

    def __call__(self, z: Array) -> Array:
        return self.derivative(z) + self.shift


@final
@dataclass(frozen=True, slots=True)
class _Tent:
    rho: float

    def __call__(self, z: Array) -> Array:
        return self.rho * np.abs(z) + 1.0


@final
@dataclass(frozen=True, slots=True)
class _TentSlope:
    rho: float

    def __call__(self, z: Array) -> Array:
        return self.rho * np.sign(z)


def perceptron(rho: float = 1.0) -> LinearOdd:
    """The loss 1 + 2 rho max(0, -z); `minimise` refuses it, since any norm penalty makes theta = 0 best.

    It is here for what it shows: a linear-odd loss that is not differentiable.
    """
    if not rho > 0:
        msg = f"rho must be positive, got {rho}"
        raise InputError(msg)
    return LinearOdd(
        _Tent(rho), 2.0 * rho, _TentSlope(rho), _zero, "perceptron", None, "zonotope", smooth=False
    )


def loss_named(loss: str | LinearOdd) -> LinearOdd:
    """The loss of a name, or the loss itself; any other name is refused with the reason."""
    if isinstance(loss, LinearOdd):
        return loss
    if loss in LOSSES:
        return LOSSES[loss]
    if loss in _REFUSED:
        msg = f"the loss {loss!r} is not linear-odd: {_REFUSED[loss]}; use one of {', '.join(LOSSES)}"
        raise InputError(msg)
    msg = f"no loss is called {loss!r}; use one of {', '.join(LOSSES)}, or a LinearOdd of your own"
    raise InputError(msg)


def _growth(even: Function, a: float) -> Existence:
    """Compare the slope of the even part at infinity with a/2."""
    values = even(_FAR)
    near, far = (values[1] - values[0]) / 1e5, (values[3] - values[2]) / 1e6
    if not np.isfinite(far) or far > 2.0 * abs(near) + 1e-9:
        return "span"
    return "zonotope" if far >= abs(a) / 2 * (1 - 1e-6) and a != 0 else "penalty"


def _odd_coefficient(f: Function, name: str) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        right, left = np.asarray(f(_GRID), dtype=np.float64), np.asarray(f(-_GRID), dtype=np.float64)
        ratio = -(right - left) / _GRID
        a = float(np.median(ratio))
        allowed = 1e-9 * (1.0 + np.abs(right) + np.abs(left))
        holds = np.isfinite(right) & np.isfinite(left) & (np.abs(right - left + a * _GRID) <= allowed)
    if bool(holds.all()):
        return a
    low, high = int(np.nanargmin(ratio)), int(np.nanargmax(ratio))
    msg = (
        f"the loss {name!r} is not linear-odd: -(f(z) - f(-z))/z must be one number a, "
        f"got {ratio[low]:.6g} at z = {_GRID[low]:.6g} and {ratio[high]:.6g} at z = {_GRID[high]:.6g}; "
        "with such a loss (the hinge is one) labels enter the risk through more than their mean operator"
    )
    raise InputError(msg)


def _flat_at_zero(even: Function) -> bool:
    steps = np.array([0.0, 1e-6])
    values = even(steps)
    return bool(abs(values[1] - values[0]) <= 1e-6 * 1e-3)


def _slope(f: Function, z: Array) -> Array:
    h = 1e-3 * np.maximum(1.0, np.abs(z))
    return (8 * (f(z + h) - f(z - h)) - (f(z + 2 * h) - f(z - 2 * h))) / (12 * h)


def _bend(f: Function, z: Array) -> Array:
    h = 1e-2 * np.maximum(1.0, np.abs(z))
    near, far = f(z + h) + f(z - h), f(z + 2 * h) + f(z - 2 * h)
    return (16 * near - far - 30 * f(z)) / (12 * h * h)


def _logistic(z: Array) -> Array:
    t = np.abs(z)
    return t / 2 + np.log1p(np.exp(-t))


def _logistic_slope(z: Array) -> Array:
    return np.tanh(z / 2) / 2


def _logistic_bend(z: Array) -> Array:
    e = np.exp(-np.abs(z))
    return e / (1.0 + e) ** 2


def _sigmoid(z: Array) -> Array:
    e = np.exp(-np.abs(z))
    return np.where(z >= 0, 1.0, e) / (1.0 + e)


def _square(z: Array) -> Array:
    return 1.0 + z * z


def _square_slope(z: Array) -> Array:
    return 2.0 * z


def _square_bend(z: Array) -> Array:
    return np.full_like(z, 2.0)


def _clipped(z: Array) -> Array:
    return (np.clip(z, -1.0, 1.0) + 1.0) / 2


def _matsushita(z: Array) -> Array:
    return np.hypot(1.0, z)


def _matsushita_slope(z: Array) -> Array:
    return z / np.hypot(1.0, z)


def _matsushita_bend(z: Array) -> Array:
    return np.hypot(1.0, z) ** -3


def _matsushita_link(z: Array) -> Array:
    return (1.0 + z / np.hypot(1.0, z)) / 2


def _huber(z: Array) -> Array:
    t = np.abs(z)
    return np.where(t <= 1.0, 1.0 + np.minimum(t, 1.0) ** 2, 2.0 * t)


def _huber_slope(z: Array) -> Array:
    return 2.0 * np.clip(z, -1.0, 1.0)


def _huber_bend(z: Array) -> Array:
    return np.where(np.abs(z) <= 1.0, 2.0, 0.0)


def _one(z: Array) -> Array:
    return np.ones_like(z)


def _zero(z: Array) -> Array:
    return np.zeros_like(z)


LOSSES: Mapping[str, LinearOdd] = MappingProxyType(
    {
        "logistic": LinearOdd(
            _logistic, 1.0, _logistic_slope, _logistic_bend, "logistic", _sigmoid, "zonotope"
        ),
        "square": LinearOdd(_square, 4.0, _square_slope, _square_bend, "square", _clipped, "span"),
        "matsushita": LinearOdd(
            _matsushita, 2.0, _matsushita_slope, _matsushita_bend, "matsushita", _matsushita_link, "zonotope"
        ),
        "unhinged": LinearOdd(_one, 2.0, _zero, _zero, "unhinged", None, "penalty"),
        "linear": LinearOdd(_zero, 2.0, _zero, _zero, "linear", None, "penalty"),
        "modified_huber": LinearOdd(
            _huber, 4.0, _huber_slope, _huber_bend, "modified_huber", _clipped, "zonotope"
        ),
        "perceptron": perceptron(),
    }
)

_REFUSED = {
    "hinge": "max(0, 1 - z) - max(0, 1 + z) is -2z for |z| < 1 and -1 - |z| in size beyond",
    "exponential": "exp(-z) - exp(z) is -2 sinh(z)",
    "squared_hinge": "max(0, 1 - z)^2 - max(0, 1 + z)^2 is -4z for |z| < 1 and -(1 + |z|)^2 in size beyond",
}
