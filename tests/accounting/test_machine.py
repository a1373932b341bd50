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
from suffice.accounting.money import Amount
from suffice.core.errors import BudgetExceeded, InputError, Refused, UnprotectedRefused
from suffice.core.guarantees import NotPrivate, PureDP
from suffice.core.units import LabelOf
from tests.accounting.conftest import MEMORY

KEYS = st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "h"])
REQUESTS = st.sampled_from([b"mean", b"mean", b"mean", b"count"])
TENTHS = st.integers(1, 4)
LEARNERS = st.sampled_from(["ann", "bob"])
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
        self.learners, self.checkpoints = {}, []

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

    @rule(name=LEARNERS, tenths=TENTHS)
    def limit(self, name, tenths):
        known = self.learners.get(name)
        revoked, short = known and known[2], known and known[1] > tenths
        self.answer(
            Refused if revoked else InputError if short else None,
            lambda: self.ledger.limit(name, PureDP(tenths / 10)),
        )
        if not revoked and not short:
            self.learners[name] = [tenths, known[1] if known else 0, False]

    @rule(name=LEARNERS)
    def revoke(self, name):
        error = Refused if self.learners.get(name, [0, 0, True])[2] else None
        self.answer(error, lambda: self.ledger.revoke(name, "left"))
        if error is None:
            self.learners[name][2] = True

    @rule(key=KEYS, request=REQUESTS, tenths=TENTHS, name=LEARNERS)
    def charge_a_learner(self, key, request, tenths, name):
        error = self.expected(key, request, tenths, None)
        limit, spent, revoked = self.learners.get(name, [0, 0, True])
        conflict = error is InputError
        if not conflict and revoked:
            error = Refused
        elif error is None and key not in self.charges and spent + tenths > limit:
            error = BudgetExceeded
        charge = self.answer(
            error,
            lambda: self.ledger.charge(key, request, PureDP(tenths / 10), summary="mean", learner=name),
        )
        if error is None and key not in self.charges:
            self.charges[key] = (charge, request)
            self.learners[name][1] += tenths
            for one in self.spent:
                self.spent[one] += tenths

    @rule()
    def take_a_checkpoint(self):
        self.checkpoints.append(self.ledger.checkpoint())

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
        found = {one.name: (one.limit, one.spent, one.revoked) for one in self.ledger.learners()}
        assert found == {
            name: (Amount("PureDP", limit * 10**8), Amount("PureDP", spent * 10**8), revoked)
            for name, (limit, spent, revoked) in self.learners.items()
        }
        receipts = [charge.id for charge, _ in self.charges.values()]
        assert self.ledger.verify(receipts, checkpoints=self.checkpoints)

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
    run(2000, 50, derandomize=False)


def no_check(db, key, request_hash):
    """Look a key up without asking whether it was the same request."""
    found = db.rows(
        "SELECT number, act, key, body, previous, hash FROM entry WHERE act = 'charge' AND key = ?", key
    )
    return chain.Charge.of(chain.Entry(*found[0])) if found else None


def test_the_model_notices_a_ledger_that_does_not_compare_requests(monkeypatch):
    monkeypatch.setattr(ledger, "charge_under", no_check)
    with pytest.raises(BaseException, match=r"DID NOT RAISE|no learner|was revoked"):
        run(30, 20, phases=(Phase.generate,), report_multiple_bugs=False)
