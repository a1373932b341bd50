"""The house as data: every file of ours, parsed once, and the rooms they live in."""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "suffice"
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Module:
    """One file of the package: where it is, what it says, how it parses."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def name(self) -> str:
        return self.path.relative_to(PACKAGE).as_posix()

    def functions(self):
        """Yield every function and method, nested ones too."""
        return (node for node in ast.walk(self.tree) if isinstance(node, FUNCTION))

    def classes(self):
        """Yield every class."""
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef))


@cache
def modules() -> tuple[Module, ...]:
    """Return every Python file of the package, in order of its path."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return tuple(Module(path, text := path.read_text("utf-8"), ast.parse(text)) for path in paths)


@cache
def project() -> dict:
    """Return pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


@cache
def contracts() -> dict[str, dict]:
    """Return the contracts of import-linter by their id."""
    return {contract["id"]: contract for contract in project()["tool"]["importlinter"]["contracts"]}


def rooms() -> set[str]:
    """Return the rooms that exist: packages and single files next to the root."""
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    return folders | {path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("__")}


def texts() -> list[Path]:
    """Return every text file that belongs to the project, tests and pages included."""
    folders = ("src", "tests", "docs", "demo", "benchmarks", "changes", ".ci")
    kinds = {".py", ".md", ".toml", ".c", ".h", ".sql", ".sh", ".rst", ".txt", ""}
    found = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in kinds]
    top = [ROOT / "Makefile", ROOT / "pyproject.toml", ROOT / ".gitignore", *ROOT.glob("*.md")]
    return sorted(path for path in found + top if path.is_file() and not built(path))


def built(path: Path) -> bool:
    """Tell whether a tool made this file: it lies in a hidden folder or in one for what is built."""
    parts = path.relative_to(ROOT).parts[:-1]
    return any(
        part in {"_build", "__pycache__"} or (part.startswith(".") and part != ".ci") for part in parts
    )


def body_length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function between its signature and its end, the docstring left out."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0
