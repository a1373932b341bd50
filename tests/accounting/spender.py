"""A process that spends from a ledger, as a test starts it: `spender.py WHAT URL ...`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from suffice.accounting import balance, ledger
from suffice.accounting.chain import Charge, append, edition_of
from suffice.core.errors import BudgetExceeded
from suffice.core.guarantees import PureDP

COST = PureDP(0.001)


def read_check_write(db, key, price, account, fields):
    """Spend the way that is wrong: look at the total, decide, and write the new total afterwards."""
    db.undo()
    left = balance.remaining(db, price.currency, account).amount
    spent = balance.spent(db, price.currency, account)
    if not price.within(left):
        return None
    time.sleep(0.003)  # the processor is taken away between the look and the write
    db.raw.execute("BEGIN IMMEDIATE")
    db.change("UPDATE account SET spent = ?", spent.units + price.units)
    entry = append(db, "charge", key, {**fields, "edition": edition_of(db)})
    return Charge.of(entry)


def say(*words: object) -> None:
    """Write a line that the reader has at once."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def race(url: str, name: str, attempts: str, go: str, mutant: str = "") -> None:
    """Ask for so many charges, each under its own key, from the moment that the file `go` is there."""
    if mutant:
        ledger._spend = globals()[mutant]
    book = ledger.Ledger.open(url)
    Path(f"{go}.{name}").touch()
    while not Path(go).exists():
        time.sleep(0.001)
    granted = 0
    for number in range(int(attempts)):
        try:
            book.charge(f"{name}/{number}", b"", COST, summary="race")
            granted += 1
        except BudgetExceeded:
            pass
    say(granted)


def toil(url: str, name: str, first: str) -> None:
    """Charge, make bytes, store, and say so, again and again, until someone ends this process."""
    book = ledger.Ledger.open(url)
    number = int(first)
    while True:
        key = f"{name}/{number}"
        charge = book.charge(key, b"", COST, summary="toil")
        say("paid", key, charge.id)
        content = f"{key} {time.monotonic_ns()}".encode()
        time.sleep(0.002)
        kept = book.store(charge, content)
        say("kept", key, kept.decode())
        number += 1


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
