from __future__ import annotations

from pathlib import Path

import pytest

import suffice as sf
from tests.cli.conftest import CREATE, RELEASE, done, run
from tests.cli.test_check import spoil


def left() -> float:
    return sf.Ledger.open("owner.db").remaining().epsilon


@pytest.mark.usefixtures("asked")
def test_a_release_is_written_paid_for_and_told():
    told = done(*RELEASE, "--epsilon", "0.5", "--json").data
    release = sf.load("bought.suffice")
    assert release.guarantee.promise == sf.PureDP(0.5)
    assert (told["reused"], told["remaining"]["epsilon"], left()) == (False, 19.5, 19.5)
    assert told["charge"] == release.receipt.charge


def test_the_same_request_again_is_free_and_gives_the_same_bytes(asked):
    done(*RELEASE)
    before = (asked / "bought.suffice").read_bytes()
    done(*RELEASE)
    again = done(*RELEASE[:-1], "again.suffice", "--json").data
    assert (again["reused"], again["remaining"]["epsilon"]) == (True, 19.0)
    assert (asked / "again.suffice").read_bytes() == before


def test_a_key_of_its_own_is_charged_and_drawn_afresh(asked):
    done(*RELEASE)
    done(*RELEASE[:-1], "second.suffice", "--key", "second")
    assert left() == 18.0
    assert (asked / "bought.suffice").read_bytes() != (asked / "second.suffice").read_bytes()


def test_a_dry_run_spends_nothing_writes_nothing_and_opens_no_protected_column(asked, opened):
    files = set(asked.iterdir())
    told = done(*RELEASE[:-2], "--dry-run", "--epsilon", "0.5", "--json").data
    assert (told["cost"], told["spent"], left()) == ("epsilon = 0.5", False, 20.0)
    assert 0 < told["noise"]["median"] < told["noise"]["quantile_95"]
    assert opened
    assert not any("bought" in columns for columns in opened)
    assert set(asked.iterdir()) == files


def test_a_dry_run_succeeds_where_the_label_cannot_be_read_and_a_release_fails_uncharged(asked):
    spoil(asked / "people.parquet", "bought")
    done(*RELEASE[:-2], "--dry-run")
    failed = run(*RELEASE)
    assert failed.code == 2
    assert left() == 20.0
    assert sf.Ledger.open("owner.db").charges() == []
    assert not (asked / "bought.suffice").exists()


def test_the_noise_that_a_dry_run_predicts_is_the_noise_that_is_drawn(asked):
    told = done(*RELEASE[:-2], "--dry-run", "--json").data
    done(*RELEASE)
    release = sf.load(asked / "bought.suffice")
    assert told["radius"] == release.grid.radius
    assert told["noise"]["median"] == release.law.quantile(0.5) / release.grid.radius


def test_more_than_is_left_is_refused_with_three_and_what_the_budget_went_to(asked):
    done(*RELEASE)
    refused = run(*RELEASE[:-1], "more.suffice", "--epsilon", "25")
    assert refused.code == 3
    assert "epsilon = 19 is left" in refused.err
    assert "MeanOperator of 'bought'" in refused.err
    told = run(*RELEASE[:-1], "more.suffice", "--epsilon", "25", "--json")
    assert told.data["error"]["kind"] == "BudgetExceeded"
    assert not (asked / "more.suffice").exists()


def test_a_file_that_holds_something_else_is_refused_before_anything_is_spent(asked):
    (asked / "bought.suffice").write_text("a letter", "utf-8")
    refused = run(*RELEASE)
    assert (refused.code, left()) == (2, 20.0)
    assert (asked / "bought.suffice").read_text("utf-8") == "a letter"
    done(*RELEASE, "--overwrite")
    assert sf.load("bought.suffice").kind == "MeanOperator"


@pytest.mark.parametrize("words", [["--seal", "people.csv"], ["--seal", "nobody.key"]])
@pytest.mark.usefixtures("asked")
def test_a_key_that_cannot_seal_is_refused_before_anything_is_spent(words):
    assert run(*RELEASE, *words).code == 2
    assert left() == 20.0


@pytest.mark.usefixtures("asked")
def test_a_folder_that_is_not_there_is_refused_before_anything_is_spent():
    assert run(*RELEASE[:-1], "no/where.suffice").code == 2
    assert run(*RELEASE[:-2]).code == 2
    assert left() == 20.0


@pytest.mark.usefixtures("asked")
def test_what_protects_nothing_needs_a_ledger_that_allows_it_and_a_reason():
    spec = Path("spec.toml")
    words = spec.read_text("utf-8")
    spec.write_text(words[: words.index("[mechanism]")] + '[mechanism]\nkind = "Exact"\n', "utf-8")
    assert run(*RELEASE, "--unprotected", "teaching").code == 3
    create = [word.replace("owner.db", "open.db") for word in CREATE]
    done(*create, "--allow-unprotected")
    release = [word.replace("owner.db", "open.db") for word in RELEASE]
    assert run(*release).code == 3
    done(*release, "--unprotected", "teaching")
    assert "void since" in done("ledger", "show", "open.db").out
    assert "protects nothing" in done("show", "bought.suffice").out


def test_a_spec_is_released_from_any_folder(asked, monkeypatch):
    done(*RELEASE)
    elsewhere = asked / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    told = done("release", "../spec.toml", "--ledger", "../owner.db", "-o", "b.suffice", "--json").data
    assert told["reused"]
    assert Path.cwd() == elsewhere
    assert (elsewhere / "b.suffice").read_bytes() == (asked / "bought.suffice").read_bytes()


@pytest.mark.usefixtures("asked")
def test_no_command_of_the_owner_says_anything_when_it_is_asked_to_be_quiet():
    ended = done(*RELEASE, "--quiet")
    assert (ended.out, ended.err) == ("", "")
