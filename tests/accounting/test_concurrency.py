"""Many processes, one budget: exactly what fits is granted, and a killed process loses nothing."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib
import pytest

import suffice
from suffice.accounting.ledger import Ledger
from suffice.core.errors import BudgetExceeded
from suffice.core.guarantees import PureDP
from suffice.core.units import LabelOf

SPENDER = Path(__file__).with_name("spender.py")


def start(*words):
    path = os.pathsep.join([str(Path(suffice.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, str(SPENDER), *map(str, words)],
        env={**os.environ, "PYTHONPATH": path.rstrip(os.pathsep)},
        stdout=subprocess.PIPE,
        text=True,
    )


def race(ledger, folder, *, processes, attempts, mutant=()):
    """Return how many charges that many processes were granted, all starting at once."""
    go = folder / "go"
    racers = [start("race", ledger.url, name, attempts, go, *mutant) for name in range(processes)]
    deadline = time.monotonic() + 60
    while len(list(folder.glob("go.*"))) < processes:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    go.touch()
    granted = [int(racer.communicate(timeout=600)[0]) for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * processes
    return sum(granted)


def holds(ledger, granted, fits):
    """Return whether exactly what fits was granted, and the rows say the same as the totals."""
    charges = ledger.charges()
    total = sum(charge.cost.units for charge in charges)
    return granted == len(charges) == fits and ledger.spent().units == total and bool(ledger.verify())


def book(folder, fits):
    return Ledger.create(folder / "owner.db", dataset="s", unit=LabelOf("y"), budget=PureDP(fits / 1000))


def test_four_processes_are_granted_exactly_what_fits(folder):
    ledger = book(folder, 40)
    granted = race(ledger, folder, processes=4, attempts=25)
    assert holds(ledger, granted, 40)


def test_looking_first_and_writing_afterwards_grants_too_much(folder):
    ledger = book(folder, 40)
    granted = race(ledger, folder, processes=4, attempts=40, mutant=("read_check_write",))
    assert granted > 40
    assert not holds(ledger, granted, 40)


@pytest.mark.laws
@pytest.mark.parametrize("processes", [8, 50])
def test_of_ten_thousand_attempts_exactly_a_thousand_are_granted(tmp_path, processes):
    ledger = book(tmp_path, 1000)
    granted = race(ledger, tmp_path, processes=processes, attempts=10_000 // processes)
    assert holds(ledger, granted, 1000)


def attempt(ledger, key):
    try:
        return ledger.charge(key, b"", PureDP(0.001), summary="race").id
    except BudgetExceeded:
        return None


def test_threads_share_a_handle(folder):
    ledger = book(folder, 30)
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda number: attempt(ledger, f"{number}"), range(60)))
    assert holds(ledger, sum(one is not None for one in ids), 30)


def test_one_key_asked_for_by_many_at_once_is_paid_for_once(folder):
    ledger = book(folder, 30)

    def release(number):
        charge = ledger.charge("one key", b"", PureDP(0.001), summary="race")
        return charge.id, ledger.store(charge, f"draw {number}".encode())

    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(release, range(24)))
    assert len(answers) == 1
    assert holds(ledger, 1, 1)


def test_workers_of_joblib_spend_from_one_budget(folder):
    ledger = book(folder, 5)
    ids = joblib.Parallel(n_jobs=2)(joblib.delayed(attempt)(ledger, f"{number}") for number in range(10))
    assert holds(ledger, sum(one is not None for one in ids), 5)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_between_charge_and_store_shares_the_ledger(folder):
    ledger = book(folder, 5)
    charge = ledger.charge("k", b"", PureDP(0.001), summary="fork")
    child = os.fork()
    if child == 0:
        ledger.store(charge, b"of the child")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert ledger.store(charge, b"of the parent") == b"of the child"
    assert holds(ledger, 1, 1)


def killed(ledger, times, seed):
    """Kill a toiling process so many times; return what it said before, and how often it had only paid."""
    moments, said, between = random.Random(seed), [], 0  # noqa: S311
    for turn in range(times):
        worker = start("toil", ledger.url, turn, 0)
        first = worker.stdout.readline()
        time.sleep(moments.uniform(0, 0.05))
        worker.kill()
        lines = [first, *worker.stdout.read().splitlines(keepends=True)]
        worker.wait()
        worker.stdout.close()
        whole = [line.split() for line in lines if line.endswith("\n")]
        said += whole
        between += whole[-1][0] == "paid"
    return said, between


def survives(ledger, said):
    """Check each acknowledged word against the ledger, and ask for each paid key again."""
    charges = {charge.key: charge for charge in ledger.charges()}
    for word, key, *rest in said:
        if word == "paid":
            assert charges[key].id == rest[0]
        else:
            assert ledger.find(key, b"") == " ".join(rest).encode()
    before = ledger.spent()
    for key, charge in charges.items():
        again = ledger.charge(key, b"", PureDP(0.001), summary="toil")
        assert again == charge
        kept = ledger.store(again, b"made again")
        assert ledger.store(again, b"a second draw") == kept
    assert ledger.spent() == before
    assert ledger.verify()


def test_a_killed_process_loses_nothing_and_pays_once(folder):
    ledger = book(folder, 1_000_000)
    said, between = killed(ledger, 10, seed=1)
    survives(ledger, said)
    assert between >= 1


@pytest.mark.laws
def test_two_hundred_killed_processes_lose_nothing_and_pay_once(tmp_path):
    ledger = book(tmp_path, 1_000_000)
    said, between = killed(ledger, 200, seed=2)
    survives(ledger, said)
    assert between >= 40
