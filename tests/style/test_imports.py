"""What an import may load, where an import may stand."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys

from tests.style.house import FUNCTION, PACKAGE, modules

HEAVY = {
    "sklearn", "scipy", "flint", "opendp", "skops", "duckdb", "pandas", "polars", "psycopg", "matplotlib",
    "pyarrow.dataset", "dp_accounting",
}  # fmt: skip
LIST_MODULES = "import json, sys; print(json.dumps(sorted(sys.modules)))"
HELP = """
import sys
sys.argv = ["suffice", "--help"]
from suffice.cli import main
try:
    main()
except SystemExit as end:
    assert end.code in (0, None), end.code
"""


def loaded_by(code: str) -> set[str]:
    """Return the modules that a fresh interpreter holds after running this code."""
    path = os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\n{LIST_MODULES}"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    return set(json.loads(run.stdout.splitlines()[-1]))


def own_imports(function: ast.AST) -> list[int]:
    lines = []
    for node in ast.walk(function):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or "suffice"]
        lines += [node.lineno for name in names if name.split(".")[0] == "suffice"]
    return lines


def test_no_import_of_our_own_hides_in_a_function():
    hidden = {
        f"{module.name}:{line}"
        for module in modules()
        for function in module.functions()
        for line in own_imports(function)
    }
    assert hidden == set()


def test_a_relative_or_starred_import_is_never_used():
    found = [
        f"{module.name}:{node.lineno}"
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and (node.level or node.names[0].name == "*")
    ]
    assert found == []


def test_importing_suffice_loads_no_heavy_library():
    assert loaded_by("import suffice") & HEAVY == set()


def test_importing_suffice_loads_at_most_twice_what_numpy_and_pyarrow_load():
    assert len(loaded_by("import suffice")) <= 2 * len(loaded_by("import numpy, pyarrow"))


def test_the_help_page_of_the_command_loads_neither_numpy_nor_pyarrow_nor_a_heavy_library():
    assert loaded_by(HELP) & (HEAVY | {"numpy", "pyarrow"}) == set()


REACH = """
import suffice as sf
for name in dir(sf):
    getattr(sf, name)
assert set(sf.__all__) <= set(dir(sf))
"""
MISS = """
import suffice
try:
    suffice.no_such_name
except AttributeError as error:
    assert "no_such_name" in str(error)
else:
    raise SystemExit(1)
"""


def test_every_public_name_of_the_root_can_be_reached():
    assert "suffice" in loaded_by(REACH)


def test_a_name_that_the_root_does_not_have_is_an_attribute_error():
    assert "suffice" in loaded_by(MISS)


def test_the_walk_sees_functions_of_both_kinds():
    assert {type(f) for m in modules() for f in m.functions()} <= set(FUNCTION)
    assert own_imports(ast.parse("def f():\n    from suffice.core import units\n    import suffice")) == [
        2,
        3,
    ]
