from __future__ import annotations

import copy
import pickle

import pandas as pd
import pytest

import suffice as sf
from suffice.core.errors import (
    BoundsError,
    BudgetExceeded,
    InputError,
    SchemaError,
    UnboundedSensitivity,
    UnprotectedRefused,
)

MECHANISM = sf.L2Laplace(epsilon=0.5)


def owner_of(people, ledger) -> sf.Owner:
    return sf.Owner(sf.Table(people, name="people"), ledger=ledger)


def test_a_release_is_paid_for_once_and_served_again_for_nothing(people, ledger, statistic):
    owner = owner_of(people, ledger)
    first = owner.release(statistic, MECHANISM)
    assert not owner.last.reused
    again = owner.release(statistic, MECHANISM)
    assert owner.last.reused
    assert again == first
    assert str(ledger.remaining()) == "epsilon = 1.5"


def test_asking_again_looks_at_no_row(people, ledger, statistic):
    first = owner_of(people, ledger).release(statistic, MECHANISM)

    class Broken:
        name = "people"
        schema = sf.Table(people).schema

        def fragments(self, columns):
            raise AssertionError(f"read {columns}")

    assert sf.Owner(Broken(), ledger=ledger).release(statistic, MECHANISM) == first


def test_one_label_changed_between_two_identical_requests_changes_nothing_that_anyone_can_see(
    people, ledger, statistic
):
    first = owner_of(people, ledger).release(statistic, MECHANISM)
    left, spent = str(ledger.remaining()), ledger.export("json")
    changed = people.copy()
    changed.loc[0, "bought"] = not changed.loc[0, "bought"]
    owner = owner_of(changed, ledger)
    assert owner.release(statistic, MECHANISM).to_bytes() == first.to_bytes()
    assert owner.last.reused
    assert (str(ledger.remaining()), ledger.export("json")) == (left, spent)


def test_a_key_made_from_the_exact_statistic_would_be_caught(people, ledger, statistic, monkeypatch):
    """The mutant of the test above: hash the sum into the key, and a changed label shows."""
    unit = ledger.unit

    def tell(self, statistic, mechanism, part):
        settled = statistic.resolve(self.source, unit)
        return settled.finalise(sf.fold(settled, self.source)).tobytes()

    monkeypatch.setattr(sf.Owner, "_request", tell)
    owner_of(people, ledger).release(statistic, MECHANISM)
    changed = people.copy()
    changed.loc[0, "bought"] = not changed.loc[0, "bought"]
    owner = owner_of(changed, ledger)
    owner.release(statistic, MECHANISM)
    assert not owner.last.reused


def test_a_new_draw_needs_its_own_key_or_edition_and_is_charged(people, ledger, statistic):
    owner = owner_of(people, ledger)
    first = owner.release(statistic, MECHANISM)
    other = owner.release(statistic, MECHANISM, key="second")
    assert (first.values != other.values).any()
    ledger.new_edition("2026-12")
    third = owner_of(people, ledger).release(statistic, MECHANISM)
    assert (third.values != first.values).any()
    assert str(ledger.remaining()) == "epsilon = 0.5"


def test_a_key_used_with_another_request_is_a_conflict(people, ledger, statistic):
    owner = owner_of(people, ledger)
    owner.release(statistic, MECHANISM, key="mine")
    with pytest.raises(InputError, match="another request"):
        owner.release(statistic, sf.L2Laplace(epsilon=0.25), key="mine")


def test_an_overspend_is_refused_and_says_where_the_budget_went(people, ledger, statistic):
    owner = owner_of(people, ledger)
    owner.release(statistic, MECHANISM)
    with pytest.raises(BudgetExceeded, match=r"epsilon = 1.5 is left(.|\n)*MeanOperator of 'bought'"):
        owner.release(statistic, sf.L2Laplace(epsilon=1.6))
    assert str(ledger.remaining()) == "epsilon = 1.5"


def test_bad_rows_are_refused_before_anything_is_charged(people, ledger, statistic):
    people.loc[17, "visits"] = -1
    people["bought"] = people["bought"].astype("boolean")
    people.loc[100, "bought"] = pd.NA
    with pytest.raises(SchemaError, match="'bought', row 100 there is no label"):
        owner_of(people, ledger).release(statistic, MECHANISM)
    assert str(ledger.remaining()) == "epsilon = 2"
    assert ledger.charges() == []


