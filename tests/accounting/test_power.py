"""A loss of power at any moment takes back no charge and no release that was acknowledged."""

from __future__ import annotations

from pathlib import Path

import pytest

from suffice.accounting import engine
from suffice.accounting.ledger import Ledger
from suffice.core.guarantees import PureDP
from suffice.core.units import LabelOf

pytest.importorskip("apsw")
from tests.accounting import power

SHIPPED = engine._PRAGMAS


def with_mode(journal, synchronous):
    return tuple(
        f"PRAGMA journal_mode = {journal}"
        if "journal_mode" in one
        else f"PRAGMA synchronous = {synchronous}"
        if "synchronous" in one
        else one
        for one in SHIPPED
    )


def losses_of(folder, monkeypatch, number, pragmas=SHIPPED, seed=1):
    """Spend and store through the shipped engine until power was lost so often."""
    ledger = Ledger.create(folder / "owner.db", dataset="s", unit=LabelOf("y"), budget=PureDP(1e6))
    disk = power.Disk(seed, chance=0.5)
    disk.durable[ledger.url] = Path(ledger.url).read_bytes()
    layer = power.Layer(disk)
    monkeypatch.setattr(engine, "_PRAGMAS", pragmas)
    monkeypatch.setattr(engine, "sqlite3", power.library())
    idle = ledger.engine._open()  # another process that has the ledger open, and does nothing
    idle.execute("SELECT COUNT(*) FROM entry")
    turn = 0
    while len(disk.losses) < number:
        key = f"k{turn}"
        charge = ledger.charge(key, b"", PureDP(0.001), summary="sum")
        disk.acknowledged.append(("paid", key, charge.id))
        kept = ledger.store(charge, f"draw {turn}".encode() * 40)
        disk.acknowledged.append(("kept", key, kept.decode()))
        if turn % 20 == 7:
            ledger.new_edition(f"{turn}")
        turn += 1
    idle.close()
    monkeypatch.undo()
    layer.unregister()
    return disk


def survives(files, said, home):
    """Return whether a ledger after a loss opens, verifies, and knows all that was acknowledged."""
    power.lay_out(files, home)
    try:
        ledger = Ledger.open(home / "owner.db")
        charges = {charge.key: charge.id for charge in ledger.charges()}
        verified = bool(ledger.verify())
        kept = all(ledger.find(key, b"") == text.encode() for word, key, text in said if word == "kept")
    except Exception:  # noqa: BLE001  however it shows, the ledger is damaged
        return False
    return verified and kept and all(charges.get(key) == text for word, key, text in said if word == "paid")


def lost(disk, folder, number):
    """Return how many of the losses took back something acknowledged, or damaged the ledger."""
    return sum(
        not survives(files, disk.acknowledged[:said][-6:], folder / f"after {turn}")
        for turn, (files, said) in enumerate(disk.losses[:number])
    )


def test_fifty_losses_of_power_take_back_nothing(folder, monkeypatch):
    disk = losses_of(folder, monkeypatch, 50)
    assert lost(disk, folder, 50) == 0
    assert len({said for _, said in disk.losses}) > 2


@pytest.mark.laws
def test_a_thousand_losses_of_power_take_back_nothing(folder, monkeypatch):
    total = 0
    for seed in range(10):
        home = folder / f"run {seed}"
        home.mkdir()
        total += lost(losses_of(home, monkeypatch, 100, seed=seed), home, 100)
    assert total == 0


@pytest.mark.parametrize(
    ("journal", "synchronous"), [("WAL", "NORMAL"), ("DELETE", "OFF"), ("DELETE", "FULL")]
)
def test_a_mode_that_is_not_offered_loses_what_it_acknowledged(folder, monkeypatch, journal, synchronous):
    """Without the sync of the folder, FULL too: the journal comes back and takes back the last charge."""
    disk = losses_of(folder, monkeypatch, 50, with_mode(journal, synchronous))
    assert lost(disk, folder, 50) > 0


def test_the_engine_that_is_tested_is_the_one_that_is_shipped(folder, monkeypatch):
    disk = losses_of(folder, monkeypatch, 1)
    assert any(name.endswith("owner.db") for name in disk.durable)
    assert engine._PRAGMAS[:2] == ("PRAGMA journal_mode = DELETE", "PRAGMA synchronous = EXTRA")
