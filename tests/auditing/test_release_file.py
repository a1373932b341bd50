from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import suffice as sf
from suffice.auditing import audit_release
from suffice.core.bounds import Sensitivity
from suffice.core.laws import Cube, Gaussian, L2Laplace, Laplace
from suffice.core.witness import Witness
from tests.releases.example import RADIUS, release

ROWS = {
    "age": [41.0, 53.5, 20.0, 30.0, 66.0, 41.5],
    "visits": [3.0, 1.0, 0.0, 2.0, 7.0, 2.5],
    "bought": [True, False, True, True, False, False],
}
MU = sf.MeanOperator(
    sf.Recipe((sf.Numeric("age", 41.0, 12.5), sf.Numeric("visits", 3.0, 2.0))),
    "bought",
    bound=sf.Bound(2, sf.Radius.public(0.9)),
)
MOVED = Sensitivity.of_row(2, RADIUS, 5).times(2)


def made(tmp_path, mechanism, unit=None, mu=MU):
    ledger = sf.Ledger.create(
        tmp_path / "owner.db",
        dataset="people",
        unit=unit or sf.LabelOf("bought"),
        budget=sf.ApproxDP(9.0, 0.1),
        allow_unprotected=True,
    )
    owner = sf.Owner(sf.Table(ROWS, name="people"), ledger=ledger)
    why = "to look at it" if isinstance(mechanism, sf.Exact) else None
    return owner.release(mu, mechanism, unprotected=why)


def wrong(found):
    return {point.name for point in found.points if point.holds is False}


@pytest.mark.parametrize(
    "mechanism",
    [
        sf.Laplace(epsilon=1.0),
        sf.L2Laplace(epsilon=1.0),
        sf.L2Laplace(epsilon=1.0, delta=1e-6),
        sf.Gaussian(epsilon=1.0, delta=1e-6),
        sf.Cube(epsilon=1.0),
    ],
    ids=str,
)
def test_what_is_shipped_passes_with_its_rows(tmp_path, mechanism):
    found = audit_release(made(tmp_path, mechanism), rows=ROWS)
    assert wrong(found) == set()
    assert found.sentence().startswith("Not falsified: epsilon = 1")
    assert sum(point.holds is True for point in found.points) >= 8
    assert "private" not in found.sentence()


@pytest.mark.parametrize("relation", ["replace", "add-remove"])
def test_what_is_shipped_under_a_record_unit_passes(tmp_path, relation):
    given = replace_bound(MU, sf.Bound(2, 1.0))
    found = audit_release(made(tmp_path, sf.L2Laplace(epsilon=1.0), sf.RecordOf(relation), given))
    assert wrong(found) == set(), found.sentence()


def replace_bound(mu, bound):
    return sf.MeanOperator(mu.features, mu.label, bound=bound)


def test_an_exact_release_says_that_it_claims_nothing(tmp_path):
    found = audit_release(made(tmp_path, sf.Exact()))
    assert not found.falsified
    assert "Nothing is claimed" in found.sentence()


@pytest.mark.parametrize(
    ("law", "promise", "asked"),
    [
        (Gaussian(Fraction(8440), 5), sf.ApproxDP(1.0, 1e-6), "delta"),
        (L2Laplace(Fraction(1500), 5), sf.ApproxDP(1.0, 1e-6), "delta"),
        (Gaussian(Fraction(8450), 5), sf.ZeroConcentratedDP(0.028), "rho"),
        (Laplace(Fraction(4474), 5), sf.ZeroConcentratedDP(0.36), "rho"),
        (Cube(Fraction(2000), 5), sf.ZeroConcentratedDP(0.46), "rho"),
    ],
    ids=str,
)
def test_a_promise_that_law_and_sensitivity_do_not_give_is_found(law, promise, asked):
    found = audit_release(release(law, promise))
    assert wrong(found) == {"promise"}
    assert asked in found.sentence()


@pytest.mark.parametrize(
    ("law", "promise"),
    [
        (Gaussian(Fraction(8450), 5), sf.ApproxDP(1.0, 1e-6)),
        (Gaussian(Fraction(8460), 5), sf.ZeroConcentratedDP(0.028)),
        (Laplace(Fraction(4474), 5), sf.ZeroConcentratedDP(0.37)),
        (Cube(Fraction(2000), 5), sf.ZeroConcentratedDP(0.47)),
    ],
    ids=str,
)
def test_a_promise_that_they_just_give_is_not(law, promise):
    assert wrong(audit_release(release(law, promise))) == set()


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("law", {"law": L2Laplace(Fraction(4 * RADIUS), 6)}),
        ("sensitivity", {"sensitivity": MOVED.times(2), "law": L2Laplace(Fraction(8 * RADIUS), 5)}),
        ("witness", {"witness": Witness(100, (1, 2, 3), "ab" * 16)}),
        ("witness", {"about": {"label": "bought", "classes": (0, 1), "count": 99}}),
        ("features", {"unit": sf.LabelOf("bought", "age")}),
        ("recipe", {"unit": sf.LabelOf("bought", "age")}),
        ("size", {"values": np.array([10**7, 0, 0, 0, 0])}),
    ],
)
def test_a_part_that_does_not_fit_the_others_is_named(name, changed):
    assert name in wrong(audit_release(release(**changed)))
    assert wrong(audit_release(release())) == set()


def test_public_facts_of_rows_under_a_record_unit_are_found():
    found = wrong(audit_release(release(unit=sf.RecordOf("replace"))))
    assert {"witness", "recipe"} <= found
    given = sf.Recipe((sf.Numeric("age"),))
    parts = {"recipe": given, "law": L2Laplace(Fraction(4 * RADIUS), 2), "witness": None}
    counted = release(unit=sf.RecordOf("add-remove"), **parts, about={"classes": (0, 1), "count": 100})
    assert "count" in wrong(audit_release(counted))
    assert "count" not in wrong(audit_release(release(unit=sf.RecordOf("add-remove"), **parts)))


def test_a_sum_without_noise_that_says_otherwise_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("suffice.mechanisms.draw.noise", lambda law: [0] * law.dimension)
    unclipped = made(tmp_path, sf.L2Laplace(epsilon=1.0), mu=replace_bound(MU, sf.Bound(2, 9.0)))
    assert wrong(audit_release(unclipped)) == {"noise"}


def test_a_sensitivity_below_that_of_the_rows_needs_the_rows_to_be_found(tmp_path):
    true = made(tmp_path, sf.L2Laplace(epsilon=1.0))
    half = Sensitivity(true.sensitivity.l1 // 2, true.sensitivity.l2 // 2, true.sensitivity.linf // 2)
    told = replace(true, sensitivity=half, law=L2Laplace(Fraction(half.l2), 3))
    assert wrong(audit_release(told)) == set()
    assert wrong(audit_release(told, rows=ROWS)) == {"sensitivity of the rows"}


def test_other_rows_are_said_to_be_others(tmp_path):
    true = made(tmp_path, sf.L2Laplace(epsilon=1.0))
    other = ROWS | {"age": [1.0] * 6}
    found = audit_release(true, rows=other)
    assert not found.falsified
    assert any("other rows" in point.seen for point in found.points)
    assert any("cannot be read" in point.seen for point in audit_release(true, rows={"age": [1.0]}).points)
