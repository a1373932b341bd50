from __future__ import annotations

import stat

from tests.cli.conftest import done, run


def test_a_pair_is_written_once_and_its_private_part_is_for_its_holder(folder):
    data = done("keys", "new", "owner", "--json").data
    assert data == {"private": "owner.key", "public": "owner.pub"}
    assert stat.S_IMODE((folder / "owner.key").stat().st_mode) == 0o600
    before = (folder / "owner.key").read_bytes()
    assert run("keys", "new", "owner").code == 2
    assert (folder / "owner.key").read_bytes() == before


def test_a_pair_goes_where_it_is_told_to(folder):
    (folder / "safe").mkdir()
    done("keys", "new", "owner", "--folder", "safe", "--quiet")
    assert sorted(path.name for path in (folder / "safe").iterdir()) == ["owner.key", "owner.pub"]
