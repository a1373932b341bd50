"""What a ledger spends, refuses, remembers and never does."""

from __future__ import annotations

import copy
import csv
import io
import json
import os
import pickle
from datetime import UTC, date, datetime

import pytest
from sklearn.base import BaseEstimator, clone

from suffice.accounting.chain import Charge
from suffice.accounting.ledger import Ledger
from suffice.accounting.money import Amount
from suffice.core.errors import (
    BudgetExceeded,
    InputError,
    PrivacyError,
    UnprotectedRefused,
    UnsupportedPair,
)
from suffice.core.guarantees import ApproxDP, NotPrivate, PureDP, ZeroConcentratedDP
from suffice.core.units import Answer, FeatureOf, LabelOf, RecordOf


def spend(ledger, epsilon, key=None, **more):
    key = key or os.urandom(8).hex()
    return ledger.charge(key, key.encode(), PureDP(epsilon), summary="mean operator", **more)


def test_a_new_ledger_has_spent_nothing(make):
    ledger = make()
    assert (ledger.dataset, ledger.unit, ledger.budget) == ("sales", LabelOf("bought"), PureDP(1.0))
    assert (ledger.edition, ledger.partitions, ledger.allow_unprotected) == ("1", None, False)
    assert str(ledger.remaining()) == "epsilon = 1"
    assert str(ledger.spent()) == "epsilon = 0"
    assert (ledger.remaining().epsilon, ledger.remaining().delta, ledger.remaining().rho) == (1.0, 0.0, None)
    assert ledger.remaining().voided is None
    assert ledger.charges() == []
    assert ledger.verify()


def test_a_charge_is_spent_before_anything_is_released(make):
    ledger = make()
    charge = spend(ledger, 0.25, "k")
    assert ledger.remaining().epsilon == 0.75
    assert ledger.charges() == [charge]
    assert charge.cost == Amount("PureDP", 250_000_000)
    assert (charge.key, charge.edition, charge.part, charge.unprotected) == ("k", "1", None, None)
    assert (datetime.now(UTC).date() - charge.day).days in {0, 1}
    assert ledger.find("k", b"k") is None


def test_asking_again_is_free_and_gives_the_same_charge(make):
    ledger = make()
    first = spend(ledger, 0.25, "k")
    assert spend(ledger, 0.25, "k") == first
    ledger.store(first, b"bytes")
    assert spend(ledger, 0.25, "k") == first
    assert ledger.find("k", b"k") == b"bytes"
    assert len(ledger.charges()) == 1
    assert ledger.remaining().epsilon == 0.75


def test_the_first_bytes_win(make):
    ledger = make()
    charge = spend(ledger, 0.25, "k")
    assert ledger.store(charge, b"first") == b"first"
    assert ledger.store(charge, b"second") == b"first"
    assert ledger.find("k", b"k") == b"first"


def test_another_request_under_the_same_key_is_a_conflict(make):
    ledger = make()
    spend(ledger, 0.25, "k")
    with pytest.raises(InputError, match=r"used on .* for another request"):
        ledger.charge("k", b"other", PureDP(0.1), summary="other")
    with pytest.raises(InputError, match="for another request"):
        ledger.find("k", b"other")
    assert ledger.remaining().epsilon == 0.75


def test_an_overspend_spends_nothing_and_lists_where_the_budget_went(make):
    ledger = make(budget=PureDP(0.3))
    spend(ledger, 0.1)
    spend(ledger, 0.2)
    with pytest.raises(BudgetExceeded) as caught:
        ledger.charge("k", b"", PureDP(1e-9), summary="one more")
    assert "This release costs epsilon = 1e-09, and epsilon = 0 is left. Nothing was spent." in str(
        caught.value
    )
    assert caught.value.charges == tuple(
        f"{charge.day}  {charge.cost}  mean operator" for charge in reversed(ledger.charges())
    )
    assert pickle.loads(pickle.dumps(caught.value)).charges == caught.value.charges
    assert len(ledger.charges()) == 2
    assert ledger.verify()


def test_a_long_list_of_charges_is_cut(make):
    ledger = make()
    for _ in range(15):
        spend(ledger, 0.05)
    with pytest.raises(BudgetExceeded, match=r"and 3 earlier") as caught:
        spend(ledger, 0.5)
    assert len(caught.value.charges) == 13


