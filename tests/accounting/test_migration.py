"""An older ledger is brought to the newest format, and no charge changes."""

from __future__ import annotations

import shutil
from importlib import resources
from types import SimpleNamespace

import pytest

from suffice.accounting import chain, engine, ledger
from suffice.accounting.ledger import Ledger
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
