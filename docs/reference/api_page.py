"""Write api.md from the docstrings of the public names: `python docs/reference/api_page.py`."""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import suffice

PAGE = Path(__file__).with_name("api.md")
HEAD = """# The public names

Everything that `import suffice as sf` offers, with what its public modules export.
This page is made from the docstrings whenever the site is built.
"""
FIELD = re.compile(r"^(\S.*?) : (.+)$")
_LONGEST = 96


def names() -> dict[str, Any]:
    """Return what every public name stands for, the exports of a public module under its name."""
    found: dict[str, Any] = {}
    for name in sorted(suffice.__all__, key=str.lower):
        thing = getattr(suffice, name)
        if isinstance(thing, ModuleType):
            found |= {
                f"{name}.{inner}": getattr(thing, inner) for inner in sorted(thing.__all__, key=str.lower)
            }
        else:
            found[name] = thing
    return found


def page() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *(section(name, thing) for name, thing in names().items())])


def section(name: str, thing: Any) -> str:
    """Return what the page says of one name."""
    lines = [f"## {name}", "", *signature(f"sf.{name}", thing), described(thing)]
    if inspect.isclass(thing):
        for inner, method in methods(thing).items():
            lines += ["", f"### {name}.{inner}", "", *signature(inner, method), described(method)]
    return "\n".join(lines).rstrip() + "\n"


def methods(kind: type) -> dict[str, Any]:
    """Return the public methods and properties that a class of ours defines itself."""
    own = {name: raw for name, raw in vars(kind).items() if not name.startswith("_")}
    wanted = (classmethod, staticmethod, property)
    return {
        name: raw
        for name, raw in own.items()
        if (inspect.isfunction(raw) or isinstance(raw, wanted)) and raw.__doc__
    }


def signature(name: str, thing: Any) -> list[str]:
    """Return a call as it is typed, one argument a line where it is long; nothing for what is not called."""
    called = getattr(thing, "__func__", thing)
    if not callable(called):
        return []
    try:
        plain = inspect.signature(called)
    except (TypeError, ValueError):
        return []
    unsaid = plain.return_annotation is plain.empty or inspect.isclass(thing)
    end = "" if unsaid else f" -> {plainly(plain.return_annotation)}"
    taken = arguments(plain)
    line = f"{name}({', '.join(taken)}){end}"
    if len(line) > _LONGEST:
        line = "\n".join([f"{name}(", *(f"    {one}," for one in taken), f"){end}"])
    return ["```text", line, "```", ""]


def arguments(plain: inspect.Signature) -> list[str]:
    """Return the arguments that a caller gives, with the star before those that need their name."""
    found: list[str] = []
    starred = False
    for one in plain.parameters.values():
        if one.kind is one.KEYWORD_ONLY and not starred:
            found.append("*")
        starred = starred or one.kind in {one.KEYWORD_ONLY, one.VAR_POSITIONAL}
        if one.name not in {"self", "cls"}:
            found.append(shown(one))
    return found


def shown(argument: inspect.Parameter) -> str:
    """Return an argument with its type and its default, types as they are written."""
    stars = {argument.VAR_POSITIONAL: "*", argument.VAR_KEYWORD: "**"}.get(argument.kind, "")
    kind = "" if argument.annotation is argument.empty else f": {plainly(argument.annotation)}"
    if argument.default is argument.empty:
        return f"{stars}{argument.name}{kind}"
    default = "..." if repr(argument.default).startswith("<") else repr(argument.default)
    return f"{argument.name}{kind}{' = ' if kind else '='}{default}"


def plainly(annotation: Any) -> str:
    """Return the name of a type, as its file writes it."""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def described(thing: Any) -> str:
    """Return the docstring as Markdown: heads of sections in bold, fields as a list."""
    text = inspect.getdoc(thing) or ""
    if is_dataclass(thing) and text.startswith(f"{getattr(thing, '__name__', '')}("):
        return ""
    lines = escaped(text).splitlines()
    out: list[str] = []
    for at, line in enumerate(lines):
        if re.fullmatch(r"-{3,}", line):
            continue
        head = at + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[at + 1])
        field = FIELD.match(line)
        if head:
            out += [f"**{line}**", ""]
        elif field and not line.startswith(" "):
            out.append(f"- `{field[1]}`: {field[2]}")
        elif out and out[-1].startswith(("- ", "  ")) and line.startswith("    "):
            out.append(f"  {line.strip()}")
        else:
            out.append(line)
    return "\n".join(out)


def escaped(text: str) -> str:
    """Return the text with signs that Markdown would take for its own made plain, code left as it is."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*<$\[\]])", r"\\\1", part) for part in parts)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    sys.stdout.write(f"{PAGE}\n")