def test_three_tenths_fit_in_three_tenths_and_then_nothing_does(make):
    ledger = make(budget=PureDP(0.3))
    for _ in range(3):
        spend(ledger, 0.1)
    assert str(ledger.remaining()) == "epsilon = 0"
    with pytest.raises(BudgetExceeded):
        spend(ledger, 1e-9)


def test_a_ledger_of_pairs_stops_at_whichever_half_is_used_up(make):
    ledger = make(budget=ApproxDP(1.0, 1e-6))
    ledger.charge("a", b"", ApproxDP(0.1, 1e-6), summary="a")
    assert str(ledger.remaining()) == "epsilon = 0.9, delta = 0"
    with pytest.raises(BudgetExceeded):
        ledger.charge("b", b"", ApproxDP(0.1, 1e-9), summary="b")
    ledger.charge("c", b"", PureDP(0.9), summary="c")
    with pytest.raises(BudgetExceeded):
        ledger.charge("d", b"", PureDP(0.1), summary="d")


def test_a_ledger_of_rho_takes_pure_promises_at_their_own_rho(make):
    ledger = make(budget=ZeroConcentratedDP(1.0))
    charge = ledger.charge("a", b"", PureDP(0.5), also=(ZeroConcentratedDP(0.1),), summary="a")
    assert charge.cost == Amount("ZeroConcentratedDP", 100_000_000_000)
    assert charge.also == (ZeroConcentratedDP(0.1),)
    assert ledger.remaining().rho == 0.9
    assert ledger.remaining().epsilon is None


def test_a_pure_ledger_refuses_a_promise_with_a_delta(make):
    ledger = make()
    with pytest.raises(UnsupportedPair, match="epsilon alone"):
        ledger.charge("a", b"", ApproxDP(0.1, 1e-9), summary="a")
    assert ledger.charges() == []


def test_what_protects_nothing_is_refused(make):
    ledger = make()
    with pytest.raises(UnprotectedRefused, match="allow_unprotected=True"):
        ledger.charge("a", b"", NotPrivate("exact"), summary="a", unprotected="teaching")
    assert ledger.charges() == []


def test_what_protects_nothing_needs_a_reason_and_voids_the_promise_for_good(make):
    ledger = make(allow_unprotected=True)
    for reason in (None, "", "  "):
        with pytest.raises(UnprotectedRefused, match="Say why"):
            ledger.charge("a", b"", NotPrivate("exact"), summary="a", unprotected=reason)
    assert ledger.remaining().voided is None
    charge = ledger.charge("a", b"", NotPrivate("exact"), summary="a", unprotected="teaching")
    spend(ledger, 0.25)
    left = Ledger.open(ledger.url).remaining()
    assert (charge.unprotected, charge.cost.units) == ("teaching", 0)
    assert left.voided == charge.day
    assert left.epsilon == 0.75
    assert str(left) == f"epsilon = 0.75 (void since {charge.day}: something unprotected was released)"
    assert ledger.verify()


def test_a_reason_for_no_protection_is_refused_where_there_is_protection(make):
    ledger = make(allow_unprotected=True)
    with pytest.raises(InputError, match="Leave it out"):
        spend(ledger, 0.1, unprotected="why not")
    assert ledger.remaining().voided is None


def test_the_default_key_depends_on_request_dataset_and_edition_alone(make):
    one, same, other = make("a.db"), make("b.db", budget=PureDP(9.0)), make("c.db", dataset="visits")
    key = one.request_key(b"request")
    spend(one, 0.5)
    assert key == one.request_key(b"request") == same.request_key(b"request")
    assert key != one.request_key(b"request ")
    assert key != other.request_key(b"request")
    one.new_edition("2026-12")
    assert key != one.request_key(b"request")


def test_a_key_cannot_be_moved_from_dataset_to_edition(make):
    one, two = make("a.db", dataset="x1"), make("b.db", dataset="x")
    two.new_edition("11")
    assert one.request_key(b"") != two.request_key(b"")


def test_an_edition_has_a_name_that_was_not_used_before(make):
    ledger = make()
    ledger.new_edition("2026-12")
    assert ledger.edition == "2026-12"
    for name in ("2026-12", "1"):
        with pytest.raises(InputError, match="already"):
            ledger.new_edition(name)
    with pytest.raises(InputError, match="blank"):
        ledger.new_edition(" ")
    assert spend(ledger, 0.1).edition == "2026-12"


