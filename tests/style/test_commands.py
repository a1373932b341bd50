"""Every command and every option of the command line stands on its page."""

from __future__ import annotations

import re

import pytest
from typer.main import get_command

from suffice.cli import app
from tests.style.house import ROOT

PAGE = ROOT / "docs" / "reference" / "cli.md"


def commands(command, words: tuple[str, ...]):
    """Yield every command that does something, with the words that lead there."""
    inside = getattr(command, "commands", None)
    if inside is not None:
        for name, inner in inside.items():
            yield from commands(inner, (*words, name))
    else:
        yield " ".join(words), command


ALL = dict(commands(get_command(app), ("suffice",)))


def section(name: str) -> str:
    """Return what the page says under the heading of a command."""
    found = re.search(
        rf"^#+ `?{re.escape(name)}`?\n(.*?)(?=^#+ |\Z)", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    return found[1] if found else ""


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_command_says_what_it_does_and_its_page_names_every_option(name):
    command = ALL[name]
    assert command.help, f"{name} has no help text"
    assert section(name), f"{name} has no section in {PAGE.relative_to(ROOT)}"
    options = {max(p.opts, key=len) for p in command.params if p.param_type_name == "option"} - {"--help"}
    assert {option for option in options if option not in section(name)} == set()


def test_the_page_names_no_command_that_is_not_there():
    headings = re.findall(r"^#+ `?(suffice [a-z -]+)`?$", PAGE.read_text("utf-8"), re.MULTILINE)
    groups = {name.rsplit(" ", 1)[0] for name in ALL}
    assert set(headings) - set(ALL) - groups == set()


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_command_speaks_json(name):
    assert any("--json" in parameter.opts for parameter in ALL[name].params), name
