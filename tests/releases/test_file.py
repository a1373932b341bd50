"""A file is written whole or not at all, and nothing is overwritten unasked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from suffice.core.errors import InputError
from suffice.releases.release import load
from tests.releases.example import release

KILLED = """
import os, signal, sys
from pathlib import Path
from suffice.releases import file
when, target = sys.argv[1], Path(sys.argv[2])
die = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
if when == "sync":
    os.fsync = die
else:
    Path.replace = die
file.write(target, b"x" * 5_000_000, overwrite=True)
"""


def test_the_same_release_may_be_saved_again_and_another_may_not(tmp_path):
    path = release().save(tmp_path / "x.suffice")
    before = path.stat()
    assert release().save(path) == path
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    with pytest.raises(InputError, match="holds something else"):
        release(made_by="suffice 9").save(path)
    assert load(path) == release()
    release(made_by="suffice 9").save(path, overwrite=True)
    assert load(path).made_by == "suffice 9"
    assert [one.name for one in tmp_path.iterdir()] == ["x.suffice"]


@pytest.mark.skipif(os.name != "posix", reason="a signal that cannot be caught")
@pytest.mark.parametrize("when", ["sync", "rename"])
def test_a_killed_save_leaves_the_old_file_or_none(tmp_path, when):
    old = release().save(tmp_path / "old.suffice")
    for target in (old, tmp_path / "new.suffice"):
        run = subprocess.run([sys.executable, "-c", KILLED, when, str(target)], check=False)
        assert run.returncode == -signal.SIGKILL
    assert load(old) == release()
    assert not (tmp_path / "new.suffice").exists()


def test_a_failed_save_takes_its_beginnings_away(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match="No space left on device"):
        release().save(tmp_path / "x.suffice")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_read_or_written_is_named(tmp_path):
    for path in (tmp_path / "absent.suffice", tmp_path):
        with pytest.raises(InputError, match=str(path)):
            load(path)
    with pytest.raises(InputError, match="cannot be written"):
        release().save(tmp_path / "no folder" / "x.suffice")
