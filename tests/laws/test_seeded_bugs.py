"""G30: every real bug that is put back is seen by its gate, which is green on the code as it is."""

from __future__ import annotations

import pytest

pytest.importorskip("apsw")
from tests.laws.seeded import BUGS


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_that_is_put_back_is_seen_and_the_code_as_it_is_passes(name, tmp_path, monkeypatch):
    bug = BUGS[name]
    fine, broken = tmp_path / "fine", tmp_path / "broken"
    fine.mkdir()
    broken.mkdir()
    bug.gate(fine)
    monkeypatch.setattr(bug.where, bug.name, bug.mutant)
    with pytest.raises(AssertionError):
        bug.gate(broken)


@pytest.mark.laws
@pytest.mark.parametrize("name", BUGS)
def test_the_record_of_the_seeded_bugs(name, tmp_path, monkeypatch, gate):
    bug = BUGS[name]
    test_a_bug_that_is_put_back_is_seen_and_the_code_as_it_is_passes(name, tmp_path, monkeypatch)
    gate("G30", f"{name}: {bug.story}", "green without it", f"seen by {bug.gate.__name__.replace('_', ' ')}")


def test_no_two_bugs_are_one():
    assert len({(bug.where, bug.name, bug.mutant) for bug in BUGS.values()}) == len(BUGS) >= 16
