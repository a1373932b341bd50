"""No row of docs/papers.md dangles: it names code that exists, or says that it is planned, or why not.

A row is fit when each path in backticks exists (from the top of the tree, or from the package) and
it has at least one such path, the word `planned`, or `not here:` and a reason. A path may be
followed by `::name`, and the file must then hold that name.
"""

from __future__ import annotations

import re

import pytest

from tests.style.house import PACKAGE, ROOT

PAGE = ROOT / "docs" / "papers.md"
PATH = re.compile(r"`([\w./-]+(?:/|\.(?:py|md|toml|json|c|sql)))(?:::(\w+))?`")
REASON = re.compile(r"\b(planned|not here: \w+ \w+ \w+)", re.IGNORECASE)
PAPERS = ("P0", "P1", "P2", "P3", "P4")


def rows(text: str) -> list[str]:
    """Return the rows of every table, without heads and rules."""
    lines = text.splitlines()
    rules = {number for number, line in enumerate(lines) if re.fullmatch(r"\|[\s|:-]+\|", line.strip())}
    heads = {number - 1 for number in rules}
    return [line for number, line in enumerate(lines) if line.startswith("|") and number not in rules | heads]


def missing(row: str) -> list[str]:
    """Return the paths of a row that lead nowhere."""
    lost = []
    for path, name in PATH.findall(row):
        place = next((folder / path for folder in (ROOT, PACKAGE) if (folder / path).exists()), None)
        if place is None or (name and not re.search(rf"\b{name}\b", place.read_text("utf-8"))):
            lost.append(f"{path}::{name}" if name else path)
    return lost


def dangles(row: str) -> bool:
    return bool(missing(row)) or not (PATH.search(row) or REASON.search(row))


def test_no_row_of_the_papers_page_dangles():
    assert [row for row in rows(PAGE.read_text("utf-8")) if dangles(row)] == []


@pytest.mark.parametrize("paper", PAPERS)
def test_each_paper_has_rows(paper):
    assert len(re.findall(rf"\b{paper}\b", PAGE.read_text("utf-8"))) >= 1
    assert len(rows(PAGE.read_text("utf-8"))) >= 50


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        ("| P0 | theorem 9 | `tests/docs/test_papers.py` |", False),
        ("| P0 | theorem 9 | `core/errors.py::SufficeError` |", False),
        ("| P0 | theorem 9 | `core/errors.py::NoSuchError` |", True),
        ("| P0 | theorem 9 | `core/no_such_file.py` | planned |", True),
        ("| P3 | table 2 | planned |", False),
        ("| P3 | table 2 | not here: it needs data under licence |", False),
        ("| P3 | table 2 | not here |", True),
        ("| P3 | table 2 | |", True),
    ],
)
def test_a_row_dangles_when_it_names_nothing_that_is_there(row, wrong):
    assert dangles(row) is wrong
