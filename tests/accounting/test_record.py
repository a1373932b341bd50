"""An edit from outside is found, and the first edited row is named."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import pytest

from suffice.accounting.ledger import Ledger
from suffice.core.guarantees import NotPrivate, PureDP

ROWS = 8


@pytest.fixture
def ledger(make):
    """Return a ledger with eight acts of every kind."""
    made = make(allow_unprotected=True, partitions=("region", ("north", "south")))
    made.bind_source("sales.csv")
    for key, part in [("a", None), ("b", "north")]:
        made.store(made.charge(key, b"", PureDP(0.1), summary="mean", part=part), b"bytes")
    made.raise_budget(PureDP(2.0), "more")
    made.new_edition("2")
    made.charge("c", b"", NotPrivate("exact"), summary="rados", unprotected="teaching")
    made.charge("d", b"", PureDP(0.1), summary="mean")
    return made


def edit(ledger, *statements):
    with closing(sqlite3.connect(ledger.url)) as raw, raw:
        for text in statements:
            assert raw.execute(text).rowcount == 1


def test_an_untouched_ledger_verifies(ledger):
    found = ledger.verify()
    assert found
    assert (found.entries, found.row, found.problem) == (ROWS, None, None)
    assert str(found) == "All 8 rows of the ledger are as they were written, and its totals add up."


@pytest.mark.parametrize("number", range(1, ROWS + 1))
@pytest.mark.parametrize("column", ["act", "key", "body", "previous", "hash"])
def test_the_edited_row_is_named(ledger, number, column):
    edit(ledger, f"UPDATE entry SET {column} = {column} || ' ' WHERE number = {number}")  # noqa: S608
    found = ledger.verify()
    assert not found
    assert found.row == number
    assert f"row {number}" in str(found)


@pytest.mark.parametrize("number", range(1, ROWS))
def test_a_row_taken_away_is_named(ledger, number):
    edit(ledger, f"DELETE FROM entry WHERE number = {number}")  # noqa: S608
    found = ledger.verify()
    assert (found.ok, found.row) == (False, number)
    assert f"row {number} is missing" in str(found)


def test_rows_taken_from_the_end_are_noticed(ledger):
    edit(ledger, f"DELETE FROM entry WHERE number = {ROWS}")  # noqa: S608
    assert "counts 8 rows and has 7" in str(ledger.verify())


def test_a_row_copied_from_another_ledger_does_not_fit(ledger, make):
    other = make("other.db", allow_unprotected=True, partitions=("region", ("north", "south")))
    other.bind_source("sales.csv")
    edit(ledger, "DELETE FROM entry WHERE number = 2")
    with closing(sqlite3.connect(ledger.url)) as raw:
        raw.execute("ATTACH ? AS other", (other.url,))
        raw.execute("INSERT INTO entry SELECT * FROM other.entry WHERE number = 2")
        raw.commit()
    assert ledger.verify().row == 2


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE account SET spent = spent - 1 WHERE part = 'north'",
        "UPDATE account SET spent = 0 WHERE part = 'south'",
        "UPDATE account SET total = total + 1 WHERE part = 'south'",
        "DELETE FROM account WHERE part = 'north'",
        "INSERT INTO account VALUES ('east', 1, 0, 0, 0)",
        "UPDATE ledger SET voided = NULL",
        "UPDATE ledger SET voided = '1999-01-01'",
        "UPDATE ledger SET length = 7",
        "UPDATE artefact SET charge = 2 WHERE charge = 3",
    ],
)
def test_totals_that_do_not_follow_from_the_rows_are_noticed(ledger, text):
    edit(ledger, text)
    found = ledger.verify()
    assert (found.ok, found.row) == (False, None)


def test_an_older_copy_put_back_is_noticed_by_the_receipts_of_releases(ledger, folder):
    shutil.copy(ledger.url, folder / "older.db")
    charge = ledger.charge("e", b"", PureDP(0.1), summary="mean")
    receipts = [one.id for one in ledger.charges()]
    assert ledger.verify(receipts)
    older = Ledger.open(folder / "older.db")
    assert older.verify()
    found = older.verify(receipts)
    assert not found
    assert found.unknown == (charge.id,)
    assert "older copy" in str(found)
