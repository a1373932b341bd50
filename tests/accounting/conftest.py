"""Ledgers in memory-backed folders where there are any: durability costs nothing there."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

from suffice.accounting.ledger import Ledger
from suffice.core.guarantees import PureDP
from suffice.core.units import LabelOf

MEMORY = Path("/dev/shm")  # noqa: S108


@pytest.fixture
def folder():
    """Return an empty folder that is gone after the test."""
    path = Path(tempfile.mkdtemp(prefix="suffice-", dir=MEMORY if MEMORY.is_dir() else None))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def make(folder):
    """Return a function that makes a ledger; what is not said is the same each time."""

    def build(name="owner.db", **given):
        fixed = {"dataset": "sales", "unit": LabelOf("bought"), "budget": PureDP(1.0)}
        return Ledger.create(folder / name, **(fixed | given))

    return build
