"""Ours keep every law; for each law an outsider that breaks it alone is refused by its name."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import suffice as sf
from suffice.auditing.row import made
from suffice.core.bounds import Sensitivity
from suffice.core.facts import Facts
from suffice.testing import LawBroken, check_statistic

ROWS = {
    "x": [1, -2, 3, 7, -7, 0, 5, 2],
    "y": [0, 1, 1, 0, 1, 0, 0, 1],
    "who": list("aabbccdd"),
}
LABEL = sf.LabelOf("y")
MOST = 7


@dataclass(frozen=True)
class Sum:
    """An outsider's settled statistic: the sum of x over the rows with label 1, clipped to ±7."""

    radius: int = MOST

    shape = (1, 2)

    def reads(self):
        return ("x", "y")

    def public(self):
        return Public()

    def init(self):
        return np.zeros(2, np.int64)

    def update(self, state, batch):
        x = np.clip(batch.column("x").to_numpy(), -MOST, MOST)
        y = batch.column("y").to_numpy()
        return state + np.array([int((x * y).sum()), len(x)])

    def merge(self, one, two):
        return one + two

    def finalise(self, state):
        return state[:1].reshape(1, 1).astype(np.int64)

    def facts(self, state, unit):
        return Facts("Sum", ("x",), about={"count": int(state[1])})

    def sensitivity(self, unit, public):
        return Sensitivity(MOST, MOST, MOST)


@dataclass(frozen=True)
class Public:
    """The pass over x alone."""

    def reads(self):
        return ("x",)


@dataclass(frozen=True)
class Total:
    """An outsider's statistic."""

    column: str = "x"

    def resolve(self, source, unit, **_how):
        return Sum()


def wrong(**methods):
    """A settled statistic in which these methods are others."""
    body = {name: (lambda _, *args, _new=new: _new(Sum(), *args)) for name, new in methods.items()}
    return dataclass(frozen=True)(type("Wrong", (Sum,), body))


def checked(settled_class, unit=LABEL, rows=ROWS):
    @dataclass(frozen=True)
    class Asked:
        column: str = "x"

        def resolve(self, source, unit, **_how):
            return settled_class()

    return check_statistic(Asked(), sf.Table(rows, name="rows"), unit)


def test_an_outsider_that_keeps_the_laws_passes_and_attains_its_sensitivity():
    found = checked(Sum)
    assert found.attained == 1
    assert found.neighbours == 8


@pytest.mark.parametrize("norm", [1, 2, "inf"])
@pytest.mark.parametrize("classes", [None, (0, 1, 2)])
@pytest.mark.parametrize(
    "unit",
    [
        sf.LabelOf("y"),
        sf.LabelOf("y", person="who", at_most=3),
        sf.RecordOf("replace"),
        sf.RecordOf("add-remove"),
        sf.FeatureOf("a"),
    ],
    ids=str,
)
def test_the_mean_operator_keeps_every_law_under_every_unit(unit, norm, classes):
    mu = sf.MeanOperator(["a", "b"], "y", bound=sf.Bound(norm, 1.0), classes=classes)
    found = check_statistic(mu, sf.Table(made(mu, unit), name="rows"), unit)
    assert 0.9 < found.attained <= 1


def test_a_mixed_recipe_and_a_public_radius_keep_every_law():
    frame = {
        "age": [20.5, 41.0, 77.0, None, 35.0, 50.0],
        "region": ["north", "south", None, "north", "south", "south"],
        "y": [True, False, True, True, False, False],
    }
    recipe = sf.Recipe.learn(sf.Table(frame), columns=["age", "region"], missing="indicate")
    mu = sf.MeanOperator(recipe, "y", bound=sf.Bound(2, sf.Radius.public(0.8)))
    assert check_statistic(mu, sf.Table(frame, name="rows"), LABEL).attained == 1


def first_row_counts_twice(_s, state, batch):
    return Sum.update(_s, state, batch) + np.array([int(batch.column("x")[0].as_py()), 0])


def in_place(_s, one, two):
    one += two
    return one


def one_name_too_many(_s, state, unit):
    return Facts("Sum", ("x", "z"))


