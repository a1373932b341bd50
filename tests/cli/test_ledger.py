from __future__ import annotations

import json
import sqlite3

import pytest

import suffice as sf
from suffice.cli.ledger import promise_of, unit_of
from suffice.core.errors import InputError
from tests.cli.conftest import CREATE, RELEASE, done, run


@pytest.mark.parametrize(
    ("written", "unit"),
    [
        ("label:bought", sf.LabelOf("bought")),
        ("label:bought,returned", sf.LabelOf("bought", "returned")),
        ("feature:income", sf.FeatureOf("income")),
        ("record:replace", sf.RecordOf("replace")),
        ("record:add-remove", sf.RecordOf("add-remove")),
    ],
)
def test_a_unit_is_written_in_one_word(written, unit):
    assert unit_of(written) == unit


def test_a_person_may_have_several_rows():
    assert unit_of("label:bought", "id", 3) == sf.LabelOf("bought", person="id", at_most=3)


@pytest.mark.parametrize("written", ["", "label", "label:", "record", "record:swap", "bought", "feature:"])
def test_what_is_no_unit_is_refused(written):
    with pytest.raises(InputError, match="A unit is written"):
        unit_of(written)


@pytest.mark.parametrize(
    ("written", "promise"),
    [
        ("epsilon=2", sf.PureDP(2.0)),
        ("epsilon=2,delta=1e-6", sf.ApproxDP(2.0, 1e-6)),
        ("delta=1e-6, epsilon=2", sf.ApproxDP(2.0, 1e-6)),
        ("rho=.1", sf.ZeroConcentratedDP(0.1)),
    ],
)
def test_a_budget_is_written_in_one_word(written, promise):
    assert promise_of(written) == promise


@pytest.mark.parametrize("written", ["", "2", "epsilon", "epsilon=two", "delta=1e-6", "epsilon=1,rho=1"])
def test_what_is_no_budget_is_refused(written):
    with pytest.raises(InputError, match="A budget is written"):
        promise_of(written)


@pytest.mark.usefixtures("folder")
def test_a_ledger_is_made_once():
    data = done(*CREATE, "--json").data
    assert (data["dataset"], data["remaining"]["epsilon"]) == ("people", 20.0)
    again = run(*CREATE)
    assert again.code == 2
    assert "already" in again.err


@pytest.mark.usefixtures("released")
def test_a_ledger_shows_what_is_left_and_where_the_rest_went():
    shown = done("ledger", "show", "owner.db").out
    assert "epsilon = 12" in shown
    assert "MeanOperator of 'bought' through L2Laplace" in shown
    (charge,) = done("ledger", "show", "owner.db", "--json").data["charges"]
    assert charge["charge"] == sf.load("bought.suffice").receipt.charge


@pytest.mark.usefixtures("released")
def test_a_raise_is_recorded_with_its_reason():
    data = done(
        "ledger", "raise", "owner.db", "--budget", "epsilon=30", "--reason", "a new year", "--json"
    ).data
    assert data["remaining"]["epsilon"] == 22.0
    assert "a new year" in done("ledger", "export", "owner.db").out
    assert run("ledger", "raise", "owner.db", "--budget", "epsilon=1", "--reason", "less").code == 2


@pytest.mark.usefixtures("released")
def test_a_new_edition_makes_the_same_request_a_new_one():
    done("ledger", "edition", "owner.db", "2027")
    told = done(*RELEASE[:-1], "next.suffice", "--epsilon", "8", "--json").data
    assert (told["reused"], told["remaining"]["epsilon"]) == (False, 4.0)


def test_an_export_is_json_or_csv_to_a_file_or_to_standard_output(released):
    assert json.loads(done("ledger", "export", "owner.db").out)["acts"]
    assert done("ledger", "export", "owner.db", "--form", "csv", "--json").data["csv"].startswith("number,")
    done("ledger", "export", "owner.db", "--form", "csv", "-o", "charges.csv")
    assert "MeanOperator" in (released / "charges.csv").read_text("utf-8")


def test_a_ledger_edited_from_outside_ends_with_four(released):
    assert done("ledger", "verify", "owner.db", "--release", "bought.suffice", "--json").data["ok"]
    with sqlite3.connect(released / "owner.db") as raw:
        raw.execute("UPDATE account SET spent = 0")
    raw.close()
    ended = run("ledger", "verify", "owner.db", "--json")
    assert ended.code == 4
    assert not ended.data["ok"]


def test_a_release_that_the_ledger_does_not_know_ends_with_four(released):
    done(*[word.replace("owner.db", "other.db") for word in CREATE])
    ended = run("ledger", "verify", "other.db", "--release", "bought.suffice")
    assert ended.code == 4
    assert "older copy" in ended.out
