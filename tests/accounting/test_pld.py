"""Three ways to add up privacy agree: our closed forms, opendp's maps, loss distributions."""

from __future__ import annotations

import math
import random
import sys
import warnings
from collections import Counter
from fractions import Fraction

import pytest

from suffice.accounting.composition import approx_of_zcdp
from suffice.accounting.event import Event, event_of
from suffice.accounting.ledger import Ledger
from suffice.accounting.money import Amount, cost
from suffice.accounting.pld import tight_epsilon
from suffice.core import laws
from suffice.core.bounds import Sensitivity
from suffice.core.errors import GuaranteeUnknown, InputError, MissingExtra
from suffice.core.guarantees import ApproxDP, NotPrivate, PureDP, ZeroConcentratedDP
from suffice.mechanisms import calibration

DELTA = 1e-6
RELATIONS = {"flip": 2, "replace": 2, "add-remove": 1}
RHO = Amount.of(ZeroConcentratedDP(1000.0))


@pytest.fixture(scope="module")
def pld():
    return pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")


@pytest.fixture(scope="module")
def opendp():
    """The maps of opendp: pure epsilon of Laplace noise, rho of Gaussian noise, and its conversions."""
    measurements = pytest.importorskip("opendp.measurements")
    from opendp import combinators, domains, metrics
    from opendp.mod import enable_features

    enable_features("contrib")
    space = domains.atom_domain(T=float, nan=False), metrics.absolute_distance(T=float)

    def laplace(scale, moved):
        return measurements.make_laplace(*space, scale).map(moved)

    def gaussian(scale, moved):
        return measurements.make_gaussian(*space, scale).map(moved)

    def pure_as_rho(scale, moved):
        return combinators.make_pureDP_to_zCDP(measurements.make_laplace(*space, scale)).map(moved)

    def converted(rho, delta):
        noise = measurements.make_gaussian(*space, 1 / math.sqrt(2 * rho))
        return combinators.make_zCDP_to_approxDP(noise).map(1.0).epsilon(delta)

    return laplace, gaussian, pure_as_rho, converted


def drawn(seed):
    """Return noises (kind, scale, how far one neighbour moves the sum), and the relation they share."""
    draw = random.Random(seed)  # noqa: S311
    moved = RELATIONS[draw.choice(sorted(RELATIONS))]
    kinds = draw.choice([("Laplace",), ("Gaussian",), ("Laplace", "Gaussian")])
    different = [
        (draw.choice(kinds), moved * math.exp(draw.uniform(math.log(4), math.log(200))), moved)
        for _ in range(draw.randint(1, 3))
    ]
    return [draw.choice(different) for _ in range(draw.randint(1, 50))]


def event(kind, scale, moved):
    law = laws.Laplace(Fraction(scale), 1) if kind == "Laplace" else laws.Gaussian(Fraction(scale), 1)
    return event_of(law, Sensitivity(moved, moved, moved))


def rho_of(kind, scale, moved):
    if kind == "Laplace":
        return calibration.laplace_rho(Fraction(moved) / Fraction(scale))
    return calibration.gaussian_rho(moved, Fraction(scale))


def agree(noises, pld, opendp):
    """Check one composition in all three ways."""
    laplace, gaussian, pure_as_rho, converted = opendp
    tight = tight_epsilon([event(*one) for one in noises], DELTA)
    lowest = optimistic(noises, pld)
    assert lowest <= tight + 1e-9
    if all(kind == "Laplace" for kind, *_ in noises):
        exact = sum(Fraction(moved) / Fraction(scale) for _, scale, moved in noises)
        promises = [PureDP(Fraction(moved) / Fraction(scale)) for _, scale, moved in noises]
        charged = sum(Amount.of(one).exact[0] for one in promises)
        assert exact <= charged <= exact + Fraction(len(noises), 10**9)
        assert tight <= charged
        theirs = sum(laplace(scale, moved) for _, scale, moved in noises)
        assert float(exact) == pytest.approx(theirs, rel=1e-9)
    charged = sum(cost(ZeroConcentratedDP(rho_of(*one)), (), RHO).exact[0] for one in noises)
    theirs = sum((pure_as_rho if kind == "Laplace" else gaussian)(*rest) for kind, *rest in noises)
    assert float(charged) <= theirs * (1 + 1e-9) + len(noises) * 1e-12
    epsilon = float(approx_of_zcdp(charged, Fraction(1, 10**6)))
    assert epsilon == pytest.approx(converted(float(charged), DELTA), abs=1e-3)
    assert lowest <= tight <= epsilon + 1e-9
    if all(kind == "Gaussian" for kind, *_ in noises):
        assert abs(tight - analytic(charged)) <= 1e-3


