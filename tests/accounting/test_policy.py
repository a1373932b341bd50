"""Limits of learners, revocations and approvals: each is kept, recorded, and checked afterwards."""

from __future__ import annotations

import itertools

import pytest

from suffice.accounting import policy
from suffice.accounting.ledger import Ledger
from suffice.accounting.money import Amount
from suffice.core.errors import BudgetExceeded, InputError, Refused
from suffice.core.guarantees import NotPrivate, PureDP, ZeroConcentratedDP

KEYS = itertools.count()


def spend(ledger, epsilon, learner=None, **more):
    return ledger.charge(
        f"k{next(KEYS)}", b"", PureDP(epsilon), summary="mean operator", learner=learner, **more
    )


def test_a_learner_may_spend_its_limit_and_no_more(make):
    ledger = make()
    ledger.limit("ann", PureDP(0.3), "first year")
    spend(ledger, 0.2, "ann")
    with pytest.raises(BudgetExceeded, match=r"epsilon = 0.1 of the limit of 'ann' is left"):
        spend(ledger, 0.2, "ann")
    assert str(ledger.remaining()) == "epsilon = 0.8"
    spend(ledger, 0.1, "ann")
    (ann,) = ledger.learners()
    assert (ann.spent, ann.limit, ann.revoked) == (
        Amount("PureDP", 300_000_000),
        Amount("PureDP", 300_000_000),
        False,
    )
    assert [charge.learner for charge in ledger.charges()] == ["ann", "ann"]
    assert "for ann" in ledger.charges()[0].line()
    assert ledger.verify()


def test_a_limit_never_adds_to_the_budget_of_all(make):
    ledger = make(budget=PureDP(0.5))
    for name in ("ann", "bob"):
        ledger.limit(name, PureDP(0.4))
    spend(ledger, 0.4, "ann")
    with pytest.raises(BudgetExceeded, match=r"and epsilon = 0.1 is left"):
        spend(ledger, 0.2, "bob")
    assert [one.spent.units for one in ledger.learners()] == [400_000_000, 0]
    assert ledger.verify()


def grant(ledger, learners, attempts):
    """Let every learner ask so often; return how many requests were granted."""
    granted = 0
    for name, _ in itertools.product(learners, range(attempts)):
        try:
            spend(ledger, 0.01, name)
            granted += 1
        except BudgetExceeded:
            pass
    return granted


def test_a_hundred_names_get_together_what_one_budget_holds(make):
    ledger = make(budget=PureDP(0.5))
    names = [f"learner {number}" for number in range(100)]
    for name in names:
        ledger.limit(name, PureDP(0.02))
    assert grant(ledger, names, 3) == 50
    assert max(one.spent.units for one in ledger.learners()) == 20_000_000
    assert str(ledger.remaining()) == "epsilon = 0"
    assert ledger.verify()


def test_budgets_of_learners_alone_would_grant_many_times_the_budget(make, monkeypatch):
    """The mutant of the test above: nothing but the learner's own limit is asked."""
    monkeypatch.setattr("suffice.accounting.balance.take", lambda *_: True)
    ledger = make(budget=PureDP(0.05))
    names = [f"learner {number}" for number in range(10)]
    for name in names:
        ledger.limit(name, PureDP(0.02))
    assert grant(ledger, names, 3) == 20
    assert not ledger.verify()


def test_a_name_that_the_owner_did_not_give_is_refused(make):
    ledger = make()
    for ask in (lambda: spend(ledger, 0.1, "eve"), lambda: ledger.admit("eve")):
        with pytest.raises(Refused, match="no learner 'eve'"):
            ask()
    assert ledger.charges() == []


def test_a_revoked_learner_asks_in_vain_and_for_good(make):
    ledger = make()
    ledger.limit("ann", PureDP(0.5))
    charge = spend(ledger, 0.1, "ann")
    ledger.store(charge, b"bytes")
    ledger.revoke("ann", "left the project")
    for ask in (
        lambda: spend(ledger, 0.1, "ann"),
        lambda: ledger.admit("ann"),
        lambda: ledger.revoke("ann", "again"),
        lambda: ledger.limit("ann", PureDP(0.9)),
    ):
        with pytest.raises(Refused, match="was revoked"):
            ask()
    assert ledger.find(charge.key, b"") == b"bytes"
    assert Ledger.open(ledger.url).learners()[0].revoked
    assert spend(ledger, 0.1).learner is None
    assert ledger.verify()


def test_a_revocation_between_the_look_and_the_spend_is_noticed(make, monkeypatch):
    ledger = make()
    ledger.limit("ann", PureDP(0.5))
    ledger.revoke("ann", "left")
    real, looks = policy.admit, itertools.count()
    monkeypatch.setattr(policy, "admit", lambda *given: real(*given) if next(looks) else None)
    with pytest.raises(Refused, match="was revoked"):
        spend(ledger, 0.1, "ann")
    assert next(looks) == 2
    assert str(ledger.remaining()) == "epsilon = 1"


