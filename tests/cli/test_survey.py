from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from suffice.cli import app
from tests.cli.conftest import done, run

SPEC = """
title = "Campus"
facts = ["level"]

[[question]]
name = "drug"
text = "Have you taken it?"
channel = { kind = "RandomizedResponse", labels = ["no", "yes"], epsilon = 1.0 }

[[question]]
name = "cheat"
channel = { kind = "Crosswise", prevalence = 0.25 }
only = { level = "student" }
"""
ANSWER = ["survey", "answer", "form", "--set", "drug=yes", "--set", "level=staff"]


@pytest.fixture
def campus(folder):
    (folder / "spec.toml").write_text(SPEC)
    done("keys", "new", "owner", "--quiet")
    done("survey", "new", "spec.toml", "-o", "form", "--seal", "owner.key", "--quiet")
    return folder


def test_a_survey_goes_from_its_form_to_an_estimate(campus):
    (campus / "in").mkdir()
    for at in range(6):
        said = "yes" if at % 2 else "no"
        facts = ["--set", f"drug={said}", "--set", "level=student", "--set", "cheat=no"]
        options = ["--trust", "owner.pub", "--pseudonym", f"p{at}", "--yes", "--quiet"]
        done("survey", "answer", "form", *facts, *options, "-o", f"in/{at}.json")
    told = done("survey", "collect", "form", "in", "-o", "answers.suffice", "--json").data
    assert told == {"file": "answers.suffice", "answers": 12, "set_aside": []}
    found = done("survey", "estimate", "answers.suffice", "--json").data
    assert [(one["question"], one["count"]) for one in found["estimates"]] == [("drug", 6), ("cheat", 6)]
    assert len(found["fit"]) == 2


def test_what_will_be_sent_is_shown_first_and_a_no_sends_nothing(campus):
    shown = CliRunner().invoke(app, [*ANSWER, "-o", "me.json"], input="n\n", prog_name="suffice")
    assert shown.exit_code != 0
    assert "This will be sent" in shown.output
    assert "level = staff" in shown.output
    assert "drug = " in shown.output
    assert not (campus / "me.json").exists()


def test_a_person_is_asked_and_the_same_record_is_written_again(campus):
    words = ["survey", "answer", "form", "-o", "me.json"]
    asked = CliRunner().invoke(app, words, input="staff\nyes\ny\n", prog_name="suffice")
    assert asked.exit_code == 0, asked.output
    assert "Have you taken it?" in asked.output
    record = json.loads((campus / "me.json").read_text())
    assert set(record["answers"]) == {"drug"}
    again = ["--set", "drug=no", "--set", "level=staff", "--yes", "-o", "again.json"]
    done("survey", "answer", "form", *again)
    assert json.loads((campus / "again.json").read_text()) == record


def test_a_true_answer_that_is_none_is_refused(campus):
    ended = run(
        "survey", "answer", "form", "--set", "drug=maybe", "--set", "level=x", "--yes", "-o", "me.json"
    )
    assert ended.code == 2
    assert "maybe" not in ended.err


def test_an_answer_to_a_question_that_is_not_asked_is_refused(campus):
    ended = run(*ANSWER, "--set", "cheat=no", "--yes", "-o", "me.json")
    assert ended.code == 2
    assert "asked only of" in ended.err


def test_records_that_do_not_fit_are_refused_or_set_aside(campus):
    done(*ANSWER, "--yes", "-o", "a.json", "--quiet")
    odd = json.loads((campus / "a.json").read_text()) | {"person": "odd", "answers": {"drug": "perhaps"}}
    (campus / "b.json").write_text(json.dumps(odd))
    assert run("survey", "collect", "form", "a.json", "b.json", "-o", "out").code == 2
    told = done("survey", "collect", "form", "a.json", "b.json", "-o", "out", "--set-aside", "--json").data
    assert told["answers"] == 1
    assert told["set_aside"][0]["file"] == "b.json"
    assert "perhaps" in told["set_aside"][0]["why"]


def test_a_survey_on_paper_is_estimated_and_regressed_from_a_table(folder):
    rows = ["y,sex"] + ["1,f"] * 400 + ["0,f"] * 700 + ["1,m"] * 431 + ["0,m"] * 904
    (folder / "paper.csv").write_text("\n".join(rows))
    paper = [
        "paper.csv",
        "--answer",
        "y",
        "--design",
        "forced-known",
        "--p1",
        "0.16666666666",
        "--p2",
        "0.16666666666",
    ]
    found = done("survey", "estimate", *paper, "--json").data
    assert found["estimates"][0]["moments"] == pytest.approx(0.262, abs=5e-4)
    lines = done("survey", "estimate", *paper, "--by", "sex").out.splitlines()
    assert [line.split()[1] for line in lines[1:3]] == ["f", "m"]
    told = done("survey", "regress", paper[0], "answer ~ C(sex)", *paper[1:], "--json").data
    assert [one["name"] for one in told["coefficients"]] == ["(intercept)", "sex[m]"]
    assert told["answers"] == 2435
    assert told["coefficients"][1]["coefficient"] < 0


def test_a_table_needs_to_be_explained(folder):
    (folder / "paper.csv").write_text("y\n1\n0\n")
    assert "--design" in run("survey", "estimate", "paper.csv", "--answer", "y").err
    ended = run("survey", "estimate", "paper.csv", "--answer", "y", "--design", "Warner", "--p1", "high")
    assert ended.code == 2
    assert "neither a number nor a column" in ended.err


def test_a_spec_that_is_none_is_refused(folder):
    (folder / "spec.toml").write_text('title = "T"\nquestions = 3\n')
    assert run("survey", "new", "spec.toml", "-o", "form").code == 2