def test_an_edition_is_bound_to_the_first_source(make):
    ledger = make()
    ledger.bind_source("sales/*.parquet")
    ledger.bind_source("sales/*.parquet")
    with pytest.raises(InputError, match=r"'sales/\*.parquet', and got 'other.csv'"):
        ledger.bind_source("other.csv")
    ledger.new_edition("2")
    ledger.bind_source("other.csv")
    assert ledger.verify()


def test_a_raise_is_a_recorded_act_and_names_the_new_total(make):
    ledger = make()
    spend(ledger, 1.0)
    for wrong in (PureDP(1.0), PureDP(0.5), ApproxDP(2.0, 1e-6), ZeroConcentratedDP(3.0)):
        with pytest.raises(InputError, match="names the new total"):
            ledger.raise_budget(wrong, "more")
    with pytest.raises(InputError, match="blank"):
        ledger.raise_budget(PureDP(2.0), "")
    with pytest.raises(InputError, match="finite promise"):
        ledger.raise_budget(NotPrivate("x"), "more")
    ledger.raise_budget(PureDP(1.5), "the board agreed")
    ledger.raise_budget(PureDP(1.75), "again")
    assert ledger.budget == PureDP(1.75)
    assert ledger.remaining().epsilon == 0.75
    assert "the board agreed" in ledger.export("json")
    assert ledger.verify()


def test_creating_over_anything_fails_and_leaves_it(make, folder):
    ledger = make()
    spend(ledger, 0.5)
    with pytest.raises(InputError, match="already"):
        make(budget=PureDP(9.0))
    (folder / "notes.txt").write_text("hello")
    with pytest.raises(InputError, match="already"):
        make("notes.txt")
    assert (folder / "notes.txt").read_text() == "hello"
    assert ledger.remaining().epsilon == 0.5


def test_opening_changes_nothing_and_every_attribute_must_agree(make, folder):
    same = {"dataset": "sales", "unit": LabelOf("bought"), "budget": PureDP(1.0)}
    ledger = Ledger.open_or_create(folder / "owner.db", **same)
    spend(ledger, 0.5)
    assert Ledger.open_or_create(folder / "owner.db", **same) == ledger == Ledger.open(folder / "owner.db")
    for change in (
        {"dataset": "visits"},
        {"unit": LabelOf("bought", "kept")},
        {"budget": PureDP(2.0)},
        {"budget": ZeroConcentratedDP(1.0)},
        {"partitions": ("region", ("north", "south"))},
        {"allow_unprotected": True},
    ):
        with pytest.raises(InputError, match=f"has {next(iter(change))} = "):
            Ledger.open_or_create(folder / "owner.db", **(same | change))
    assert ledger.remaining().epsilon == 0.5


@pytest.mark.parametrize(
    "given",
    [{"dataset": ""}, {"dataset": None}, {"budget": NotPrivate("x")}, {"dataset": "a\0b"}],
)
def test_a_ledger_of_nothing_is_refused(make, folder, given):
    with pytest.raises(InputError):
        make(**given)
    assert list(folder.iterdir()) == []


def test_groups_are_counted_apart_and_the_budget_is_spent_by_the_most(make):
    ledger = make(partitions=("region", ["north", "south"]))
    spend(ledger, 0.6, part="north")
    spend(ledger, 0.5, part="south")
    assert ledger.spent() == Amount("PureDP", 600_000_000)
    assert [ledger.remaining(part).epsilon for part in ("north", "south", None)] == [0.4, 0.5, 0.4]
    with pytest.raises(BudgetExceeded, match=r"epsilon = 0.4 is left"):
        spend(ledger, 0.45)
    assert ledger.remaining("south").epsilon == 0.5
    spend(ledger, 0.4)
    assert [ledger.remaining(part).epsilon for part in ("north", "south")] == [0.0, 0.1]
    with pytest.raises(BudgetExceeded, match=r"epsilon = 0 is left"):
        spend(ledger, 0.1, part="north")
    spend(ledger, 0.1, part="south")
    ledger.raise_budget(PureDP(2.0), "more")
    assert ledger.remaining().epsilon == 1.0
    assert ledger.verify()


def test_a_part_that_is_not_in_the_closed_list_is_refused(make):
    with pytest.raises(InputError, match="no parts"):
        spend(make("a.db"), 0.1, part="north")
    ledger = make("b.db", partitions=("region", ("north",)))
    with pytest.raises(InputError, match="The parts of 'region' are: 'north'"):
        spend(ledger, 0.1, part="east")