def optimistic(noises, pld):
    """Return an epsilon that nothing correct may fall below: the distributions rounded down."""
    total = None
    for (kind, scale, moved), times in Counter(noises).items():
        make = pld.from_laplace_mechanism if kind == "Laplace" else pld.from_gaussian_mechanism
        one = make(scale, sensitivity=moved, pessimistic_estimate=False).self_compose(times)
        total = one if total is None else total.compose(one)
    return total.get_epsilon_for_delta(DELTA)


def analytic(rho):
    """Return the exact epsilon of Gaussian noise with this rho, by bisection of its closed form."""
    sigma = math.sqrt(1 / (2 * float(rho)))

    def delta(epsilon):
        up, down = 0.5 / sigma - epsilon * sigma, -0.5 / sigma - epsilon * sigma
        return math.erfc(-up / math.sqrt(2)) / 2 - math.exp(epsilon) * math.erfc(-down / math.sqrt(2)) / 2

    low, high = 0.0, 100.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if delta(middle) <= DELTA else (middle, high)
    return high


@pytest.mark.parametrize("seed", range(50))
def test_the_three_ways_agree(seed, pld, opendp):
    agree(drawn(seed), pld, opendp)


@pytest.mark.laws
def test_the_three_ways_agree_on_many_compositions(pld, opendp):
    for seed in range(50, 500):
        agree(drawn(seed), pld, opendp)


def test_a_mixed_up_relation_does_not_agree(pld):
    """The mutant: to replace a record moves the sum by two, and is taken for a record that goes."""
    right, wrong = (tight_epsilon([event("Gaussian", 2.0, moved)], DELTA) for moved in (2, 1))
    assert right == pytest.approx(4.887, abs=1e-3)
    assert wrong == pytest.approx(2.254, abs=1e-3)
    assert wrong < optimistic([("Gaussian", 2.0, 2)], pld)


@pytest.mark.usefixtures("pld")
def test_published_constants_of_one_gaussian_come_out():
    assert tight_epsilon([Event("Gaussian", Fraction("4.2247"))], DELTA) == pytest.approx(1, abs=1e-3)
    assert float(calibration.gaussian_stddev(1, 1, DELTA)) == pytest.approx(4.2247, abs=1e-3)
    by_rho = approx_of_zcdp(1 / (2 * Fraction("4.5309") ** 2), Fraction(1, 10**6))
    assert float(by_rho) == pytest.approx(1, abs=1e-3)
    assert math.sqrt(2 * math.log(1.25 / DELTA)) == pytest.approx(5.2988, abs=1e-3)


def hundred(ledger):
    for number in range(100):
        ledger.charge(
            f"{number}", b"", PureDP(0.05), summary="sum", event=Event("Laplace", Fraction(20)), part=None
        )


