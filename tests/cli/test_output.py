from __future__ import annotations

import json
import warnings

import pytest
import typer

from suffice.cli.output import EXITS, Output, columns, plain, reported
from suffice.core import errors


def ended_by(error: BaseException, *, as_json: bool = False) -> int:
    @reported
    def command(*, as_json: bool = False, quiet: bool = False) -> None:
        raise error

    with pytest.raises(typer.Exit) as end:
        command(as_json=as_json)
    return end.value.exit_code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.InputError("a"), 2),
        (errors.SchemaError("a"), 2),
        (errors.UnboundedSensitivity("a"), 2),
        (errors.MissingExtra.named("duckdb", "duckdb"), 2),
        (FileNotFoundError(2, "No such file", "a"), 2),
        (errors.BudgetExceeded("2", "1"), 3),
        (errors.UnprotectedRefused("a"), 3),
        (errors.SealBroken("a"), 4),
        (errors.ReleaseUnreadable("a"), 4),
        (errors.FormatTooNew("a"), 4),
        (errors.ReleaseMismatch("a"), 5),
        (ZeroDivisionError("a"), 1),
        (KeyboardInterrupt(), 130),
    ],
)
def test_every_refusal_has_its_exit_code(error, code):
    assert ended_by(error) == code
    assert code in EXITS


def test_an_error_is_its_own_sentence_on_standard_error_and_nothing_else(capsys):
    ended_by(errors.InputError("The file is a letter. Give a table."))
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "The file is a letter. Give a table.\n")


def test_a_fault_of_ours_says_so_and_shows_its_place_only_when_asked(capsys, monkeypatch):
    ended_by(ZeroDivisionError("division by zero"))
    said = capsys.readouterr().err
    assert "a fault of suffice" in said
    assert "Traceback" not in said
    monkeypatch.setenv("SUFFICE_TRACEBACK", "1")
    ended_by(ZeroDivisionError("division by zero"))
    assert "Traceback" in capsys.readouterr().err


def test_an_error_as_json_is_one_value_on_standard_output(capsys):
    ended_by(errors.BudgetExceeded("2", "1", ["one line"]), as_json=True)
    said = json.loads(capsys.readouterr().out)
    assert (said["error"]["kind"], said["error"]["exit"]) == ("BudgetExceeded", 3)


def test_a_warning_is_a_note_on_standard_error_once(capsys):
    @reported
    def command(*, as_json: bool = False, quiet: bool = False) -> None:
        for _ in range(2):
            warnings.warn("the noise is large", errors.UtilityWarning, stacklevel=1)
        warnings.warn("an old name", DeprecationWarning, stacklevel=1)

    command(quiet=False)
    assert capsys.readouterr().err == "Note: the noise is large\n"
    command(quiet=True)
    assert capsys.readouterr().err == ""


def test_json_has_null_where_a_number_does_not_exist(capsys):
    Output(as_json=True).answer({"low": float("nan"), "high": [float("inf")]}, "")
    assert json.loads(capsys.readouterr().out) == {"low": None, "high": [None]}


def test_a_name_cannot_steer_the_terminal(capsys):
    Output().answer({}, columns(["name"], [["\x1b[2Jgone\u202e\n"]]))
    assert capsys.readouterr().out == "name\n\\x1b[2Jgone\\u202e\\n\n"
    assert plain("a\x07b") == "a\\x07b"


def test_columns_are_as_wide_as_their_widest_cell():
    assert columns(["a", "b"], [["long", 1], ["x", 22]]) == "a     b\nlong  1\nx     22"


def test_there_is_no_bar_where_nobody_watches():
    with Output().progress("reading") as told:
        assert told is None


def test_a_bar_is_told_the_rows_where_somebody_watches(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with Output().progress("reading") as told:
        told(1, None)
        told(2, 2)
    with Output(quiet=True).progress("reading") as told:
        assert told is None
