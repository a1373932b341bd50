"""The demo runs to its end, and what it says it did was done."""

from __future__ import annotations

import re
from importlib import util

import pytest

import suffice as sf


@pytest.fixture
def demo(root, monkeypatch):
    spec = util.spec_from_file_location("demo_run", root / "demo" / "run.py")
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "DRAWS", 1)
    return module


def test_the_demo_releases_learns_refuses_and_draws(demo, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["run.py", "--folder", str(tmp_path)])
    demo.main()
    told = capsys.readouterr().out
    assert len(re.findall(r"one file, epsilon = \S+ +\d+\.\d%", told)) == len(demo.EPSILONS)
    assert "(exit code 3)" in told
    assert "(exit code 4)" in told
    spent = [charge.promise.epsilon for charge in sf.Ledger.open(tmp_path / "owner" / "owner.db").charges()]
    assert spent == list(demo.EPSILONS)
    assert (tmp_path / "accuracy.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "accuracy.svg").read_text("utf-8")


def test_no_label_lies_on_the_learner_s_side(demo, tmp_path):
    owner, learner = tmp_path / "owner", tmp_path / "learner"
    owner.mkdir(), learner.mkdir()
    demo.write_data(owner, learner)
    for path in learner.iterdir():
        assert "diagnosis" not in sf.Parquet(path).schema.names
    assert "diagnosis" in sf.Parquet(owner / "patients.parquet").schema.names


def test_a_folder_that_holds_something_is_left_alone(demo, tmp_path):
    (tmp_path / "mine.txt").write_text("mine", "utf-8")
    with pytest.raises(SystemExit):
        demo.folder_of(["--folder", str(tmp_path)])
