"""A command that is killed at any moment leaves its target as it was."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

import suffice as sf
from tests.cli.conftest import RELEASE, done

BEGIN = """
import os, pathlib, resource, signal, sys
from suffice.cli import main
sys.argv = ["suffice", *sys.argv[1:]]
"""
AT_RENAME = BEGIN + "pathlib.Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\nmain()"
# the kernel ends the process in the middle of a file that grows beyond this many bytes
WHILE_WRITING = f"""{BEGIN}
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))
main()
"""


def killed_by(code: str, *words: str) -> int:
    ended = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, check=False, timeout=120
    )
    return -ended.returncode


def test_a_release_killed_before_it_is_in_place_is_paid_once_and_served_again(asked):
    assert killed_by(AT_RENAME, *RELEASE) == signal.SIGKILL
    assert not (asked / "bought.suffice").exists()
    assert sf.Ledger.open("owner.db").remaining().epsilon == 19.0
    assert done(*RELEASE, "--json").data["reused"]
    assert sf.load("bought.suffice").guarantee.promise == sf.PureDP(1.0)
    assert sf.Ledger.open("owner.db").remaining().epsilon == 19.0


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="no limit on the size of files here")
def test_predictions_killed_while_they_are_written_leave_the_old_file_as_it_was(released):
    done("fit", "bought.suffice", "rows.parquet", "-o", "model.skops")
    old = b"what was here before\n"
    (released / "out.csv").write_bytes(old)
    words = ("predict", "model.skops", "rows.parquet", "-o", "out.csv", "--proba", "--overwrite")
    assert killed_by(WHILE_WRITING, *words) == signal.SIGXFSZ
    assert (released / "out.csv").read_bytes() == old
    done(*words)
    assert len((released / "out.csv").read_bytes()) > 600
