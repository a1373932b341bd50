"""Write cli.md from the help texts: `python docs/reference/cli_page.py`, which `make docs` runs, too."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from suffice.cli import app

PAGE = Path(__file__).with_name("cli.md")
HEAD = """# The command line

This page is written by `docs/reference/cli_page.py` from the help texts of the commands; a test compares.
Change the help text, then run it again.
"""


def commands(command: Any, words: tuple[str, ...] = ("suffice",)) -> Iterator[tuple[str, Any]]:
    """Yield every command that does something, with the words that lead there."""
    inside = getattr(command, "commands", None)
    if inside is None:
        yield " ".join(words), command
        return
    for name, inner in inside.items():
        yield from commands(inner, (*words, name))


def every_command() -> dict[str, Any]:
    """Return the commands of suffice by the words that lead to them."""
    return dict(commands(get_command(app)))


def visible(command: Any) -> list[Any]:
    """Return what a command takes, hidden options and `--help` left out."""
    return [p for p in command.params if not getattr(p, "hidden", False) and p.name != "help"]


def row(parameter: Any) -> str:
    """Return the line of one argument or option."""
    if parameter.param_type_name == "argument":
        name = f"`{(parameter.metavar or parameter.name).upper()}`"
    else:
        name = ", ".join(f"`{word}`" for word in [*parameter.opts, *parameter.secondary_opts])
    text = " ".join((getattr(parameter, "help", None) or "").split())
    needed = " Required." if parameter.required else ""
    return f"| {name} | {text}{needed} |".replace("  ", " ")


def section(name: str, command: Any) -> str:
    """Return what the page says of one command."""
    lines = [f"## {name}", "", "\n".join(line.strip() for line in (command.help or "").strip().splitlines())]
    if visible(command):
        lines += ["", "| takes | which is |", "|---|---|", *map(row, visible(command))]
    return "\n".join(lines) + "\n"


def page() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *(section(name, command) for name, command in every_command().items())])


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    sys.stdout.write(f"{PAGE}\n")
