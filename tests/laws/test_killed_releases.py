"""A release command that is killed at any moment loses nothing that it acknowledged, and pays once."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

import suffice as sf
from tests.cli.conftest import BUDGET, write

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

SPEC = """
source = "people.parquet"
[statistic]
kind = "MeanOperator"
label = "bought"
classes = ["no", "yes"]
bound = { norm = 2, radius = 1.0 }
features = [
  { name = "age", kind = "Numeric", centre = 40.0, scale = 12.0 },
  { name = "id", kind = "Hashed", buckets = 3000, salt = "public" },
]
[mechanism]
kind = "L2Laplace"
epsilon = 0.001
"""
# the shipped command in a fresh process each time, but for the libraries, which are loaded once
FORGE = """
import os, sys
from suffice.cli import main
import suffice.learners, suffice.owner, suffice.sources.parquet, suffice.statistics.mean_operator
for line in iter(sys.stdin.readline, ""):
    child = os.fork()
    if child == 0:
        name = line.strip()
        sys.stdout = open(name + ".said", "w")
        sys.argv = ["suffice", "release", "spec.toml", "--ledger", "owner.db", "--key", name,
                    "-o", name + ".suffice", "--json"]
        try:
            main()
        except SystemExit as end:
            sys.stdout.flush()
            os._exit(end.code or 0)
    print(child, flush=True)
    sys.stdin.readline()  # until then its number is no other's
    os.waitpid(child, 0)
    print("ended", flush=True)
"""


class Forge:
    """Commands that are started one after the other, and killed."""

    def __init__(self, home):
        path = os.pathsep.join([str(Path(sf.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        self.home = home
        self.process = subprocess.Popen(
            [sys.executable, "-c", FORGE],
            cwd=home,
            env={**os.environ, "PYTHONPATH": path.rstrip(os.pathsep), "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, name):
        self.process.stdin.write(f"{name}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def wait(self):
        self.process.stdin.write("wait\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "ended\n"

    def run(self, name):
        """Return how many seconds the command took, which was left to end by itself."""
        began = time.monotonic()
        self.start(name)
        self.wait()
        return time.monotonic() - began

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def home(tmp_path):
    write(tmp_path)
    (tmp_path / "spec.toml").write_text(SPEC, "utf-8")
    unit = sf.LabelOf("bought")
    assert BUDGET[1] == f"label:{unit.columns[0]}"
    sf.Ledger.create(tmp_path / "owner.db", dataset="people", unit=unit, budget=sf.PureDP(20.0))
    return tmp_path


def paid(book):
    return book.execute("SELECT length FROM ledger").fetchone()[0]


def kill(home, times, seed):
    """Kill so many commands, every other one soon after it has paid; return the ledger and who only paid."""
    moments, forge = random.Random(seed), Forge(home)  # noqa: S311
    book = sqlite3.connect(home / "owner.db", isolation_level=None)
    try:
        usual = [forge.run(f"whole{number}") for number in range(2)][-1]
        for number in range(times):
            before, child = paid(book), forge.start(f"k{number}")
            deadline = time.monotonic() + (20 if number % 2 else moments.uniform(0, usual))
            while time.monotonic() < deadline and paid(book) == before:
                time.sleep(0.001)
            time.sleep(moments.uniform(0, 0.02))
            os.kill(child, signal.SIGKILL)
            forge.wait()
    finally:
        forge.close()
        book.close()
    ledger = sf.Ledger.open(home / "owner.db")
    return ledger, [charge for charge in ledger.charges() if bytes_of(ledger, charge) is None]


def bytes_of(ledger, charge):
    with ledger.engine.transaction() as db:
        found = db.rows("SELECT content FROM artefact WHERE charge = ?", charge.number)
    return bytes(found[0][0]) if found else None


def acknowledged(home):
    """Return the names of the commands that said they were done."""
    return [path.stem for path in home.glob("*.said") if path.read_text("utf-8").rstrip().endswith("}")]


def survives(home, ledger):
    """Check every command against the ledger, then run the paid ones again: nothing more is paid."""
    charges = {charge.key: charge for charge in ledger.charges()}
    for name in acknowledged(home):
        charge = charges[f"named:{name}"]
        release = sf.load(home / f"{name}.suffice")
        assert release.receipt.charge == charge.id
        assert bytes_of(ledger, charge) == release.to_bytes()
    for path in home.glob("*.suffice"):
        assert sf.load(path).receipt.charge == charges[f"named:{path.stem}"].id
    stored = {key: bytes_of(ledger, charge) for key, charge in charges.items()}
    spent = ledger.spent()
    again = [key for key, content in stored.items() if content is None or key in list(stored)[:3]]
    forge = Forge(home)
    try:
        for key in again:
            forge.run(key.removeprefix("named:"))
    finally:
        forge.close()
    assert ledger.spent() == spent
    for key in again:
        before, now = stored[key], bytes_of(ledger, charges[key])
        assert now is not None
        assert before in {None, now}
        assert sf.load(home / f"{key.removeprefix('named:')}.suffice").to_bytes() == now
    assert ledger.verify([charge.id for charge in charges.values()])


def test_twenty_killed_commands_lose_nothing_and_pay_once(home):
    ledger, only_paid = kill(home, 20, seed=1)
    assert len(only_paid) >= 4
    survives(home, ledger)


@pytest.mark.laws
def test_two_hundred_killed_commands_lose_nothing_and_pay_once(home):
    ledger, only_paid = kill(home, 200, seed=2)
    assert len(only_paid) >= 40
    survives(home, ledger)


def test_a_ledger_that_forgot_what_it_acknowledged_is_found(home):
    """The mutants: fresh bytes for a paid charge, and a charge that is gone."""
    ledger, _ = kill(home, 0, seed=3)
    assert len(acknowledged(home)) == 2
    whole = (home / "owner.db").read_bytes()
    for change in (
        "UPDATE artefact SET content = x'00'",
        "UPDATE entry SET key = 'lost' WHERE act = 'charge' AND number = 3",
    ):
        with closing(sqlite3.connect(home / "owner.db")) as raw, raw:
            assert raw.execute(change).rowcount
        with pytest.raises((AssertionError, KeyError)):
            survives(home, ledger)
        (home / "owner.db").write_bytes(whole)