@pytest.mark.parametrize(
    ("unit", "column"),
    [
        (RecordOf("replace"), "region"),
        (LabelOf("bought"), "bought"),
        (FeatureOf("income"), "income"),
        (Answer(), "region"),
    ],
)
def test_groups_between_which_a_neighbour_can_move_are_refused(make, unit, column):
    with pytest.raises(UnsupportedPair, match="could move"):
        make(unit=unit, partitions=(column, ("a", "b")))


@pytest.mark.parametrize("unit", [RecordOf("add-remove"), LabelOf("bought"), FeatureOf("income")])
def test_groups_that_no_neighbour_leaves_are_taken(make, unit):
    assert make(unit=unit, partitions=("region", ("a", "b"))).partitions == ("region", ("a", "b"))


@pytest.mark.parametrize("groups", [(), ("a", "a"), ("a", ""), (1, 2)])
def test_groups_are_different_texts(make, groups):
    with pytest.raises(InputError, match="different texts"):
        make(partitions=("region", groups))


class Holder(BaseEstimator):
    def __init__(self, ledger=None):
        self.ledger = ledger


def test_copies_pickles_and_clones_of_a_handle_spend_from_one_budget(make):
    ledger = make()
    handles = [
        copy.copy(ledger),
        copy.deepcopy(ledger),
        pickle.loads(pickle.dumps(ledger)),
        clone(Holder(ledger)).ledger,
    ]
    for handle in handles:
        assert handle == ledger
        spend(handle, 0.1)
    assert ledger.remaining().epsilon == 0.6


def test_a_handle_still_knows_its_file_after_a_change_of_folder(make, folder, monkeypatch):
    monkeypatch.chdir(folder)
    make("here.db")
    ledger = Ledger.open("here.db")
    monkeypatch.chdir("/")
    assert spend(ledger, 0.1)


def test_a_charge_of_another_ledger_cannot_be_stored(make):
    one, two = make("a.db"), make("b.db")
    charge = spend(one, 0.1, "k")
    with pytest.raises(InputError, match="has no charge"):
        two.store(charge, b"")
    spend(two, 0.1, "k")
    with pytest.raises(InputError, match="is not of the ledger"):
        two.store(charge, b"")


def test_the_id_of_a_charge_tells_two_ledgers_apart(make):
    assert spend(make("a.db"), 0.1, "k").id != spend(make("b.db"), 0.1, "k").id


def test_keys_and_summaries_are_not_blank(make):
    ledger = make()
    with pytest.raises(InputError, match="key of a request"):
        ledger.charge(" ", b"", PureDP(0.1), summary="a")
    with pytest.raises(InputError, match="summary of a charge"):
        ledger.charge("k", b"", PureDP(0.1), summary="")


def test_an_export_as_csv_has_a_line_for_each_charge(make):
    ledger = make(budget=ApproxDP(1.0, 1e-6))
    ledger.charge("k", b"", ApproxDP(0.25, 1e-7), summary='a "quoted", summary')
    (line,) = csv.DictReader(io.StringIO(ledger.export("csv")))
    assert (line["epsilon"], line["delta"], line["rho"]) == ("0.25", "1e-07", "")
    assert line["summary"] == 'a "quoted", summary'
    assert date.fromisoformat(line["day"]) == ledger.charges()[0].day


def test_an_export_as_json_has_every_act_and_no_released_bytes(make):
    ledger = make()
    ledger.store(spend(ledger, 0.25, "k"), b"released bytes")
    ledger.new_edition("2")
    page = json.loads(ledger.export("json"))
    assert [act["act"] for act in page["acts"]] == ["created", "charge", "edition"]
    assert page["accounts"][0]["spent"] == 250_000_000
    assert "released" not in ledger.export("json")
    with pytest.raises(InputError, match="'json' or 'csv'"):
        ledger.export("xml")


def test_a_refusal_is_a_privacy_error():
    assert issubclass(BudgetExceeded, PrivacyError)


def test_a_charge_says_what_it_was_in_one_line(make):
    ledger = make(partitions=("region", ("north",)), allow_unprotected=True)
    charge = spend(ledger, 0.25, part="north")
    assert charge.line() == f"{charge.day}  epsilon = 0.25 in north  mean operator"
    open_one = ledger.charge("u", b"", NotPrivate("exact"), summary="rados", unprotected="teaching")
    assert open_one.line() == f"{open_one.day}  unprotected (teaching)  rados"
    assert isinstance(open_one, Charge)