def test_a_limit_is_set_anew_but_not_below_what_is_spent(make):
    ledger = make()
    ledger.limit("ann", PureDP(0.5))
    spend(ledger, 0.4, "ann")
    with pytest.raises(InputError, match=r"has spent epsilon = 0.4 already"):
        ledger.limit("ann", PureDP(0.3))
    ledger.limit("ann", PureDP(0.4))
    with pytest.raises(BudgetExceeded):
        spend(ledger, 0.1, "ann")
    ledger.limit("ann", PureDP(0.6))
    spend(ledger, 0.1, "ann")
    assert ledger.verify()


@pytest.mark.parametrize("limit", [ZeroConcentratedDP(0.1), NotPrivate("none")])
def test_a_limit_is_said_in_the_currency_of_the_ledger(make, limit):
    with pytest.raises(InputError):
        make().limit("ann", limit)


def test_a_learner_counts_all_parts_together(make):
    ledger = make(partitions=("region", ("north", "south")))
    ledger.limit("ann", PureDP(0.5))
    spend(ledger, 0.3, "ann", part="north")
    with pytest.raises(BudgetExceeded, match="limit of 'ann'"):
        spend(ledger, 0.3, "ann", part="south")
    spend(ledger, 0.3, part="south")
    assert ledger.verify()


def vouch(words, key):
    """Stand in for a signature: it holds for these words and this key alone."""
    return f"{key} agrees to {words.decode()}"


def vouched(words, key, given):
    return given == vouch(words, key)


def test_a_larger_budget_needs_the_word_of_the_approver(make):
    ledger = make()
    ledger.raise_budget(PureDP(1.5), "before there was one")
    ledger.set_approver("second key")
    assert ledger.approver == "second key"
    with pytest.raises(InputError, match="has an approver"):
        ledger.raise_budget(PureDP(2.0), "more")
    with pytest.raises(InputError, match="has an approver"):
        ledger.set_approver("my own key")
    assert ledger.budget == PureDP(1.5)
    ledger.raise_budget(PureDP(2.0), "more", approve=vouch)
    ledger.set_approver("third key", approve=vouch)
    ledger.raise_budget(PureDP(3.0), "still more", approve=vouch)
    assert ledger.budget == PureDP(3.0)
    assert ledger.verify(holds=vouched)


def test_an_approval_is_for_one_act_and_cannot_be_used_twice(make):
    ledger, other = make("a.db"), make("b.db")
    for one in (ledger, other):
        one.set_approver("second key")
    words = ledger.raise_statement(PureDP(2.0), "more")
    assert words != ledger.raise_statement(PureDP(2.0), "another reason")
    assert words != ledger.raise_statement(PureDP(2.5), "more")
    assert words != other.raise_statement(PureDP(2.0), "more")
    assert words == ledger.raise_statement(PureDP(2.0), "more")
    ledger.raise_budget(PureDP(1.5), "first", approve=vouch)
    assert words != ledger.raise_statement(PureDP(2.0), "more")


def test_a_raise_that_comes_in_between_makes_an_approval_stale(make):
    ledger = make()
    ledger.set_approver("second key")

    def slow(words, key):
        if b'"first"' not in words:
            ledger.raise_budget(PureDP(1.5), "first", approve=vouch)
        return vouch(words, key)

    with pytest.raises(InputError, match="changed while this was being approved"):
        ledger.raise_budget(PureDP(2.0), "more", approve=slow)
    assert ledger.budget == PureDP(1.5)


def test_an_act_that_was_not_approved_is_named(make):
    ledger = make()
    ledger.set_approver("second key")
    ledger.raise_budget(PureDP(2.0), "more", approve=lambda *_: "no signature at all")
    assert ledger.verify()
    found = ledger.verify(holds=vouched)
    assert (found.ok, found.row) == (False, 3)
    assert "row 3 (budget) was not approved" in str(found)


def test_a_checkpoint_is_known_to_the_ledger_that_it_was_taken_of(make):
    ledger = make()
    points = [ledger.checkpoint()]
    spend(ledger, 0.1)
    points.append(ledger.checkpoint())
    spend(ledger, 0.1)
    assert ledger.verify(checkpoints=points)
    assert [point.number for point in points] == [1, 2]
    assert type(points[0]).from_bytes(points[0].to_bytes()) == points[0]
    found = make("other.db").verify(checkpoints=points)
    assert "is of another ledger" in str(found)
    for wrong in (b"", b"[]", b"{}", b'{"ledger":"a","number":"1","hash":"b","day":"c"}'):
        with pytest.raises(InputError, match="not a checkpoint"):
            type(points[0]).from_bytes(wrong)


def test_the_export_names_every_learner(make):
    ledger = make()
    ledger.limit("ann", PureDP(0.5), "a thesis")
    assert '"name": "ann"' in ledger.export("json")
    assert "a thesis" in ledger.export("json")
