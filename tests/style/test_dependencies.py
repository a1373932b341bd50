"""What suffice needs is a list that grows by a decision, and every import of another library is on it."""

from __future__ import annotations

import ast
import re
import sys

from tests.style.house import modules, project

# a new line here is a decision: each user installs it, and each auditor has to trust it
CORE = {
    "numpy",
    "scipy",
    "scikit-learn",
    "pyarrow",
    "narwhals",
    "python-flint",
    "cryptography",
    "typer",
    "rich",
    "skops",
}
EXTRAS = {
    "duckdb": {"duckdb"},
    "postgres": {"psycopg"},
    "plot": {"matplotlib"},
    "accounting": {"dp-accounting"},
    "audit": {"opendp", "dp-accounting"},
    "conllu": {"conllu"},
    "exchange": {"starlette", "uvicorn", "httpx"},
    "spark": {"pyspark"},
    "sql": {"ibis-framework"},
}
WORKSHOP = {"test", "laws", "dev", "docs"}
# libraries whose import has another name
IMPORTED_AS = {"scikit-learn": "sklearn", "python-flint": "flint", "ibis-framework": "ibis"}
# frames that a user hands in or asks for; nothing needs them, and their absence is an error that says so
GUESTS = {"pandas", "polars"}


def names(requirements: list[str]) -> set[str]:
    """Return the bare names of requirements."""
    return {re.split(r"[\[<>=!~; ]", one, maxsplit=1)[0] for one in requirements}


def imported() -> dict[str, set[str]]:
    """Return each library from outside that is imported, with the files that do."""
    found: dict[str, set[str]] = {}
    for module in modules():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Import):
                roots = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                roots = [node.module or ""]
            else:
                continue
            for root in {name.partition(".")[0] for name in roots}:
                found.setdefault(root, set()).add(module.name)
    return {root: files for root, files in found.items() if root not in {*sys.stdlib_module_names, "suffice"}}


def test_the_core_needs_these_ten_libraries_and_no_other():
    assert names(project()["project"]["dependencies"]) == CORE


def test_an_extra_brings_what_it_is_named_for():
    optional = project()["project"]["optional-dependencies"]
    assert set(optional) == {*EXTRAS, *WORKSHOP, "all"}
    assert {extra: names(optional[extra]) for extra in EXTRAS} == EXTRAS
    (everything,) = optional["all"]
    assert set(everything.removeprefix("suffice[").removesuffix("]").split(",")) == set(EXTRAS)


def test_every_requirement_says_the_oldest_version_that_it_takes():
    optional = project()["project"]["optional-dependencies"]
    stated = [*project()["project"]["dependencies"], *(one for extra in optional.values() for one in extra)]
    assert [one for one in stated if ">=" not in one and not one.startswith("suffice[")] == []


def test_every_library_that_is_imported_is_stated():
    stated = CORE.union(*EXTRAS.values())
    known = {IMPORTED_AS.get(name, name.replace("-", "_")) for name in stated} | GUESTS
    assert {root: files for root, files in imported().items() if root not in known} == {}
