"""How much noise a promise needs, and what a given noise promises.

Every function is directed: a scale is never too small, a delta or a rho never understated.
Epsilon, delta and sensitivity are taken as the exact numbers that they are (a float is its binary
value), scales come back as fractions in the unit of the sensitivity. A shift below the
sensitivity never does more harm than the sensitivity itself, because every law here is
log-concave (docs/proofs/l2_laplace.md, lemma 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from suffice.core.errors import InputError
from suffice.mechanisms.ball import acb, arb, enclose, fraction_above, precision

__all__ = [
    "cube_scale",
    "exponential_rho",
    "gaussian_delta",
    "gaussian_rho",
    "gaussian_stddev",
    "l2_laplace_delta",
    "l2_laplace_scale",
    "laplace_rho",
    "laplace_scale",
    "pure_rho",
]

_Loss = Callable[[int], arb]  # a ball around the exact number, from this many working bits

_WORKING_BITS = (64, 128, 256, 512, 1024, 2048, 4096)
_GOOD_BITS = 40  # an upper bound within 2^-40 of the exact number is sharp enough
_SEARCH_STEPS = 34  # and so is a scale within 2^-34 of the least one


def laplace_scale(l1: Fraction | float, epsilon: Fraction | float) -> Fraction:
    """The scale at which independent Laplace noise keeps `epsilon` exactly, for this l1 sensitivity."""
    return _positive("sensitivity", l1) / _positive("epsilon", epsilon)


def cube_scale(linf: Fraction | float, epsilon: Fraction | float) -> Fraction:
    """The scale at which cube noise keeps `epsilon` exactly, for this max-norm sensitivity."""
    return _positive("sensitivity", linf) / _positive("epsilon", epsilon)


def l2_laplace_scale(
    sensitivity: Fraction | float, epsilon: Fraction | float, delta: Fraction | float, dimension: int
) -> Fraction:
    """The least scale, rounded up, at which round Laplace noise keeps (epsilon, delta).

    `dimension` is that of the space in which the noise is round, d(K-1) for K class blocks.
    At delta = 0 this is sensitivity/epsilon, and it is never more.
    """
    shift, level = _positive("sensitivity", sensitivity), _positive("epsilon", epsilon)
    freedom = _whole(dimension)
    if delta == 0:
        return shift / level
    target = _probability(delta)

    def keeps(scale: Fraction) -> bool:
        return _at_most(_l2_laplace_loss(scale, level, freedom), target)

    return shift * min(_least(keeps, Fraction(2) ** (-math.floor(math.log2(level)))), 1 / level)


def gaussian_stddev(
    sensitivity: Fraction | float, epsilon: Fraction | float, delta: Fraction | float
) -> Fraction:
    """The least standard deviation, rounded up, at which normal noise keeps (epsilon, delta)."""
    shift, level = _positive("sensitivity", sensitivity), _positive("epsilon", epsilon)
    target = _probability(delta)

    def keeps(stddev: Fraction) -> bool:
        return _at_most(_gaussian_loss(stddev, level), target)

    return shift * _least(keeps, Fraction(1))


def gaussian_delta(
    sensitivity: Fraction | float, stddev: Fraction | float, epsilon: Fraction | float
) -> Fraction:
    """The delta that normal noise of this standard deviation keeps at `epsilon`, rounded up."""
    ratio = _positive("stddev", stddev) / _positive("sensitivity", sensitivity)
    return min(Fraction(1), _bound(_gaussian_loss(ratio, _positive("epsilon", epsilon))))


def l2_laplace_delta(
    sensitivity: Fraction | float, scale: Fraction | float, epsilon: Fraction | float, dimension: int
) -> Fraction:
    """The delta that round Laplace noise of this scale keeps at `epsilon`, rounded up."""
    ratio = _positive("scale", scale) / _positive("sensitivity", sensitivity)
    level = _positive("epsilon", epsilon)
    return min(Fraction(1), _bound(_l2_laplace_loss(ratio, level, _whole(dimension))))


def laplace_rho(epsilon: Fraction | float) -> Fraction:
    """The least rho of Laplace noise that keeps `epsilon`: epsilon + e^-epsilon - 1, rounded up."""
    level = _positive("epsilon", epsilon)
    return _bound(lambda _bits: enclose(level) + (-enclose(level)).expm1())


def pure_rho(epsilon: Fraction | float) -> Fraction:
    """The least rho of all mechanisms that keep `epsilon`: epsilon tanh(epsilon/2), rounded up.

    Binary randomised response attains it.
    """
    level = _positive("epsilon", epsilon)
    return _bound(lambda _bits: enclose(level) * enclose(level / 2).tanh())


def exponential_rho(epsilon: Fraction | float) -> Fraction:
    """The rho of a selection whose log-ratios span at most `epsilon`: epsilon²/8."""
    return _positive("epsilon", epsilon) ** 2 / 8


def gaussian_rho(sensitivity: Fraction | float, stddev: Fraction | float) -> Fraction:
    """The least rho of normal noise: sensitivity² / (2 stddev²)."""
    return (_positive("sensitivity", sensitivity) / _positive("stddev", stddev)) ** 2 / 2


def _gaussian_loss(ratio: Fraction, epsilon: Fraction) -> _Loss:
    """Delta of normal noise whose standard deviation is `ratio` sensitivities.

    Φ(1/2r - εr) - e^ε Φ(-1/2r - εr), by complementary error functions.
    """

    def ball(_bits: int) -> arb:
        root = arb(2).rsqrt()
        near = enclose(epsilon * ratio - 1 / (2 * ratio)) * root
        far = enclose(epsilon * ratio + 1 / (2 * ratio)) * root
        return (near.erfc() - enclose(epsilon).exp() * far.erfc()) / 2

    return ball


def _l2_laplace_loss(ratio: Fraction, epsilon: Fraction, dimension: int) -> _Loss:
    """Delta of round Laplace noise whose scale is `ratio` sensitivities."""
    shift = 1 / ratio
    if shift <= epsilon:
        return lambda _bits: arb(0)
    if dimension == 1:
        return lambda _bits: -enclose((epsilon - shift) / 2).expm1()
    return lambda bits: _spheroidal(shift, epsilon, dimension, bits)


def _spheroidal(shift: Fraction, epsilon: Fraction, dimension: int, bits: int) -> arb:
    """The mean of 1 - e^(ε-L) over the privacy losses L > ε, in confocal coordinates.

    With z = shift/2, L = 2z cos φ and the angle φ has on [0, π] the density
    N e^(z cos φ) sin^(d-2) φ (r + sin² φ), where r = (d-1)/z · K_{d/2}(z)/K_{d/2-1}(z) and
    N = Γ(d/2) 2^(d/2-1) z^(d/2+1) K_{d/2-1}(z) / (π Γ(d)). The integrand is entire, and its ends
    are made exact by φ = φ₀u, so the quadrature of balls encloses the exact integral.
    """
    z, half = enclose(shift / 2), enclose(Fraction(dimension, 2))
    low = z.bessel_k(half - 1)
    ratio = (dimension - 1) * z.bessel_k(half) / (z * low)
    norm = half.gamma() * arb(2) ** (half - 1) * z ** (half + 1) * low / (arb.pi() * arb(dimension).gamma())
    level, widest = enclose(epsilon), enclose(epsilon / shift).acos()

    def density(u: acb, _analytic: bool) -> acb:  # noqa: FBT001  (the signature that the library calls)
        sine, cosine = (widest * u).sin_cos()
        gain = -(level - 2 * z * cosine).expm1()
        return gain * (z * cosine).exp() * sine ** (dimension - 2) * (ratio + sine * sine)

    tolerance = arb((1, _GOOD_BITS // 2 - bits)) / (norm * widest)
    return norm * widest * acb.integral(density, 0, 1, abs_tol=tolerance.mid()).real


def _at_most(loss: _Loss, target: Fraction) -> bool:
    """Whether the exact number is at most the target; when that cannot be shown, it is not."""
    for bits in _WORKING_BITS:
        with precision(bits):
            ball, mark = loss(bits), enclose(target)
            if ball <= mark:
                return True
            if ball > mark:
                return False
    return False


def _bound(loss: _Loss) -> Fraction:
    """An upper bound on the exact number, sharp where the working bits suffice."""
    for bits in _WORKING_BITS:
        with precision(bits):
            ball = loss(bits)
            if ball.rel_accuracy_bits() >= _GOOD_BITS:
                break
    return fraction_above(ball)


def _least(keeps: Callable[[Fraction], bool], start: Fraction) -> Fraction:
    """A dyadic number that keeps, at most 2^-34 above the least one; keeping is monotone."""
    high = start
    while not keeps(high):
        high *= 2
    low = high / 2
    while keeps(low):
        low, high = low / 2, low
    for _ in range(_SEARCH_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def _positive(name: str, number: Fraction | float) -> Fraction:
    """The exact value of a positive finite number."""
    if not (math.isfinite(number) and number > 0):
        raise InputError(f"The {name} is a positive finite number; got {number!r}.")
    return Fraction(number)


def _probability(delta: Fraction | float) -> Fraction:
    exact = _positive("delta", delta)
    if exact >= 1:
        raise InputError(f"A delta of {delta!r} promises nothing; take a number below 1.")
    return exact


def _whole(dimension: int) -> int:
    if dimension < 1:
        raise InputError(f"Noise needs at least one coordinate; got dimension={dimension}.")
    return dimension
