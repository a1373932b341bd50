"""One person, many rows: counted before anything is charged, refused and never dropped."""

from __future__ import annotations

import pytest

import suffice as sf
from suffice.core.errors import BudgetExceeded, InputError, Refused, SchemaError, UnboundedSensitivity

MECHANISM = sf.L2Laplace(epsilon=0.5)
LABEL = sf.LabelOf("bought", person="id", at_most=2)
BOUNDS = (sf.Numeric("age", centre=40, scale=15), sf.Numeric("visits", centre=3, scale=2))


@pytest.fixture
def visits(people):
    """Return the people with an id that each two rows share; both of them live in one region."""
    people["id"] = [f"person {row // 2}" for row in range(len(people))]
    people["region"] = ["north" if row // 2 % 3 else "south" for row in range(len(people))]
    return people


@pytest.fixture
def stated():
    return sf.MeanOperator(sf.Recipe(BOUNDS), "bought", bound=sf.Bound(2, 1.0))


@pytest.fixture
def book(tmp_path):
    """Return a function that makes an owner of these rows with a ledger of this unit."""

    def open_book(frame, unit, **more):
        ledger = sf.Ledger.create(
            tmp_path / "owner.db", dataset="visits", unit=unit, budget=sf.PureDP(2.0), **more
        )
        return sf.Owner(sf.Table(frame, name="visits"), ledger=ledger)

    return open_book


def test_rows_up_to_the_stated_number_are_taken_and_noise_grows_with_it(visits, book, stated, tmp_path):
    owner = book(visits, LABEL)
    released = owner.release(stated, MECHANISM)
    assert released.guarantee.unit == LABEL
    assert any("'id' names one person in one way" in one for one in released.guarantee.assumes)
    single = sf.Ledger.create(
        tmp_path / "single.db", dataset="d", unit=sf.LabelOf("bought"), budget=sf.PureDP(1.0)
    )
    alone = sf.Owner(sf.Table(visits), ledger=single).release(stated, MECHANISM)
    assert released.sensitivity.l2 == 2 * alone.sensitivity.l2
    assert released.law.scale == 2 * alone.law.scale


@pytest.mark.parametrize(
    "unit",
    [
        LABEL,
        sf.RecordOf("replace", person="id", at_most=2),
        sf.RecordOf("add-remove", person="id", at_most=2),
    ],
)
def test_a_row_beyond_is_refused_before_anything_is_charged_and_no_row_is_dropped(
    visits, book, stated, unit, monkeypatch
):
    visits.loc[77, "id"] = "person 0"
    owner = book(visits, unit)
    monkeypatch.setattr("suffice.mechanisms.draw.noise", lambda _: pytest.fail("noise was drawn"))
    with pytest.raises(UnboundedSensitivity, match="1 of 'id' have more than 2 rows each; 'person 0' has 3"):
        owner.release(stated, MECHANISM)
    assert owner.ledger.charges() == []
    assert str(owner.ledger.remaining()) == "epsilon = 2"


def test_counting_is_left_out_where_the_unit_is_a_row(visits, book, stated):
    visits["id"] = "one and the same"
    assert book(visits, sf.LabelOf("bought")).release(stated, MECHANISM)


def test_what_was_released_is_served_again_without_counting(visits, book, stated):
    owner = book(visits, LABEL)
    first = owner.release(stated, MECHANISM)
    visits["id"] = "one and the same"
    again = sf.Owner(sf.Table(visits, name="visits"), ledger=owner.ledger)
    assert again.release(stated, MECHANISM) == first


def test_the_column_of_persons_is_there_is_exact_and_is_public(visits, book, tmp_path):
    def refused(error, match, unit, name):
        ledger = sf.Ledger.create(tmp_path / name, dataset="d", unit=unit, budget=sf.PureDP(1.0))
        with pytest.raises(error, match=match):
            sf.Owner(sf.Table(visits), ledger=ledger)

    refused(SchemaError, "'who'", sf.LabelOf("bought", person="who"), "a.db")
    refused(SchemaError, "holds double", sf.LabelOf("bought", person="age"), "b.db")
    refused(UnboundedSensitivity, "Name a public column", sf.LabelOf("bought", "id", person="id"), "c.db")


def test_two_labels_share_one_budget_and_neither_is_a_feature(people, book):
    people["returned"] = people["bought"] & (people["age"] > 40)
    owner = book(people, sf.LabelOf("bought", "returned"))
    recipe = sf.Recipe.learn(owner.source, columns=["age", "visits"])
    for label in ("bought", "returned"):
        mu = sf.MeanOperator(recipe, label, bound=sf.Bound(2, sf.Radius.public("max")))
        assert owner.release(mu, MECHANISM).about["label"] == label
    assert str(owner.ledger.remaining()) == "epsilon = 1"
    leaky = sf.MeanOperator(
        sf.Recipe((*BOUNDS, sf.Categorical("returned", levels=(False, True)))),
        "bought",
        bound=sf.Bound(2, 1.0),
    )
    with pytest.raises(UnboundedSensitivity, match="'returned'"):
        owner.release(leaky, MECHANISM)
    other = sf.MeanOperator(recipe, "region", bound=sf.Bound(2, 1.0), classes=["north", "south"])
    with pytest.raises(UnboundedSensitivity, match="not what the ledger protects"):
        owner.release(other, MECHANISM)


PARTS = ("region", ("north", "south"))


def test_a_part_is_the_statistic_of_its_rows_charged_to_it_alone(visits, book, stated, frozen_noise):
    owner = book(visits, LABEL, partitions=PARTS)
    north = owner.release(stated, MECHANISM, part="north")
    south = owner.release(stated, MECHANISM, part="south")
    assert [owner.ledger.remaining(part).epsilon for part in (*PARTS[1], None)] == [1.5, 1.5, 1.5]
    assert [charge.part for charge in owner.ledger.charges()] == ["north", "south"]
    assert north.about["group"] == {"region": "north"}
    assert "region: north" in north.card()
    assert any("groups are charged apart" in one for one in north.guarantee.assumes)
    assert north.witness.count + south.witness.count == len(visits)
    whole = owner.release(stated, MECHANISM)
    assert "group" not in whole.about
    assert (north.values + south.values - 7 == whole.values).all()
    assert [owner.ledger.remaining(part).epsilon for part in PARTS[1]] == [1.0, 1.0]


def test_a_part_is_asked_for_in_the_key_and_served_again_for_nothing(visits, book, stated):
    owner = book(visits, LABEL, partitions=PARTS)
    north = owner.release(stated, MECHANISM, part="north")
    assert owner.release(stated, MECHANISM, part="north") == north
    assert owner.last.reused
    assert owner.preview(stated, MECHANISM, part="north").reused
    assert not owner.preview(stated, MECHANISM, part="south").reused
    owner.release(stated, MECHANISM, key="mine", part="north")
    with pytest.raises(InputError, match="another request"):
        owner.release(stated, MECHANISM, key="mine", part="south")


def test_a_person_in_two_groups_is_refused_where_groups_are_charged_apart(visits, book, stated):
    visits.loc[1, "region"] = "south" if visits.loc[0, "region"] == "north" else "north"
    owner = book(visits, LABEL, partitions=PARTS)
    with pytest.raises(UnboundedSensitivity, match="more than one group of 'region', such as 'person 0'"):
        owner.release(stated, MECHANISM, part="north")
    assert owner.ledger.charges() == []
    assert owner.release(stated, MECHANISM)  # charged to every group


def test_records_that_come_and_go_may_be_released_by_groups(visits, book, stated):
    owner = book(visits, sf.RecordOf("add-remove", person="id", at_most=2), partitions=PARTS)
    released = owner.release(stated, MECHANISM, part="south")
    assert released.witness is None
    assert released.names[-1] == "rows"
    assert owner.ledger.remaining("north").epsilon == 2.0


def test_a_part_that_is_not_in_the_list_is_refused_before_a_row_is_read(visits, book, stated):
    owner = book(visits, LABEL, partitions=PARTS)
    for ask in (owner.release, owner.preview):
        with pytest.raises(InputError, match="The parts of 'region' are: 'north', 'south'"):
            ask(stated, MECHANISM, part="east")
    plain = visits.drop(columns="region")
    with pytest.raises(SchemaError, match="'region'"):
        sf.Owner(sf.Table(plain, name="other"), ledger=owner.ledger)


def test_a_bad_row_of_a_group_is_named_by_its_place_in_the_source(visits, book, stated):
    visits["bought"] = visits["bought"].astype("boolean")
    bad = int(visits.index[visits["region"] == "south"][9])
    visits.loc[bad, "bought"] = None
    owner = book(visits, LABEL, partitions=PARTS)
    assert owner.release(stated, MECHANISM, part="north")
    with pytest.raises(SchemaError, match=f"'bought', row {bad} there is no label"):
        owner.release(stated, MECHANISM, part="south")


def test_a_learner_pays_from_its_own_limit_and_is_refused_once_revoked(visits, book, stated):
    owner = book(visits, LABEL)
    owner.ledger.limit("ann", sf.PureDP(0.6))
    first = owner.release(stated, MECHANISM, learner="ann")
    assert owner.ledger.admit("ann").remaining.epsilon == 0.1
    assert owner.release(stated, MECHANISM, learner="ann") == first
    with pytest.raises(BudgetExceeded, match="limit of 'ann'"):
        owner.release(stated, MECHANISM, learner="ann", key="again")
    owner.ledger.revoke("ann", "left")
    with pytest.raises(Refused, match="was revoked"):
        owner.release(stated, MECHANISM, learner="ann")
    assert owner.release(stated, MECHANISM) == first
    assert len(owner.ledger.charges()) == 1
