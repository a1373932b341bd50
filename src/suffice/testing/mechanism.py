"""What a mechanism must fulfil: a promise that follows from its law, and noise that follows the law, too."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy import special, stats

from suffice.accounting.composition import approx_of_zcdp
from suffice.auditing.release_file import kept
from suffice.auditing.score import scores
from suffice.auditing.two_world import TwoWorlds, two_worlds
from suffice.core.bounds import Sensitivity
from suffice.core.codec import canonical
from suffice.core.guarantees import PROMISES, ApproxDP, NotPrivate, PureDP
from suffice.core.laws import LAWS, Cube, Gaussian, L2Laplace, Laplace, NoLaw
from suffice.testing.law import must, trying

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from suffice.core.guarantees import Promise
    from suffice.core.laws import Law
    from suffice.core.protocols import Additive

__all__ = ["Tested", "check_mechanism"]

_MOVE = (1 << 21) - 1  # odd, so that lowest digits differ between worlds
_SHAPES = ((1, 2), (5, 2), (3, 4))
_PASS = 1e-5
_ZCDP_DELTA = 1e-6


@final
@dataclass(frozen=True, slots=True)
class Tested:
    """What was seen: the smallest p-value of the fit, and what two worlds show of epsilon."""

    fit: float
    worlds: TwoWorlds | None


def check_mechanism(mechanism: Additive, *, draws: int = 20_000, error: float = 1e-4) -> Tested:
    """Raise LawBroken unless the mechanism keeps every law.

    Promise, law and shapes are checked exactly. With `draws` draws the noise is compared with its
    law, and the promise with what two worlds show; a sound mechanism fails with probability below
    `error` + 1e-9, since a bad fit must be confirmed by a second sample.
    """
    promise = _check_promise(mechanism)
    for dimension, classes in _SHAPES:
        _check_law(mechanism, promise, Sensitivity(7 * _MOVE, 3 * _MOVE, _MOVE), dimension, classes)
    for dimension, classes in _SHAPES:
        _check_draw(mechanism, Sensitivity(_MOVE, _MOVE, _MOVE), dimension, classes)
    law = mechanism.law(Sensitivity(_MOVE, _MOVE, _MOVE), 1, 2)
    if isinstance(law, NoLaw):
        return Tested(1.0, None)
    worst = _check_fit(mechanism, law, draws)
    for dimension in (2, 5):
        wide = mechanism.law(Sensitivity(_MOVE, _MOVE, _MOVE), dimension, 2)
        worst = min(worst, _check_fit(mechanism, wide, draws // 4))
    return Tested(worst, _check_worlds(mechanism, promise, law, draws, error))


def _check_promise(mechanism: Additive) -> Promise:
    with trying("the promise is stated before any row is touched", "promise()"):
        promise = mechanism.promise()
    must(isinstance(promise, PROMISES), "the promise is one of the known ones", f"It is {promise!r}.")
    must(mechanism.promise() == promise, "the promise stays what it is", f"It was {promise} before.")
    with trying("a mechanism is a frozen dataclass whose words make the request", "encoding it"):
        must(canonical(mechanism), "a mechanism is written down in words", "It encodes to nothing.")
    return promise


def _check_law(
    mechanism: Additive, promise: Promise, moved: Sensitivity, dimension: int, classes: int
) -> None:
    """The law alone gives the promise, as a reader of a release would work it out."""
    law = mechanism.law(moved, dimension, classes)
    must(isinstance(law, LAWS), "the law is one that a release can carry", f"It is a {type(law).__name__}.")
    must(law == mechanism.law(moved, dimension, classes), "the law is deterministic", "Two calls differ.")
    private = not isinstance(promise, NotPrivate)
    silent = "without noise nothing is promised"
    must(
        private != isinstance(law, NoLaw), silent, f"The law is {type(law).__name__}, the promise {promise}."
    )
    for one in (promise, *mechanism.also(moved, law)):
        if isinstance(one, NotPrivate):
            continue
        point = kept(one, law, moved)
        must(
            point.holds is not None, "a reader can work the promise out from law and sensitivity", point.seen
        )
        must(point.holds, "law and sensitivity give what is promised", point.seen)


def _check_draw(mechanism: Additive, moved: Sensitivity, dimension: int, classes: int) -> None:
    law = mechanism.law(moved, dimension, classes)
    blocks = 1 if classes == 2 else classes
    total = np.arange(1, dimension * blocks + 1, dtype=np.int64).reshape(blocks, dimension)
    before = total.copy()
    one, two = np.asarray(mechanism.perturb(total, law)), np.asarray(mechanism.perturb(total, law))
    exact = "what comes out is whole numbers of grid units"
    must(one.dtype == np.int64, exact, f"It is {one.dtype}, in which noise leaves traces.")
    must((total == before).all(), "the sum is left as it was", "perturb wrote into its argument.")
    width = _width(law)
    must(one.size == width, "there are as many numbers as the law says", f"{one.size}, and the law {width}.")
    if isinstance(law, NoLaw):
        must((one == two).all(), "without noise the sum comes out", "Two calls differ.")
        return
    must((one != two).any(), "every draw is fresh", "Two draws were the same.")


def _width(law: Any) -> int:
    blocked = isinstance(law, L2Laplace | Gaussian) and law.classes > 2
    return int(law.dimension * (law.classes - 1) if blocked else law.dimension)


def _noise(mechanism: Additive, law: Law, total: NDArray[np.int64], draws: int) -> NDArray[Any]:
    return np.stack([np.asarray(mechanism.perturb(total, law)).ravel() for _ in range(draws)])


def _check_fit(mechanism: Additive, law: Law, draws: int) -> float:
    """The noise against its law, around zero and around a large sum; a failure needs a second sample."""
    total = np.full((1, _width(law)), 987_654_321, dtype=np.int64)
    for _ in range(2):
        noise = _noise(mechanism, law, total, draws) - total
        worst, name = min((p, name) for name, p in _fits(law, noise).items())
        if worst > _PASS:
            return worst
    must(False, f"the noise follows its law ({name})", f"Two samples of {draws} draws had p below {_PASS:g}.")
    return 0.0


def _fits(law: Any, noise: NDArray[np.int64]) -> dict[str, float]:
    """P-values of what this law says: its length, one coordinate, signs, and lowest digits."""
    width = noise.shape[1]
    scale = float(law.stddev if isinstance(law, Gaussian) else law.scale)
    shown = noise / scale
    length, shape = _LENGTHS[type(law)]
    lengths = length(shown)
    found = {
        "length": stats.kstest(lengths, shape(width).cdf).pvalue,
        "sign": stats.binomtest(int((shown > 0).sum()), int((noise != 0).sum())).pvalue,
        "lowest digit": stats.binomtest(int((noise & 1).sum()), noise.size).pvalue,
    }
    if width == 1 or isinstance(law, Laplace | Gaussian):
        cdf = special.ndtr if isinstance(law, Gaussian) else _laplace_cdf
        found["coordinate"] = stats.kstest(shown[:, -1], cdf).pvalue
    else:
        share = np.abs(shown[:, 0]) / lengths
        found["directions"] = stats.ks_2samp(np.abs(shown[:, 0]), np.abs(shown[:, -1])).pvalue
        found["share"] = _share_fit(law, share, width)
    return {name: min(1.0, float(p) * 4) for name, p in found.items()}


def _share_fit(law: Any, share: NDArray[np.float64], width: int) -> float:
    """The first coordinate over the length: of a uniform direction, or on the surface of a cube."""
    if isinstance(law, L2Laplace):
        return float(stats.kstest(share**2, stats.beta(0.5, (width - 1) / 2).cdf).pvalue)
    largest = stats.binomtest(int((share == 1).sum()), len(share), 1 / width).pvalue
    return min(1.0, 2 * float(min(largest, stats.kstest(share[share < 1], "uniform").pvalue)))


def _laplace_cdf(x: NDArray[np.float64]) -> NDArray[np.float64]:
    tail = np.exp(-np.abs(x)) / 2
    return np.where(x < 0, tail, 1 - tail)


_LENGTHS: dict[type, Any] = {
    Laplace: (lambda shown: np.abs(shown).sum(axis=1), stats.gamma),
    L2Laplace: (lambda shown: np.linalg.norm(shown, axis=1), stats.gamma),
    Gaussian: (lambda shown: np.linalg.norm(shown, axis=1), stats.chi),
    Cube: (lambda shown: np.abs(shown).max(axis=1), stats.gamma),
}


def _check_worlds(
    mechanism: Additive, promise: Promise, law: Law, draws: int, error: float
) -> TwoWorlds | None:
    """No event is likelier by more than was promised between two sums that lie a sensitivity apart."""
    epsilon, delta = _claim(promise)
    here, there = np.zeros((1, 1), dtype=np.int64), np.full((1, 1), _MOVE, dtype=np.int64)
    noisy = [_noise(mechanism, law, total, draws) for total in (here, there)]
    seen = [scores(world, here.ravel(), there.ravel()) for world in noisy]
    found = two_worlds(*seen, delta=delta, error=error)
    must(
        found.epsilon <= epsilon,
        "no event is likelier in one of two neighbouring worlds than was promised",
        f"{found.event} happened {found.likely} and {found.rare} times in {found.draws} draws each: epsilon "
        f"is at least {found.epsilon:.4g} at delta = {delta:g}, and {promise} is promised (error {error:g}).",
    )
    return found


def _claim(promise: Promise) -> tuple[float, float]:
    if isinstance(promise, PureDP):
        return float(promise.epsilon), 0.0
    if isinstance(promise, ApproxDP):
        return float(promise.epsilon), float(promise.delta)
    if isinstance(promise, NotPrivate):
        return math.inf, 0.0
    return float(approx_of_zcdp(*map(Fraction, (promise.rho, _ZCDP_DELTA)))), _ZCDP_DELTA
