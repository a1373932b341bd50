"""The one sampler: continuous noise, rounded exactly to the integers.

Infinitely many uniform bits would define one ideal point of a continuous law. A draw reads a
finite prefix of every bit string, encloses the ideal point in balls, and reads further until
each coordinate has only one nearest integer left. What comes out is therefore the rounding of
the ideal point itself, and not of an approximation (docs/proofs/sampler.md).

The sum that the noise protects is never seen here: rounding commutes with adding an integer, so
the bits read and the time taken do not depend on data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import prod
from typing import final

from suffice.core.errors import InputError, PrivacyError
from suffice.core.randomness import octets
from suffice.mechanisms.ball import arb, enclose, precision

__all__ = [
    "Ideal",
    "cube",
    "exactly_rounded",
    "gaussian",
    "l2_laplace",
    "laplace",
    "rounded_cube",
    "rounded_gaussian",
    "rounded_l2_laplace",
    "rounded_laplace",
]

START_BITS = 256
MOST_ROUNDS = 10
_GUARD_BITS = 16


@final
@dataclass(frozen=True, slots=True)
class Ideal:
    """A law as a function of independent uniforms: `scale` times the point they map to."""

    uniforms: int
    point: Callable[[list[arb]], list[arb]]
    scale: Fraction


def rounded_laplace(scale: Fraction, dimension: int) -> list[int]:
    """Independent noise with density proportional to exp(-|b| / scale), rounded."""
    return exactly_rounded(laplace(scale, dimension))


def rounded_l2_laplace(scale: Fraction, dimension: int, *, classes: int | None = None) -> list[int]:
    """Noise with density proportional to exp(-‖b‖₂ / scale), rounded.

    With `classes` = K the noise lives on K blocks of `dimension` coordinates that sum to zero
    over the blocks; the first K - 1 blocks come back, one after the other.
    """
    return exactly_rounded(l2_laplace(scale, dimension, classes=classes))


def rounded_gaussian(stddev: Fraction, dimension: int, *, classes: int | None = None) -> list[int]:
    """Independent normal noise of this standard deviation, rounded; `classes` as for L2."""
    return exactly_rounded(gaussian(stddev, dimension, classes=classes))


def rounded_cube(scale: Fraction, dimension: int) -> list[int]:
    """Noise with density proportional to exp(-max|b| / scale), rounded."""
    return exactly_rounded(cube(scale, dimension))


def laplace(scale: Fraction, dimension: int) -> Ideal:
    """Each coordinate is the logarithm of a ratio of two uniforms."""
    _check(scale, dimension, classes=None)
    return Ideal(2 * dimension, _laplace_point, scale)


def l2_laplace(scale: Fraction, dimension: int, *, classes: int | None = None) -> Ideal:
    """A normal vector times the root of an independent chi-square of one more degree."""
    freedom = _check(scale, dimension, classes)
    half, odd = divmod(freedom + 1, 2)
    normals = freedom + odd

    def point(uniforms: list[arb]) -> list[arb]:
        drawn = _normals(uniforms[half:])
        squared = -2 * prod(uniforms[1:half], start=uniforms[0]).log()
        if odd:
            squared += drawn[freedom] * drawn[freedom]
        radius = squared.sqrt()
        return [radius * normal for normal in _contrast(drawn[:freedom], classes)]

    return Ideal(half + _paired(normals), point, scale)


def gaussian(stddev: Fraction, dimension: int, *, classes: int | None = None) -> Ideal:
    """A normal vector, or its projection to the blocks that sum to zero."""
    freedom = _check(stddev, dimension, classes)

    def point(uniforms: list[arb]) -> list[arb]:
        return _contrast(_normals(uniforms)[:freedom], classes)

    return Ideal(_paired(freedom), point, stddev)


def cube(scale: Fraction, dimension: int) -> Ideal:
    """A uniform point of the cube [-1, 1]^d times an independent Gamma(d + 1) length."""
    _check(scale, dimension, classes=None)

    def point(uniforms: list[arb]) -> list[arb]:
        length = -prod(uniforms[dimension + 1 :], start=uniforms[dimension]).log()
        return [length * (2 * uniform - 1) for uniform in uniforms[:dimension]]

    return Ideal(2 * dimension + 1, point, scale)


def exactly_rounded(
    law: Ideal, *, start_bits: int = START_BITS, read: Callable[[int], bytes] = octets
) -> list[int]:
    """The ideal point of `law`, every coordinate rounded to its nearest integer.

    When a coordinate is undecided, the bits of *all* uniforms are extended: drawing afresh, or
    extending one of them, would favour the points that are easy to decide. Nothing read is kept.
    """
    if start_bits < 1 or start_bits % 8:
        raise InputError(f"Bits are read in whole bytes; got start_bits={start_bits}. Take a multiple of 8.")
    digits = [0] * law.uniforms
    known, more = 0, start_bits
    for _ in range(MOST_ROUNDS):
        digits = _extended(digits, read(law.uniforms * more // 8), more)
        known += more
        rounded = _attempt(law, digits, known)
        if rounded is not None:
            return rounded
        more = known
    raise PrivacyError(
        f"The noise is still undecided after {known} bits per uniform, and it is never guessed. "
        f"Either the scale {float(law.scale):.3g} is far too large for a release, or the source of "
        "random bytes is broken."
    )


def _attempt(law: Ideal, digits: list[int], known: int) -> list[int] | None:
    """The rounded point if these digits decide every coordinate, else nothing."""
    with precision(known + _GUARD_BITS):
        cell, half = arb((1, -known)), arb(0.5)
        somewhere = arb(half, half)  # a digit string stands for its whole cell, ends included
        uniforms = [(somewhere + digit) * cell for digit in digits]
        scale = enclose(law.scale)
        nearest = [(scale * x + half).floor().unique_fmpz() for x in law.point(uniforms)]
    decided = [int(integer) for integer in nearest if integer is not None]
    return decided if len(decided) == len(nearest) else None


def _extended(digits: list[int], fresh: bytes, more: int) -> list[int]:
    size = more // 8
    pieces = range(0, len(fresh), size)
    return [
        digit << more | int.from_bytes(fresh[at : at + size], "big")
        for digit, at in zip(digits, pieces, strict=True)
    ]


def _laplace_point(uniforms: list[arb]) -> list[arb]:
    return [(u / v).log() for u, v in zip(uniforms[::2], uniforms[1::2], strict=True)]


def _normals(uniforms: list[arb]) -> list[arb]:
    """Independent standard normals, two from each pair of uniforms (Box and Muller)."""
    pairs = zip(uniforms[::2], uniforms[1::2], strict=True)
    return list(chain.from_iterable(_normal_pair(u, v) for u, v in pairs))


def _normal_pair(u: arb, v: arb) -> tuple[arb, arb]:
    radius = (-2 * u.log()).sqrt()
    sine, cosine = (v + v).sin_cos_pi()
    return radius * sine, radius * cosine


def _paired(normals: int) -> int:
    """How many uniforms make this many normals: they come in pairs."""
    return normals + normals % 2


def _contrast(normals: list[arb], classes: int | None) -> list[arb]:
    """The first K - 1 of K normal blocks after their mean block is taken away.

    Their covariance over blocks is I - J/K, whose symmetric root is I - J·(1 - 1/√K)/(K - 1).
    """
    if classes is None:
        return normals
    width = len(normals) // (classes - 1)
    weight = (1 - arb(classes).rsqrt()) / (classes - 1)
    shared = [weight * sum(normals[at::width], start=arb(0)) for at in range(width)]
    return [normal - shared[at % width] for at, normal in enumerate(normals)]


def _check(scale: Fraction, dimension: int, classes: int | None) -> int:
    """The dimension of the space in which the noise lives, once the numbers make sense."""
    if scale <= 0:
        raise InputError(f"A scale of noise is a positive Fraction of grid units; got {scale}.")
    if dimension < 1:
        raise InputError(f"Noise needs at least one coordinate; got dimension={dimension}.")
    if classes is not None and classes < 2:
        raise InputError(f"A contrast needs at least two classes; got classes={classes}.")
    return dimension if classes is None else dimension * (classes - 1)
