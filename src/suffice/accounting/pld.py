"""The tight total of a composition, by privacy loss distributions: reported, never admitted on.

The only file that imports dp-accounting, where it is used. Each charge is replaced by a pair of
distributions that is at least as far apart (docs/proofs/composition.md), and sensitivities are
always one, so that no relation between data sets is left to another library.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any

from suffice.accounting.event import Event
from suffice.core.errors import GuaranteeUnknown, InputError, MissingExtra
from suffice.core.guarantees import ApproxDP, Promise, PureDP

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["tight_epsilon"]


def tight_epsilon(losses: Iterable[Event | Promise], delta: float) -> float:
    """An epsilon such that all of these together keep (epsilon, delta), rounded up.

    It is never more than plain addition where that gives an answer; no losses cost nothing.
    """
    if not 0 < delta < 1:
        raise InputError(f"A tight total is for a delta between 0 and 1, and got {delta!r}.")
    counted = Counter(losses)
    if not counted:
        return 0.0
    distributions, common = _library()
    parts = (_distribution(distributions, common, one).self_compose(n) for one, n in counted.items())
    total = reduce(lambda one, two: one.compose(two), parts)
    return min(float(total.get_epsilon_for_delta(delta)), _added(counted, delta))


def _distribution(distributions: ModuleType, common: ModuleType, loss: Event | Promise) -> Any:
    match loss:
        case Event("Laplace", width):
            return distributions.from_laplace_mechanism(_below(width))
        case Event("Gaussian", width):
            return distributions.from_gaussian_mechanism(_below(width))
        case PureDP(epsilon):
            worst = common.DifferentialPrivacyParameters(_above(epsilon), 0.0)
        case ApproxDP(epsilon, delta):
            worst = common.DifferentialPrivacyParameters(_above(epsilon), _above(delta))
        case _:
            raise GuaranteeUnknown(
                f"No privacy loss distribution is known for {loss}. Read what the ledger adds up instead."
            )
    return distributions.from_privacy_parameters(worst)


def _added(counted: Counter[Event | Promise], delta: float) -> float:
    """The sum of epsilons, where every loss has one and their deltas fit."""
    epsilon, used = Fraction(0), Fraction(0)
    for loss, times in counted.items():
        match loss:
            case Event("Laplace", width):
                epsilon += times / width
            case PureDP(one):
                epsilon += times * Fraction(one)
            case ApproxDP(one, part):
                epsilon, used = epsilon + times * Fraction(one), used + times * Fraction(part)
            case _:
                return math.inf
    return _above(epsilon) if used <= Fraction(delta) else math.inf


def _below(value: Fraction) -> float:
    return math.nextafter(float(value), 0.0)


def _above(value: Fraction | float) -> float:
    near = float(value)
    return near if Fraction(near) >= Fraction(value) else math.nextafter(near, math.inf)


def _library() -> tuple[ModuleType, ModuleType]:
    try:
        from dp_accounting.pld import (  # noqa: PLC0415  seconds to load, for one figure of a report
            common,
            privacy_loss_distribution,
        )
    except ImportError as error:
        raise MissingExtra.named("dp-accounting", "accounting") from error
    return privacy_loss_distribution, common
