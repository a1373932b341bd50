"""Each contract of import-linter is broken once, in a copy of the tree, to prove that it can fail."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.style.house import PACKAGE, ROOT, contracts, rooms

# contract: the file that is written into the copy, and the import that it may not have
BREACHES = {
    "layers": ("core/breach.py", "from suffice.maths import linear_odd"),
    "siblings": ("maths/breach_one.py", "from suffice.maths import breach_two"),
    "trust-boundary": ("learners/breach.py", "from suffice.accounting import ledger"),
    "release-alone": ("releases/breach.py", "from suffice.mechanisms import sampler"),
    "plain-ground": ("maths/breach.py", "import sklearn"),
    "plain-core": ("core/breach.py", "import scipy"),
    "one-adapter-sqlite": ("accounting/breach.py", "import sqlite3"),
    "one-adapter-flint": ("mechanisms/breach.py", "import flint"),
    "one-adapter-cryptography": ("releases/breach.py", "from cryptography.hazmat.primitives import hashes"),
    "one-adapter-duckdb": ("statistics/breach.py", "import duckdb"),
    "one-adapter-psycopg": ("accounting/breach.py", "import psycopg"),
    "one-adapter-dp-accounting": ("accounting/breach.py", "from dp_accounting import pld"),
    "no-adapter-yet": ("mechanisms/breach.py", "from opendp import measurements"),
    "no-root": ("learners/breach.py", "import suffice"),
}
# a breach that needs a second file before it is one
PARTNERS = {"siblings": ("maths/breach_two.py", "from suffice.maths import breach_one")}


def lint(tree: Path, contract: str) -> subprocess.CompletedProcess[str]:
    """Check one contract on the package that lies in this tree."""
    command = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(**{}))"
    options = {
        "config_filename": str(ROOT / "pyproject.toml"),
        "limit_to_contracts": (contract,),
        "cache_dir": None,
        "no_logo": True,
    }
    return subprocess.run(
        [sys.executable, "-c", command.format(options)],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def write(tree: Path, file: str, line: str) -> None:
    """Write a module of one import into the copy; its room must be there already."""
    (tree / "suffice" / file).write_text(f'"""A breach."""\n\n{line}\n', "utf-8")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a folder that holds a copy of the package."""
    skip = shutil.ignore_patterns("__pycache__", "*.so", "*.c", "*.pyd")
    shutil.copytree(PACKAGE, tmp_path / "suffice", ignore=skip)
    return tmp_path


def test_every_contract_has_a_breach_here():
    assert set(BREACHES) == set(contracts())


@pytest.mark.parametrize("contract", sorted(BREACHES))
def test_a_breach_is_found(contract, copy):
    file, line = BREACHES[contract]
    for name, text in filter(None, [(file, line), PARTNERS.get(contract)]):
        write(copy, name, text)
    run = lint(copy, contract)
    assert run.returncode == 1, run.stdout + run.stderr
    assert "Contracts: 0 kept, 1 broken." in run.stdout, run.stdout + run.stderr
    assert "breach" in run.stdout, run.stdout


def test_an_unbroken_copy_passes_every_contract(copy):
    for contract in ("layers", "no-root"):
        run = lint(copy, contract)
        assert "Contracts: 1 kept, 0 broken." in run.stdout, run.stdout + run.stderr


def test_a_room_that_no_layer_names_is_found(copy):
    (copy / "suffice" / "attic").mkdir()
    write(copy, "attic/__init__.py", "import math")
    run = lint(copy, "layers")
    assert run.returncode == 1
    assert "attic" in run.stdout + run.stderr


def test_parentheses_stand_around_exactly_the_rooms_that_do_not_exist():
    words = " ".join(contracts()["layers"]["layers"])
    optional = set(re.findall(r"\((\w+)\)", words))
    assert set(re.findall(r"\w+", words)) - optional == rooms()


def test_the_trust_boundary_binds_learners_and_features_from_their_first_file():
    bound = set(contracts()["trust-boundary"]["source_modules"])
    assert bound == {f"suffice.{room}" for room in {"learners", "features"} & rooms()}


def test_no_import_is_excused_from_a_contract():
    assert [name for name, contract in contracts().items() if "ignore_imports" in contract] == []
