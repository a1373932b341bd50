"""The ledger and a model of it in plain Python agree after every step that anyone can take."""

from __future__ import annotations

import copy
import pickle
import shutil
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from suffice.accounting import chain, ledger
from suffice.accounting.ledger import Ledger
from suffice.core.errors import BudgetExceeded, InputError, UnprotectedRefused
from suffice.core.guarantees import NotPrivate, PureDP
from suffice.core.units import LabelOf
from tests.accounting.conftest import MEMORY

KEYS = st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "h"])
REQUESTS = st.sampled_from([b"mean", b"mean", b"mean", b"count"])
TENTHS = st.integers(1, 4)
PARTS = st.sampled_from([None, "north", "south"])


class LedgerMachine(RuleBasedStateMachine):
    """Every rule does one thing to the ledger and to the model, and compares what they answer."""

    def place(self):
        """Return where a new ledger can be made."""
        self.folder = Path(tempfile.mkdtemp(prefix="suffice-", dir=MEMORY if MEMORY.is_dir() else None))
        return self.folder / "owner.db"

    @initialize(tenths=st.integers(3, 12), allow=st.booleans())
    def begin(self, tenths, allow):
        self.ledger = Ledger.create(
            self.place(),
            dataset="sales",
            unit=LabelOf("bought"),
            budget=PureDP(tenths / 10),
            partitions=("region", ("north", "south")),
            allow_unprotected=allow,
        )
        self.allow, self.total, self.voided = allow, tenths, False
        self.spent = {"north": 0, "south": 0}
        self.charges, self.bytes, self.editions, self.sources = {}, {}, ["1"], {}

    def answer(self, error, action):
        """Run the action, which must raise what the model expects and nothing else."""
        if error is None:
            return action()
        with pytest.raises(error):
            action()
        return None

    def expected(self, key, request, tenths, part):
        if key in self.charges:
            return None if self.charges[key][1] == request else InputError
        touched = self.spent if part is None else [part]
        return BudgetExceeded if any(self.spent[one] + tenths > self.total for one in touched) else None

    @rule(key=KEYS, request=REQUESTS, tenths=TENTHS, part=PARTS)
    def charge(self, key, request, tenths, part):
        error = self.expected(key, request, tenths, part)
        promise = PureDP(tenths / 10)
        charge = self.answer(
            error, lambda: self.ledger.charge(key, request, promise, summary="mean", part=part)
        )
        if error is None and key in self.charges:
            assert charge == self.charges[key][0]
        elif error is None:
            self.charges[key] = (charge, request)
            for one in self.spent if part is None else [part]:
                self.spent[one] += tenths

    @rule(key=KEYS, request=REQUESTS)
    def release_unprotected(self, key, request):
        known = key in self.charges
        error = self.expected(key, request, 0, None) if known else None if self.allow else UnprotectedRefused
        charge = self.answer(
            error,
            lambda: self.ledger.charge(
                key, request, NotPrivate("exact"), summary="rados", unprotected="shown"
            ),
        )
        if error is None and not known:
            self.charges[key] = (charge, request)
            self.voided = True

    @rule(key=KEYS, content=st.binary(max_size=4))
    def store(self, key, content):
        if key in self.charges:
            self.bytes.setdefault(key, content)
            assert self.ledger.store(self.charges[key][0], content) == self.bytes[key]

    @rule(key=KEYS, request=REQUESTS)
    def find(self, key, request):
        conflict = key in self.charges and self.charges[key][1] != request
        found = self.answer(InputError if conflict else None, lambda: self.ledger.find(key, request))
        assert conflict or found == self.bytes.get(key)

    @rule(tenths=st.integers(1, 20))
    def raise_budget(self, tenths):
        error = None if tenths > self.total else InputError
        self.answer(error, lambda: self.ledger.raise_budget(PureDP(tenths / 10), "more"))
        self.total = max(self.total, tenths)

    @rule(name=st.sampled_from(["1", "2", "3"]))
    def new_edition(self, name):
        self.answer(InputError if name in self.editions else None, lambda: self.ledger.new_edition(name))
        self.editions += [name] if name not in self.editions else []

    @rule(name=st.sampled_from(["x.csv", "y.csv"]))
    def bind_source(self, name):
        bound = self.sources.setdefault(self.editions[-1], name)
        self.answer(None if bound == name else InputError, lambda: self.ledger.bind_source(name))

    @rule(how=st.sampled_from(["open", "copy", "pickle"]))
    def come_back(self, how):
        if how == "open":
            self.ledger = Ledger.open(self.ledger.url)
        else:
            self.ledger = (
                copy.deepcopy(self.ledger) if how == "copy" else pickle.loads(pickle.dumps(self.ledger))
            )

    @invariant()
    def the_totals_agree(self):
        if not hasattr(self, "ledger"):
            return
        for part, spent in self.spent.items():
            assert self.ledger.remaining(part).amount.exact[0] == Fraction(self.total - spent, 10)
        assert self.ledger.spent().exact[0] == Fraction(max(self.spent.values()), 10)
        assert (self.ledger.remaining().voided is not None) == self.voided
        assert self.ledger.edition == self.editions[-1]
        assert self.ledger.budget == PureDP(self.total / 10)
        assert self.ledger.charges() == [charge for charge, _ in self.charges.values()]
        assert self.ledger.verify([charge.id for charge, _ in self.charges.values()])

    def teardown(self):
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder)


def run(examples, steps, machine=LedgerMachine, **more):
    run_state_machine_as_test(
        machine,
        settings=settings(max_examples=examples, stateful_step_count=steps, deadline=None, **more),
    )


def test_the_ledger_agrees_with_its_model():
    run(10, 20)


@pytest.mark.laws
def test_the_ledger_agrees_with_its_model_for_long():
    run(400, 50, derandomize=False)


def no_check(db, key, request_hash):
    """Look a key up without asking whether it was the same request."""
    found = db.rows(
        "SELECT number, act, key, body, previous, hash FROM entry WHERE act = 'charge' AND key = ?", key
    )
    return chain.Charge.of(chain.Entry(*found[0])) if found else None


def test_the_model_notices_a_ledger_that_does_not_compare_requests(monkeypatch):
    monkeypatch.setattr(ledger, "charge_under", no_check)
    with pytest.raises(BaseException, match=r"DID NOT RAISE"):
        run(30, 20, phases=(Phase.generate,), report_multiple_bugs=False)
