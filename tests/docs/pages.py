"""The pages a reader sees, cut into the blocks that the tests execute."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,})(?P<language>[^\n`]*)$")
NO_RUN = re.compile(r"<!-- no-run: (?P<reason>\S.{9,}) -->")
EXIT = re.compile(r"<!-- exit: (?P<code>\d+) -->")
EXECUTED = {"python", "console"}
SHOWN = {"toml", "json", "text", "math", "mermaid", "make", "c", "sql"}


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, its first line, and the marker that stands before it."""

    language: str
    text: str
    line: int
    before: str

    @property
    def runs(self) -> bool:
        return self.language in EXECUTED and not NO_RUN.fullmatch(self.before)

    @property
    def exit_code(self) -> int:
        found = EXIT.fullmatch(self.before)
        return int(found["code"]) if found else 0

    def commands(self) -> list[str]:
        """Return what a reader would type at each `$ suffice`, continued lines joined."""
        joined = re.sub(r" *\\\n *(?:> *)?", " ", self.text)
        return [line[2:] for line in joined.splitlines() if re.match(r"\$ suffice\b", line)]


def pages() -> list[Path]:
    """Return README and every page of docs, built ones left out."""
    docs = (page for page in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in page.parts)
    return [ROOT / "README.md", *docs]


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page in their order."""
    found: list[Block] = []
    before, opened, start, body = "", None, 0, []
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        fence = FENCE.match(line)
        if opened is None and fence:
            opened, start, body = fence, number, []
        elif opened is not None and line.strip() == opened["ticks"]:
            found.append(Block(opened["language"].strip(), "\n".join(body) + "\n", start + 1, before))
            opened, before = None, ""
        elif opened is not None:
            body.append(line.removeprefix(opened["indent"]))
        elif line.strip():
            before = line.strip()
    return found
