"""What a release promises follows from the numbers in its file, by a script that knows no suffice."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from suffice.core.errors import ReleaseUnreadable
from suffice.releases import codec
from suffice.releases.envelope import Envelope
from suffice.releases.release import load
from tests.releases.example import several
from tests.releases.rederive import header, holds

SCRIPT = Path(__file__).with_name("rederive.py")


@pytest.mark.parametrize("name", ["round Laplace", "Laplace", "Gaussian", "three classes", "wide recipe"])
def test_the_promise_of_a_file_follows_from_its_law_and_its_sensitivity(tmp_path, name):
    assert holds(header(several()[name].save(tmp_path / "x.suffice"))) is True


def test_the_script_runs_alone_and_answers_with_its_exit_code(tmp_path):
    path = several()["round Laplace"].save(tmp_path / "x.suffice")
    run = subprocess.run(
        [sys.executable, "-I", str(SCRIPT), str(path)], check=False, capture_output=True, text=True
    )
    assert (run.returncode, run.stdout) == (0, "{'epsilon': 0.5, 'kind': 'PureDP'} holds\n")


@pytest.mark.parametrize(
    ("name", "law"), [("round Laplace", "scale"), ("Laplace", "scale"), ("Gaussian", "stddev")]
)
def test_a_scale_edited_in_the_header_is_noticed(tmp_path, name, law):
    facts, values, _ = codec.unpack(several()[name].to_bytes())
    above, below = map(int, facts["law"][law]["value"].split("/"))
    facts["law"][law]["value"] = f"{above * 99}/{below * 100}"
    path = tmp_path / "x.suffice"
    path.write_bytes(Envelope(codec.pack(facts, values, None)).to_bytes())
    assert holds(header(path)) is False
    if name != "Gaussian":
        with pytest.raises(ReleaseUnreadable, match="The noise of this release gives epsilon"):
            load(path)


def test_the_script_is_short_and_knows_no_suffice():
    tree = ast.parse(SCRIPT.read_text("utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not any("suffice" in name for name in imported)
    code = [line for line in SCRIPT.read_text("utf-8").splitlines() if line.strip()]
    assert len(code) <= 45