@pytest.mark.usefixtures("pld")
def test_published_constants_of_a_hundred_laplace_draws_come_out(make):
    ledger = make(budget=PureDP(5.0))
    hundred(ledger)
    assert ledger.spent().exact[0] == 5
    simple = 0.125 + 2 * math.sqrt(0.125 * math.log(1 / DELTA))  # with epsilon²/2 for rho
    assert simple == pytest.approx(2.753, abs=1e-3)
    rho = 100 * calibration.laplace_rho(Fraction(1, 20))
    assert float(approx_of_zcdp(rho, Fraction(1, 10**6))) == pytest.approx(2.397, abs=1e-3)
    advanced = 0.05 * math.sqrt(200 * math.log(1 / DELTA)) + 5 * math.expm1(0.05)
    assert advanced == pytest.approx(2.885, abs=1e-3)
    assert Ledger.open(ledger.url).tight(DELTA) == pytest.approx(2.193, abs=1e-3)


@pytest.mark.usefixtures("pld")
def test_a_promise_without_an_event_counts_as_its_worst_case():
    """The worst case of a pure promise is a noisy choice, whose composition is known exactly."""
    count, epsilon = 20, 0.1
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    tight = tight_epsilon([PureDP(epsilon)] * count, DELTA)
    exact = sum(
        math.comb(count, k)
        * max(
            0.0,
            keep**k * (1 - keep) ** (count - k) - math.exp(tight) * keep ** (count - k) * (1 - keep) ** k,
        )
        for k in range(count + 1)
    )
    assert exact <= DELTA
    assert exact >= 0.98 * DELTA or tight == pytest.approx(count * epsilon)
    assert tight_epsilon([Event("Laplace", Fraction(10))] * count, DELTA) < tight


@pytest.mark.usefixtures("pld")
def test_plain_addition_is_never_beaten_by_the_report():
    assert tight_epsilon([PureDP(1.0)], 1e-300) == 1.0
    assert tight_epsilon([PureDP(0.5), ApproxDP(0.25, 1e-7)], DELTA) <= 0.75
    assert tight_epsilon([], DELTA) == 0.0


@pytest.mark.usefixtures("pld")
def test_groups_report_the_one_with_the_most(make):
    ledger = make(budget=PureDP(5.0), partitions=("region", ("north", "south")))
    for key, part in (("a", "north"), ("b", "north"), ("c", "south"), ("d", None)):
        ledger.charge(key, b"", PureDP(0.5), summary="sum", part=part)
    assert ledger.tight(1e-9) == ledger.tight(1e-9, "north") == pytest.approx(1.5, abs=1e-3)
    assert ledger.tight(1e-9, "south") == pytest.approx(1.0, abs=1e-3)
    with pytest.raises(InputError, match="no part"):
        ledger.tight(1e-9, "east")


@pytest.mark.usefixtures("pld")
def test_the_report_admits_nothing_and_has_no_number_for_what_protects_nothing(make):
    ledger = make(allow_unprotected=True)
    hundred_times = [Event("Laplace", Fraction(20))] * 100
    assert tight_epsilon(hundred_times, DELTA) < 5.0
    ledger.charge("k", b"", NotPrivate("exact"), summary="rados", unprotected="shown")
    assert ledger.tight(DELTA) == math.inf
    with pytest.raises(GuaranteeUnknown, match=r"rho = 0\.1"):
        tight_epsilon([ZeroConcentratedDP(0.1)], DELTA)
    for delta in (0.0, 1.0, -1e-6):
        with pytest.raises(InputError, match="between 0 and 1"):
            tight_epsilon([PureDP(1.0)], delta)


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    with warnings.catch_warnings(), pytest.raises(MissingExtra, match=r"suffice\[accounting\]"):
        tight_epsilon([PureDP(1.0)], DELTA)


def test_an_event_is_what_the_law_and_the_sensitivity_say():
    moved = Sensitivity(6, 4, 2)
    assert event_of(laws.Laplace(Fraction(12), 3), moved) == Event("Laplace", Fraction(2))
    assert event_of(laws.Gaussian(Fraction(12), 3), moved) == Event("Gaussian", Fraction(3))
    assert event_of(laws.L2Laplace(Fraction(12), 3), moved) is None
    assert event_of(laws.NoLaw(3), moved) is None
    assert event_of(laws.Laplace(Fraction(12), 3), None) is None
