from __future__ import annotations

import shutil

import pytest

import suffice as sf
from suffice.cli.ledger import groups_of
from suffice.core.errors import InputError
from tests.cli.conftest import BUDGET, CREATE, RELEASE, done, run

RAISE = ("ledger", "raise", "owner.db", "--budget", "epsilon=30", "--reason", "a new year")


@pytest.mark.usefixtures("asked")
def test_a_learner_pays_from_its_limit_until_it_is_revoked():
    told = done("ledger", "limit", "owner.db", "ann", "--budget", "epsilon=1.5", "--json").data
    assert told["epsilon"] == 1.5
    assert run(*RELEASE, "--learner", "eve").code == 3
    done(*RELEASE, "--learner", "ann")
    shown = done("ledger", "show", "owner.db")
    assert "ann: epsilon = 1 of epsilon = 1.5 is spent" in shown.out
    data = done("ledger", "show", "owner.db", "--json").data
    assert [one["name"] for one in data["learners"]] == ["ann"]
    assert data["charges"][0]["learner"] == "ann"
    short = run(*RELEASE[:-1], "more.suffice", "--learner", "ann", "--key", "again")
    assert short.code == 3
    assert "limit of 'ann'" in short.err
    done("ledger", "revoke", "owner.db", "ann", "--reason", "left")
    gone = run(*RELEASE, "--learner", "ann")
    assert gone.code == 3
    assert "was revoked" in gone.err
    assert "; revoked" in done("ledger", "show", "owner.db").out
    assert done("ledger", "verify", "owner.db", "--json").data["ok"]


@pytest.mark.usefixtures("asked")
def test_a_larger_budget_needs_the_approval_of_the_second_key():
    for name in ("second", "third"):
        done("keys", "new", name)
    done("ledger", "approver", "owner.db", "second.pub")
    alone = run(*RAISE)
    assert alone.code == 2
    assert "has an approver" in alone.err
    ask = ("ledger", "approve", "owner.db", *RAISE[3:])
    done(*ask, "--key", "third.key", "-o", "wrong.json")
    done(*ask, "--key", "second.key", "-o", "right.json")
    assert run(*RAISE, "--approval", "wrong.json").code == 4
    other = [word.replace("epsilon=30", "epsilon=40") for word in RAISE]
    assert run(*other, "--approval", "right.json").code == 4
    assert done("ledger", "show", "owner.db", "--json").data["remaining"]["epsilon"] == 20.0
    done(*RAISE, "--approval", "right.json")
    assert done("ledger", "show", "owner.db", "--json").data["remaining"]["epsilon"] == 30.0
    assert run("ledger", "approver", "owner.db", "third.pub").code == 2
    assert run("ledger", "approver", "owner.db", "third.pub", "--approval", "third.key").code == 4
    done("ledger", "approver", "owner.db", "third.pub", "--approval", "second.key")
    assert done("ledger", "verify", "owner.db", "--json").data["ok"]


def test_a_forged_approval_is_found_by_verify(asked):
    done("keys", "new", "second")
    done("ledger", "approver", "owner.db", "second.pub")
    sf.Ledger.open("owner.db").raise_budget(sf.PureDP(30.0), "mine", approve=lambda *_: "00" * 64)
    found = run("ledger", "verify", "owner.db", "--json")
    assert (found.code, found.data["row"]) == (4, 3)


def test_a_checkpoint_shows_that_an_older_copy_was_put_back(asked):
    done("keys", "new", "owner")
    shutil.copy("owner.db", "older.db")
    done(*RELEASE)
    done("ledger", "checkpoint", "owner.db", "--seal", "owner.key", "-o", "point.json")
    words = ("--checkpoint", "point.json", "--trust", "owner.pub")
    assert done("ledger", "verify", "owner.db", *words, "--json").data["ok"]
    found = run("ledger", "verify", "older.db", *words)
    assert found.code == 4
    assert "it is an older copy" in found.out
    assert run("ledger", "verify", "owner.db", *words[:2]).code == 2
    done("keys", "new", "other")
    assert run("ledger", "verify", "owner.db", *words[:2], "--trust", "other.pub").code == 4
    page = (asked / "point.json").read_text("utf-8")
    (asked / "point.json").write_text(page.replace('\\"number\\":3', '\\"number\\":1'), "utf-8")
    assert page != (asked / "point.json").read_text("utf-8")
    assert run("ledger", "verify", "owner.db", *words).code == 4


@pytest.mark.usefixtures("asked")
def test_a_part_is_released_and_charged_by_itself():
    made = [*CREATE[:2], "parts.db", *CREATE[3:5], *BUDGET, "--partitions", "region=north, south,east"]
    assert done(*made, "--json").data["partitions"] == ["region", ["north", "south", "east"]]
    asked = ["release", "spec.toml", "--ledger", "parts.db", "--part", "north"]
    assert not done(*asked, "--dry-run", "--json").data["reused"]
    told = done(*asked, "-o", "north.suffice", "--json").data
    assert told["remaining"]["epsilon"] == 19.0
    assert sf.load("north.suffice").about["group"] == {"region": "north"}
    shown = done("ledger", "show", "parts.db").out
    assert "north: epsilon = 19" in shown
    assert "south: epsilon = 20" in shown
    assert done("ledger", "show", "parts.db", "--json").data["charges"][0]["part"] == "north"
    assert run(*asked[:-1], "west", "-o", "west.suffice").code == 2


@pytest.mark.parametrize("written", ["", "region", "region=", "=a,b"])
def test_what_names_no_groups_is_refused(written):
    with pytest.raises(InputError, match="Groups are written"):
        groups_of(written)


@pytest.mark.usefixtures("released")
def test_a_tight_total_is_shown_beside_what_is_added_up():
    pytest.importorskip("dp_accounting")
    data = done("ledger", "show", "owner.db", "--tight", "1e-6", "--json").data
    assert data["tight"]["delta"] == 1e-6
    assert 7.9 < data["tight"]["epsilon"] <= 8.0
    assert "tight:" in done("ledger", "show", "owner.db", "--tight", "1e-6").out
