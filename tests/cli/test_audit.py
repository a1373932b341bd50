from __future__ import annotations

import pytest

import suffice as sf
from suffice.core.bounds import Sensitivity
from suffice.core.guarantees import Guarantee
from suffice.core.laws import Gaussian
from suffice.releases.release import Release
from tests.cli.conftest import done, run


@pytest.mark.usefixtures("released")
def test_a_release_of_ours_is_not_falsified_and_nothing_is_called_private():
    told = done("audit", "bought.suffice", "--trust", "owner.pub")
    assert "Not falsified: epsilon = 8 is claimed" in told.out
    assert "private" not in told.out
    data = done("audit", "bought.suffice", "--json").data
    assert not data["falsified"]
    assert {"promise", "law", "sensitivity", "witness", "recipe", "size"} <= {
        point["name"] for point in data["points"]
    }


@pytest.mark.parametrize("rows", ["rows.parquet", "rows.csv"])
@pytest.mark.usefixtures("released")
def test_with_the_feature_rows_sensitivity_and_witness_are_computed_again(rows):
    data = done("audit", "bought.suffice", "--data", rows, "--json").data
    held = {point["name"]: point["holds"] for point in data["points"]}
    assert held["rows"] is True
    assert held["sensitivity of the rows"] is True


def test_a_claim_that_the_noise_does_not_give_ends_with_four(released):
    true = sf.load("bought.suffice")
    parts = {name: getattr(true, name) for name in Release.__slots__ if name not in {"law", "guarantee"}}
    law = Gaussian(true.law.scale, true.law.dimension)
    told = Release(**parts, law=law, guarantee=Guarantee(sf.ApproxDP(8.0, 1e-6), true.guarantee.unit))
    told.save("false.suffice")
    refused = run("audit", "false.suffice", "--json")
    assert refused.code == 4
    assert refused.data["falsified"]
    assert run("audit", "false.suffice").out.splitlines()[-1].startswith("Falsified:")


def test_a_stated_sensitivity_below_that_of_the_rows_ends_with_four_only_with_the_rows(released):
    true = sf.load("bought.suffice")
    parts = {name: getattr(true, name) for name in Release.__slots__ if name not in {"sensitivity", "law"}}
    moved = true.sensitivity
    half = Sensitivity(moved.l1 // 2, moved.l2 // 2, moved.linf // 2)
    law = type(true.law)(true.law.scale / 2, true.law.dimension)
    Release(**parts, sensitivity=half, law=law).save("half.suffice")
    assert run("audit", "half.suffice").code == 0
    assert run("audit", "half.suffice", "--data", "rows.parquet").code == 4


@pytest.mark.usefixtures("released")
def test_what_cannot_be_read_or_is_sealed_by_a_stranger_ends_as_everywhere():
    done("keys", "new", "stranger")
    assert run("audit", "bought.suffice", "--trust", "stranger.pub").code == 4
    assert run("audit", "absent.suffice").code == 2
