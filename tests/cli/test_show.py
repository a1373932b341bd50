from __future__ import annotations

import pytest

import suffice as sf
from tests.cli.conftest import done, run


@pytest.mark.usefixtures("released")
def test_a_release_says_in_words_what_it_protects():
    told = done("show", "bought.suffice").out
    assert "protects the value of 'bought' in any one row" in told
    assert "not verified" in told
    assert "holds, by key" in done("show", "bought.suffice", "--trust", "owner.pub").out


@pytest.mark.usefixtures("released")
def test_the_same_as_json_holds_the_noisy_values_and_the_guarantee():
    data = done("show", "bought.suffice", "--trust", "owner.pub", "--json").data
    release = sf.load("bought.suffice")
    assert data["values"] == release.values.tolist()
    assert data["guarantee"]["promise"] == {"kind": "PureDP", "epsilon": 8.0}
    assert len(data["verified_by"]) == 1


def test_the_card_as_a_page_runs_no_script(released):
    done("show", "bought.suffice", "--html", "card.html")
    page = (released / "card.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert "in any one row" in page


def test_what_is_no_release_ends_with_four(released):
    (released / "letter.suffice").write_text("dear reader", "utf-8")
    assert run("show", "letter.suffice").code == 4
    assert run("show", "absent.suffice").code == 2


@pytest.mark.usefixtures("released")
def test_a_stranger_s_key_ends_with_four_before_anything_is_read():
    done("keys", "new", "stranger")
    refused = run("show", "bought.suffice", "--trust", "stranger.pub")
    assert (refused.code, refused.out) == (4, "")


def test_the_owner_sees_the_other_releases_of_the_ledger_beside_it(released):
    spent = ["--epsilon", "1", "--key", "second", "-o", "second.suffice"]
    done("release", "spec.toml", "--ledger", "owner.db", *spent)
    told = done("show", "bought.suffice", "--ledger", "owner.db").out
    assert "Beside it" in told
    assert "epsilon = 1 " in told
    assert "all of them add up" in told
    done("show", "bought.suffice", "--ledger", "owner.db", "--html", "card.html")
    assert "all of them add up" in (released / "card.html").read_text("utf-8")
    assert len(done("show", "bought.suffice", "--ledger", "owner.db", "--json").data["beside"]) == 2


@pytest.mark.usefixtures("released")
def test_a_ledger_that_did_not_pay_for_it_is_refused():
    done("ledger", "create", "other.db", "--dataset", "d", "--unit", "label:bought", "--budget", "epsilon=1")
    assert run("show", "bought.suffice", "--ledger", "other.db").code == 2
