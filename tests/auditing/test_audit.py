from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

import suffice as sf
from suffice.auditing import audit
from suffice.auditing.neighbour import neighbours
from suffice.core.errors import InputError
from suffice.mechanisms import draw

MU = sf.MeanOperator(["a", "b"], "y", bound=sf.Bound(2, 1.0))
ROUND = sf.L2Laplace(epsilon=1.0)
UNITS = (
    sf.LabelOf("y"),
    sf.LabelOf("y", person="who", at_most=3),
    sf.RecordOf("replace"),
    sf.RecordOf("add-remove"),
    sf.FeatureOf("a"),
)


@dataclass(frozen=True)
class NumpyLaplace:
    """An outsider's mechanism: floating-point noise of the right law."""

    epsilon: float

    def promise(self):
        return sf.PureDP(self.epsilon)

    def law(self, sensitivity, dimension, classes=2):
        return sf.Laplace(epsilon=self.epsilon).law(sensitivity, dimension, classes)

    def also(self, sensitivity, law):
        return ()

    def perturb(self, total, law):
        size = law.dimension
        return total.ravel()[:size] + np.random.default_rng().laplace(scale=float(law.scale), size=size)


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_what_is_shipped_is_not_falsified(unit):
    found = audit(MU, ROUND, unit=unit, canaries=4000, error=1e-6)
    assert not found.falsified, found.sentence()
    assert 0.2 < found.measured <= 1
    assert "Not falsified: epsilon = 1 is claimed" in found.sentence()
    assert "power was" in found.sentence()
    assert "private" not in found.sentence()


def test_noise_of_half_the_scale_is_falsified(monkeypatch):
    real = draw.noise
    monkeypatch.setattr(draw, "noise", lambda law: [round(value / 2) for value in real(law)])
    found = audit(MU, ROUND, unit=sf.LabelOf("y"), canaries=8000)
    assert found.falsified
    assert found.sentence().startswith("Falsified: epsilon = 1 is claimed, and at least epsilon = 1.")


def test_the_noise_of_numpy_is_falsified_by_its_lowest_digits_alone():
    found = audit(MU, NumpyLaplace(1.0), unit=sf.LabelOf("y"), canaries=8000)
    assert found.falsified
    assert found.attack == "grain in one run"
    assert found.measured > 3
    assert "float64" in found.broken[0]


def test_a_sensitivity_below_what_neighbours_do_is_falsified_without_a_draw(monkeypatch):
    from suffice.statistics.mean_sum import MeanSum

    real = MeanSum.sensitivity
    monkeypatch.setattr(MeanSum, "sensitivity", lambda *args: halved(real(*args)))
    found = audit(MU, ROUND, unit=sf.LabelOf("y"), canaries=4000)
    assert found.falsified
    assert "2 times as far as its declared sensitivity" in found.broken[0]


def halved(moved):
    return type(moved)(moved.l1 // 2, moved.l2 // 2, moved.linf // 2)


def test_a_scale_that_follows_protected_values_is_falsified(monkeypatch):
    """A record unit that is taken for one with public rows: the reach of the rows becomes the scale."""
    monkeypatch.setattr(sf.RecordOf, "rows_are_public", property(lambda _: True))
    small = pa.table({"a": [0.1, 0.2, 0.1, 0.4], "b": [0.0, 0.1, 0.0, 0.3], "y": [True, False, True, False]})
    found = audit(MU, ROUND, unit=sf.RecordOf("replace"), rows=small, canaries=400)
    assert any("follows from protected values" in one for one in found.broken)


def test_an_exact_statistic_claims_nothing_and_gives_every_label_back():
    found = audit(MU, sf.Exact(), unit=sf.LabelOf("y"), canaries=400)
    assert not found.falsified
    assert found.recovered == (24, 24)
    assert "of 24 labels 24 were read back" in found.sentence()
    assert found.measured > 3


def test_a_gaussian_is_judged_at_its_delta():
    found = audit(MU, sf.Gaussian(epsilon=1.0, delta=0.05), unit=sf.LabelOf("y"), canaries=8000)
    assert not found.falsified
    assert 0.3 < found.measured <= 1
    assert found.attack.endswith("in two worlds")


def test_rows_of_ones_own_and_auto_are_taken():
    rows = {"a": [0.1, 3.0, -2.0, 0.4], "b": [0.3, 0.0, 1.0, 2.0], "y": [True, False, True, False]}
    for given in (rows, sf.Table(rows)):
        found = audit(MU, sf.Auto(epsilon=1.0), unit=sf.LabelOf("y"), rows=given, canaries=400)
        assert not found.falsified


def test_what_cannot_be_audited_is_refused_in_words():
    with pytest.raises(InputError, match="canaries= is 400 or more"):
        audit(MU, ROUND, unit=sf.LabelOf("y"), canaries=10)
    with pytest.raises(InputError, match="no recipe and no label"):
        audit(object(), ROUND, unit=sf.LabelOf("y"))
    still = {"a": [0.0, 0.0], "b": [0.0, 0.0], "y": [True, True]}
    with pytest.raises(InputError, match="No neighbour of these rows moves the sum"):
        audit(MU, ROUND, unit=sf.LabelOf("y"), rows=still)


TABLE = pa.table({"a": [1.0, 2.0, 3.0], "y": [0, 0, 1], "who": ["x", "x", "z"]})


@pytest.mark.parametrize(
    ("unit", "differ"),
    [
        (sf.LabelOf("y"), {("y", 1)}),
        (sf.LabelOf("y", person="who", at_most=2), {("y", 1), ("y", 2)}),
        (sf.FeatureOf("a"), {("a", 1)}),
        (sf.RecordOf("replace"), {("a", 1), ("y", 1), ("who", 1)}),
    ],
)
def test_neighbours_differ_by_the_unit_and_nothing_else(unit, differ):
    seen = set()
    for other in neighbours(TABLE, unit):
        for name in TABLE.column_names:
            pairs = zip(TABLE.column(name).to_pylist(), other.column(name).to_pylist(), strict=True)
            changed = sum(one != two for one, two in pairs)
            seen |= {(name, changed)} if changed else set()
    assert differ - {("y", 1)} <= seen
    assert seen <= differ | {("y", 1)}


def test_a_removed_person_goes_with_all_their_rows():
    sizes = [
        other.num_rows for other in neighbours(TABLE, sf.RecordOf("add-remove", person="who", at_most=2))
    ]
    assert sizes == [1, 2]


def test_more_rows_of_a_person_than_the_unit_admits_are_refused():
    with pytest.raises(InputError, match="'x' has 2 rows in 'who', and the unit admits 1"):
        list(neighbours(TABLE, sf.LabelOf("y", person="who")))


@pytest.mark.laws
@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_what_is_shipped_is_not_falsified_at_full_size(unit):
    found = audit(MU, ROUND, unit=unit, canaries=200_000)
    assert not found.falsified, found.sentence()
