"""Write trust-report.md from gates.json, which `make laws` fills: `python docs/trust/report_page.py`."""

from __future__ import annotations

import json
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RECORD = HERE / "gates.json"
PAGE = HERE.parent / "trust-report.md"
TITLES = {
    "G1": "One set of rows has one sum",
    "G2": "States are a monoid",
    "G3": "No neighbour moves the sum further than declared",
    "G4": "A neighbour changes nothing but the values",
    "G5": "Two worlds",
    "G6": "Noise follows its law",
    "G7": "Lowest digits tell nothing",
    "G8": "One run",
    "G9": "Randomness",
    "G11": "Accountants agree",
    "G13": "Concurrency",
    "G14": "Killed processes",
    "G15": "Losses of power",
    "G16": "The ledger against a model",
    "G17": "Migrations",
    "G18": "Limits of learners",
    "G21": "Malformed files",
    "G22": "A second implementation reads",
    "G23": "A short script re-derives",
    "G27": "Fresh environments",
    "G28": "Bounded memory",
    "G30": "Real bugs, put back",
}
HEAD = """# What the laws showed

This page is written by `docs/trust/report_page.py` from `docs/trust/gates.json`, where `make laws` leaves a
line for each law as soon as it ends; a test compares. Each gate has a control: a wrong version of the code
that it must catch. A gate that holds shows that nothing wrong was seen at the stated size. It is no proof;
those are [here](proofs/index.md). What a lower bound on ε means is explained in
[the proof page of the audit](proofs/audit.md).
"""


def lines() -> dict[str, dict[str, Any]]:
    """Return the record, a line per test."""
    found: dict[str, dict[str, Any]] = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    return found


def order(gate: str) -> tuple[int, str]:
    """Put gates in the order of their numbers, and what has none last."""
    return (int(gate[1:]), "") if gate[1:].isdigit() else (1000, gate)


def cell(text: object) -> str:
    """Return text that fits a cell of a table."""
    return str(text).replace("|", "\\|").replace("\n", " ")


def sentence(test: str) -> str:
    """Return the name of a test as the sentence that it is."""
    name = test.rsplit("::", maxsplit=1)[-1].removeprefix("test_").replace("_at_full_size", "")
    return name.replace("_", " ")


def section(gate: str, rows: list[tuple[str, dict[str, Any]]]) -> str:
    """Return what the page says of one gate."""
    failed = sum(line["outcome"] != "passed" for _, line in rows)
    days = sorted({line["date"] for _, line in rows})
    commits = sorted({line["commit"] for _, line in rows})
    seconds = sum(line["seconds"] for _, line in rows)
    verdict = f"{failed} of {len(rows)} FAILED" if failed else f"{len(rows)} of {len(rows)} held"
    named = f"{gate}: {TITLES[gate]}" if gate in TITLES else "Further laws"
    head = f"## {named}\n\n{verdict}; {' to '.join(dict.fromkeys((days[0], days[-1])))}, commit "
    head += f"{', '.join(commits)}, {seconds:,.0f} s.\n\n"
    if any("seen" in line for _, line in rows):
        table = ["| required | seen | control |", "|---|---|---|"]
        table += [
            f"| {cell(line['required'])} | {cell(line['seen'])} | {cell(line['mutant'])} |"
            for _, line in rows
            if "seen" in line
        ]
        head += "\n".join(table) + "\n"
    plain = [f"- {sentence(test)}: {line['outcome']}" for test, line in rows if "seen" not in line]
    return head + ("\n" if plain and "|" in head else "") + "\n".join(plain) + ("\n" if plain else "")


def page() -> str:
    """Return the whole page."""
    found = sorted(lines().items(), key=lambda one: (order(one[1]["gate"]), one[0]))
    groups = groupby(found, key=lambda one: one[1]["gate"])
    return "\n".join([HEAD, *(section(gate, list(rows)) for gate, rows in groups)])


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    sys.stdout.write(f"{PAGE}\n")