OUTSIDERS = {
    "merge is commutative": {"merge": lambda _s, one, two: one if one[1] else two},
    "init is the identity of merge": {"init": lambda _s: np.ones(2, np.int64)},
    "the sum of the parts is the sum of the whole": {"update": first_row_counts_twice},
    "merge and update leave their arguments": {"merge": in_place},
    "the sum is exact": {"finalise": lambda _s, state: state[:1].reshape(1, 1).astype(float)},
    "every coordinate has a name": {"facts": one_name_too_many},
    "no neighbour moves the sum by more": {"sensitivity": lambda *_: Sensitivity(6, 6, 6)},
    "the sensitivity does not depend": {
        "sensitivity": lambda _s, _unit, public: Sensitivity(*[MOST + abs(int(public[0]))] * 3)
    },
    "no public fact depends": {
        "facts": lambda _s, state, _unit: Facts("Sum", ("x",), about={"total": int(state[0])})
    },
    "the sensitivity is three whole numbers": {"sensitivity": lambda *_: Sensitivity(7.5, 7.5, 7.5)},
    "the public pass reads no protected column": {"public": lambda s: s},
}


@pytest.mark.parametrize("law", list(OUTSIDERS))
def test_an_outsider_that_breaks_one_law_is_refused_by_its_name(law):
    with pytest.raises(LawBroken, match=law):
        checked(wrong(**OUTSIDERS[law]))


def test_unclipped_rows_under_a_record_unit_are_refused():
    far = ROWS | {"x": [1, -2, 3, 70, -7, 0, 5, 2]}

    def unclipped(_s, state, batch):
        x, y = batch.column("x").to_numpy(), batch.column("y").to_numpy()
        return state + np.array([int((x * y).sum()), len(x)])

    with pytest.raises(LawBroken, match="no neighbour moves the sum by more"):
        checked(
            wrong(update=unclipped, sensitivity=lambda *_: Sensitivity(14, 14, 14)),
            sf.RecordOf("replace"),
            far,
        )


def test_a_count_in_the_facts_is_refused_where_it_is_protected():
    with pytest.raises(LawBroken, match="no public fact depends"):
        checked(Sum, sf.RecordOf("add-remove"))


def test_a_person_with_two_rows_moves_the_sum_twice_as_far():
    with pytest.raises(LawBroken, match="no neighbour moves the sum by more"):
        checked(
            Sum,
            sf.LabelOf("y", person="who", at_most=2),
            ROWS | {"x": [7, 7] * 4, "y": [0, 0] * 2 + [1, 1] * 2},
        )


@dataclass(frozen=True)
class Peeking:
    """It settles its radius by looking at the label."""

    def resolve(self, source, unit, **_how):
        read = [batch for part in source.fragments(("y",)) for batch in part.batches()]
        return replace(Sum(), radius=read[0].num_rows)


@dataclass(frozen=True)
class Inferring:
    """It settles its radius from rows that a record unit protects, through a source it keeps."""

    def resolve(self, source, unit, **_how):
        rows = [
            batch for part in getattr(source, "inner", source).fragments(("x",)) for batch in part.batches()
        ]
        return replace(Sum(), radius=int(np.abs(rows[0].column("x").to_numpy()).sum()))


def test_looking_at_a_protected_column_while_settling_is_refused():
    with pytest.raises(LawBroken, match=r"resolve reads no protected column\. It opened \['y'\]"):
        check_statistic(Peeking(), sf.Table(ROWS, name="rows"), LABEL)


def test_a_bound_inferred_behind_the_spy_s_back_is_noticed_on_neighbours():
    with pytest.raises(LawBroken, match="what is settled does not depend on protected values"):
        check_statistic(Inferring(), sf.Table(ROWS, name="rows"), sf.RecordOf("replace"))


def test_an_outsider_that_cannot_be_written_down_is_refused():
    class Mute:
        def resolve(self, source, unit, **_how):
            return Sum()

    with pytest.raises(LawBroken, match="a statistic is a frozen dataclass"):
        check_statistic(Mute(), sf.Table(ROWS, name="rows"), LABEL)


def test_an_outsider_whose_resolve_takes_no_workers_is_refused():
    @dataclass(frozen=True)
    class Narrow:
        column: str = "x"

        def resolve(self, source, unit):
            return Sum()

    with pytest.raises(LawBroken, match="resolve takes workers= and progress="):
        check_statistic(Narrow(), sf.Table(ROWS, name="rows"), LABEL)


def test_too_few_rows_are_said_to_be_too_few():
    with pytest.raises(LawBroken, match="It has 1; give four or more"):
        check_statistic(Total(), sf.Table({"x": [1], "y": [0]}, name="rows"), LABEL)
