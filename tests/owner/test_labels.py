"""Labels through a channel: one noisy answer per row, in the order of a public key, paid for once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import suffice as sf
from suffice.core.errors import (
    BudgetExceeded,
    InputError,
    ReleaseUnreadable,
    SchemaError,
    UnboundedSensitivity,
    UnprotectedRefused,
    UnsupportedPair,
)

CHANNEL = sf.RandomizedResponse(("no", "yes"), epsilon=1.0)
LABELS = sf.Labels("y", key="id")


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    ids = rng.permutation(4000)
    return pd.DataFrame({"id": ids, "y": np.where(rng.random(4000) < 0.3, "yes", "no"), "who": ids // 2})


@pytest.fixture
def ledger(tmp_path) -> sf.Ledger:
    return sf.Ledger.create(
        tmp_path / "owner.db", dataset="poll", unit=sf.LabelOf("y"), budget=sf.PureDP(2.0)
    )


def owner_of(frame, ledger) -> sf.Owner:
    return sf.Owner(sf.Table(frame, name="poll"), ledger=ledger)


def test_answers_leave_in_the_order_of_the_key_and_estimate_the_share(frame, ledger):
    release = owner_of(frame, ledger).release(LABELS, CHANNEL)
    assert release.answers.column_names == ["id", "y"]
    assert release.answers["id"].to_pylist() == list(range(4000))
    share = release.channel.unbias(np.array(release.answers["y"].to_pylist()))[:, 1].mean()
    assert share == pytest.approx((frame["y"] == "yes").mean(), abs=0.08)
    truth = frame.sort_values("id")["y"].to_numpy()
    kept = (np.array(release.answers["y"].to_pylist()) == truth).mean()
    assert kept == pytest.approx(CHANNEL.keep, abs=0.04)


def test_one_charge_pays_for_all_rows_and_asking_again_is_free(frame, ledger):
    owner = owner_of(frame, ledger)
    first = owner.release(LABELS, CHANNEL)
    assert owner.preview(LABELS, CHANNEL).reused
    assert owner.release(LABELS, CHANNEL) == first
    assert owner.last.reused
    assert str(ledger.remaining()) == "epsilon = 1"
    assert str(first.guarantee.promise) == "epsilon = 1"
    owner.release(LABELS, CHANNEL, key="second")
    with pytest.raises(BudgetExceeded):
        owner.release(LABELS, CHANNEL, key="third")


def test_the_file_carries_the_channel_and_comes_back_equal(frame, ledger, tmp_path):
    release = owner_of(frame, ledger).release(LABELS, CHANNEL)
    release.save(tmp_path / "poll.suffice")
    again = sf.load(tmp_path / "poll.suffice")
    assert again == release
    assert again.channel == CHANNEL
    assert "RandomizedResponse" in again.card()


def test_a_file_that_says_less_than_its_channel_gives_cannot_be_read(frame, ledger):
    release = owner_of(frame, ledger).release(LABELS, CHANNEL)
    data = release.to_bytes()
    weaker = data.replace(
        b'"kind":"RandomizedResponse","epsilon":1.0', b'"kind":"RandomizedResponse","epsilon":9.0'
    )
    weaker = weaker if weaker != data else data.replace(b'"epsilon":1.0', b'"epsilon":9.0')
    assert weaker != data
    with pytest.raises(ReleaseUnreadable, match="keeps epsilon = 9"):
        sf.Release.from_bytes(weaker)


def test_the_order_of_the_rows_changes_nothing(frame, ledger, monkeypatch):
    def same(count):
        return np.random.default_rng(1).bytes(count)

    monkeypatch.setattr("suffice.channels.dyadic.octets", same)
    owner = owner_of(frame, ledger)
    first = owner.release(LABELS, CHANNEL)
    shuffled = frame.sample(frac=1.0, random_state=1)
    other = owner_of(shuffled, ledger).release(LABELS, CHANNEL, key="again")
    assert first.answers.equals(other.answers)


def test_rows_of_bits_become_a_column_for_each_label(frame, ledger):
    release = owner_of(frame, ledger).release(LABELS, sf.OptimisedUnary(("no", "yes"), 1.0))
    assert release.answers.column_names == ["id", "y=no", "y=yes"]


def test_a_person_with_two_rows_is_charged_twice(frame, tmp_path):
    unit = sf.LabelOf("y", person="who", at_most=2)
    ledger = sf.Ledger.create(tmp_path / "two.db", dataset="poll", unit=unit, budget=sf.PureDP(2.0))
    owner = owner_of(frame, ledger)
    assert owner.preview(LABELS, CHANNEL).cost == "epsilon = 2"
    assert str(owner.release(LABELS, CHANNEL).guarantee.promise) == "epsilon = 2"
    assert str(ledger.remaining()) == "epsilon = 0"


def test_without_a_key_with_repeats_or_with_a_protected_one_nothing_leaves(frame, ledger, tmp_path):
    owner = owner_of(frame, ledger)
    with pytest.raises(InputError, match="public key"):
        owner.release(sf.Labels("y"), CHANNEL)
    with pytest.raises(SchemaError, match="twice"):
        owner.release(sf.Labels("y", key="who"), CHANNEL)
    both = sf.Ledger.create(
        tmp_path / "b.db", dataset="poll", unit=sf.LabelOf("y", "id"), budget=sf.PureDP(2.0)
    )
    with pytest.raises(UnboundedSensitivity, match="published as it is"):
        owner_of(frame, both).release(LABELS, CHANNEL)
    assert str(ledger.remaining()) == "epsilon = 2"


def test_what_does_not_fit_together_is_refused_before_a_charge(frame, ledger, tmp_path):
    owner = owner_of(frame, ledger)
    mean = sf.MeanOperator(["who"], "y", bound=sf.Bound(2, 1.0), classes=("no", "yes"))
    for statistic, mechanism in (
        (LABELS, sf.L2Laplace(epsilon=0.5)),
        (mean, CHANNEL),
        (LABELS, sf.PerValue(3, 1.0)),
    ):
        with pytest.raises(UnsupportedPair):
            owner.release(statistic, mechanism)
    frame.loc[5, "y"] = "maybe"
    with pytest.raises(SchemaError, match="maybe"):
        owner_of(frame, ledger).release(LABELS, CHANNEL)
    records = sf.Ledger.create(
        tmp_path / "r.db", dataset="poll", unit=sf.RecordOf("replace"), budget=sf.PureDP(2.0)
    )
    with pytest.raises(UnboundedSensitivity, match="label alone"):
        owner_of(frame, records).release(LABELS, CHANNEL)
    with pytest.raises(UnprotectedRefused):
        owner_of(frame.assign(y="no"), ledger).release(LABELS, sf.Triangular(0.3))
    assert ledger.charges() == []
