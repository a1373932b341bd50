"""Every command says what it does, and its page is written from what it says."""

from __future__ import annotations

import pytest

from docs.reference.cli_page import PAGE, every_command, page, section, visible
from tests.style.house import ROOT

COMMANDS = every_command()


def test_the_page_of_the_command_line_is_what_the_commands_say():
    assert PAGE.read_text("utf-8") == page(), f"Run python {PAGE.with_name('cli_page.py').relative_to(ROOT)}"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_and_all_that_it_takes_are_explained(name):
    command = COMMANDS[name]
    assert (command.help or "").strip(), f"{name} has no help text"
    assert [p.name for p in visible(command) if not (getattr(p, "help", None) or "").strip()] == []
    assert all(word in section(name, command) for p in visible(command) for word in p.opts if word[0] == "-")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_speaks_json(name):
    assert any("--json" in parameter.opts for parameter in COMMANDS[name].params)