def test_a_crash_after_the_charge_is_served_under_the_same_charge(people, ledger, statistic, monkeypatch):
    owner = owner_of(people, ledger)
    with monkeypatch.context() as patch:
        patch.setattr("suffice.mechanisms.draw.noise", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            owner.release(statistic, MECHANISM)
    assert str(ledger.remaining()) == "epsilon = 1.5"
    owner.release(statistic, MECHANISM)
    assert str(ledger.remaining()) == "epsilon = 1.5"


def test_an_exact_statistic_needs_a_ledger_that_allows_it_and_voids_its_promise(people, tmp_path, statistic):
    strict = sf.Ledger.create(
        tmp_path / "a.db", dataset="d", unit=sf.LabelOf("bought"), budget=sf.PureDP(1.0)
    )
    with pytest.raises(UnprotectedRefused):
        owner_of(people, strict).release(statistic, sf.Exact(), unprotected="teaching")
    loose = sf.Ledger.create(
        tmp_path / "b.db",
        dataset="d",
        unit=sf.LabelOf("bought"),
        budget=sf.PureDP(1.0),
        allow_unprotected=True,
    )
    with pytest.raises(UnprotectedRefused):
        owner_of(people, loose).release(statistic, sf.Exact())
    release = owner_of(people, loose).release(statistic, sf.Exact(), unprotected="teaching")
    assert "no privacy guarantee" in release.card()
    assert "void" in str(loose.remaining())


def test_public_means_public(people, tmp_path, statistic, frozen_noise):
    """Sort by the label, cut into files by it, flip one: only the released values differ."""
    flipped = people.copy()
    flipped.loc[3, "bought"] = not flipped.loc[3, "bought"]
    ordered = flipped.sort_values("bought")
    seen = []
    for number, frame in enumerate((people, ordered)):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        if number == 0:
            frame.to_parquet(folder / "part-0.parquet")
        else:
            for label in (False, True):
                frame[frame["bought"] == label].to_parquet(folder / f"part-{label:d}.parquet")
        source = sf.Parquet(folder)
        object.__setattr__(source, "name", "sales") if hasattr(source, "__slots__") else setattr(
            source, "name", "sales"
        )
        ledger = sf.Ledger.create(
            folder / "owner.db", dataset="sales", unit=sf.LabelOf("bought"), budget=sf.PureDP(2.0)
        )
        recipe = sf.Recipe.learn(source, columns=["age", "visits", "region"])
        assert recipe == statistic.features
        owner = sf.Owner(source, ledger=ledger)
        preview = owner.preview(statistic, MECHANISM)
        seen.append((owner.release(statistic, MECHANISM), preview, str(ledger.remaining())))
    (one, before, left), (two, after, still) = seen
    assert (before, left) == (after, still)
    assert (one.values != two.values).any()
    for name in ("names", "recipe", "bound", "grid", "sensitivity", "witness", "law", "guarantee", "about"):
        assert getattr(one, name) == getattr(two, name)
    assert len(one.to_bytes()) == len(two.to_bytes())


def test_preview_opens_no_protected_column_and_spends_nothing(people, ledger, statistic):
    opened = []

    class Spy:
        def __init__(self, source):
            self.source = source
            self.name, self.schema, self.rows = "people", source.schema, source.rows

        def fragments(self, columns):
            opened.extend(columns)
            return self.source.fragments(columns)

    owner = sf.Owner(Spy(sf.Table(people)), ledger=ledger)
    preview = owner.preview(statistic, sf.Laplace(epsilon=0.5))
    assert preview.cost == "epsilon = 0.5"
    assert "bought" not in opened
    assert ledger.charges() == []


def test_capacity_is_checked_before_the_label_is_read(people, ledger):
    recipe = sf.Recipe((sf.Numeric("age"),))
    mu = sf.MeanOperator(recipe, "bought", bound=sf.Bound(2, 2.0**22), bits=22)
    with pytest.raises(BoundsError, match="do not fit"):
        owner_of(people, ledger).release(mu, sf.L2Laplace(epsilon=1e-6))


def test_another_source_in_the_same_edition_is_refused(people, ledger, statistic):
    sf.Owner(sf.Table(people, name="not yet"), ledger=ledger).preview(statistic, MECHANISM)
    owner_of(people, ledger).release(statistic, MECHANISM)
    with pytest.raises(InputError, match="people"):
        sf.Owner(sf.Table(people, name="others"), ledger=ledger)


def test_a_layout_that_reads_the_label_is_refused(people, ledger, tmp_path):
    for label in (False, True):
        folder = tmp_path / f"bought={label}"
        folder.mkdir()
        people[people["bought"] == label].drop(columns="bought").to_parquet(folder / "part.parquet")
    with pytest.raises(UnboundedSensitivity, match="sorted into folders by 'bought'"):
        sf.Owner(sf.Parquet(tmp_path), ledger=ledger)


def test_handles_survive_copies_and_pickles(people, ledger, statistic):
    owner = owner_of(people, ledger)
    first = owner.release(statistic, MECHANISM)
    for handle in (copy.deepcopy(ledger), pickle.loads(pickle.dumps(ledger))):
        assert sf.Owner(sf.Table(people, name="people"), ledger=handle).release(statistic, MECHANISM) == first


def test_what_a_source_rests_on_is_named_in_the_guarantee(people, ledger, statistic):
    people["id"] = range(len(people))
    labels = sf.Table(people[["id", "bought"]][:150], name="labels")
    features = sf.Table(people.drop(columns="bought"), name="features")
    source = sf.Join(labels, features, on="id", unmatched="drop")
    made = sf.Owner(source, ledger=ledger).release(statistic, MECHANISM)
    assert any("without a partner" in one for one in made.guarantee.assumes)
    assert made.witness.count == 150
