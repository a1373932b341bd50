"""An older ledger is brought to the newest format, and no charge changes."""

from __future__ import annotations

import shutil
from importlib import resources
from types import SimpleNamespace

import pytest

from suffice.accounting import chain, engine, ledger, record
from suffice.accounting.ledger import Ledger
from suffice.accounting.money import Amount
from suffice.core.errors import FormatTooNew
from suffice.core.guarantees import PureDP

SECOND = (
    "-- a column; more\nALTER TABLE artefact ADD COLUMN note TEXT;\nCREATE INDEX notes ON artefact (note);\n"
)


@pytest.fixture
def newer(folder, monkeypatch):
    """Return a function that turns this into a version with one more migration."""
    package = folder / "package"
    shutil.copytree(resources.files("suffice.accounting") / "migrations", package / "migrations")
    (package / "migrations" / "0003_note.sql").write_text(SECOND)

    def become():
        monkeypatch.setattr(engine, "resources", SimpleNamespace(files=lambda _: package))
        for module in (engine, chain, ledger):
            monkeypatch.setattr(module, "FORMAT", 3)

    return become


def test_an_older_ledger_is_migrated_when_it_is_opened_and_no_charge_changes(make, newer, monkeypatch):
    old = make(budget=PureDP(100.0))
    for key in range(50):
        old.store(old.charge(f"{key}", b"", PureDP(0.1), summary="mean"), b"bytes")
    before = old.charges()
    newer()
    with pytest.raises(FormatTooNew, match=r"format 2, older than 3. Open it once"):
        old.charge("new", b"", PureDP(0.1), summary="mean")
    fresh = Ledger.open(old.url)
    assert Ledger.open(old.url).charges() == fresh.charges() == before
    assert fresh.verify()
    assert fresh.find("7", b"") == b"bytes"
    with fresh.engine.transaction() as db:
        assert db.rows("SELECT format FROM ledger") == [(3,)]
        assert db.rows("SELECT note FROM artefact WHERE charge = 2") == [(None,)]
    assert fresh.charge("new", b"", PureDP(0.1), summary="mean")
    monkeypatch.undo()
    with pytest.raises(FormatTooNew, match="has format 3"):
        old.charge("newest", b"", PureDP(0.1), summary="mean")


def test_a_migration_that_fails_changes_nothing(make, newer, folder):
    old = make()
    charge = old.charge("k", b"", PureDP(0.1), summary="mean")
    newer()
    (folder / "package" / "migrations" / "0003_note.sql").write_text(
        SECOND + "CREATE TABLE entry (x TEXT);\n"
    )
    with pytest.raises(Exception, match="already exists"):
        Ledger.open(old.url)
    with old.engine.transaction() as db:
        assert db.rows("SELECT format FROM ledger") == [(2,)]
        assert len(db.rows("PRAGMA table_info(artefact)")) == 2
    assert old.charges() == [charge]


def first_version(monkeypatch):
    """Turn this into the version that knew no learners."""
    for module in (engine, chain, ledger, record):
        monkeypatch.setattr(module, "FORMAT", 1)


def of_the_first_version(make, monkeypatch, charges):
    """Return a ledger of format 1 with so many charges, and those, as the first version had written them."""
    with monkeypatch.context() as patch:
        first_version(patch)
        old = make(budget=PureDP(charges * 0.001))
        with old.engine.transaction(write=True) as db:
            price = Amount.of(PureDP(0.001))
            fields = {
                "request": "", "summary": "mean", "promise": PureDP(0.001), "also": (), "part": None,
                "cost": (price.currency, price.units, price.delta_units), "unprotected": None,
                "day": "2026-01-01", "edition": "1",
            }  # fmt: skip
            for number in range(charges):
                chain.append(db, "charge", f"{number}", fields)
            db.change("UPDATE account SET spent = ?", charges * price.units)
        with old.engine.transaction() as db:
            assert db.rows("SELECT format FROM ledger") == [(1,)]
            assert db.rows("SELECT COUNT(*) FROM sqlite_master WHERE name = 'learner'") == [(0,)]
        return old, old.charges()


def check_migrated(old, before):
    fresh = Ledger.open(old.url)
    assert fresh.charges() == before
    assert fresh.verify([charge.id for charge in before])
    assert str(fresh.remaining()) == "epsilon = 0"
    fresh.raise_budget(PureDP(len(before) * 0.001 + 1), "more")
    fresh.limit("ann", PureDP(0.5))
    assert fresh.charge("new", b"", PureDP(0.1), summary="mean", learner="ann").learner == "ann"
    assert fresh.verify()
    edited = len(before) // 2
    with fresh.engine.transaction(write=True) as db:
        db.change("UPDATE entry SET body = replace(body, 'mean', 'sum') WHERE number = ?", edited)
    found = fresh.verify()
    assert (found.ok, found.row) == (False, edited)


def test_a_ledger_of_the_first_version_is_brought_here_and_an_edited_row_is_named(make, monkeypatch):
    check_migrated(*of_the_first_version(make, monkeypatch, 1000))


@pytest.mark.laws
def test_a_hundred_thousand_charges_are_brought_here_unchanged(make, monkeypatch):
    check_migrated(*of_the_first_version(make, monkeypatch, 100_000))
