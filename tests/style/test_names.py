"""Names say what a thing is, public names say what is true of it, and no sentence is left for later."""

from __future__ import annotations

import ast
import re

from tests.style.house import FUNCTION, ROOT, modules, texts

DRAWERS = {"utils", "util", "common", "helpers", "helper", "base", "manager", "managers", "misc"}
# written in two halves, so that this page does not find itself
LATER = [
    r"\b" + "TO" + r"DO\b",
    r"\b" + "FIX" + r"ME\b",
    r"\b" + "XX" + r"X\b",
    r"\braise NotImplemented" + "Error",
    r"\b[Ii]ssues? " + "#" + r"\d",
    r"(?<![\w.~/-])/(" + "work" + "|" + "root" + "|" + "home" + "|" + "Users" + r")/\w",
]


def public_names(tree: ast.Module):
    """Yield the public functions and classes of a module, and the public methods of public classes."""
    for node in tree.body:
        if not isinstance(node, (*FUNCTION, ast.ClassDef)) or node.name.startswith("_"):
            continue
        yield node.name, node
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, FUNCTION) and not inner.name.startswith("_") and not overloaded(inner):
                    yield f"{node.name}.{inner.name}", inner


def overloaded(function: ast.FunctionDef) -> bool:
    return any("overload" in ast.unparse(decorator) for decorator in function.decorator_list)


def test_no_file_is_a_drawer():
    names = {part for module in modules() for part in module.path.with_suffix("").parts[-3:]}
    assert names & DRAWERS == set()


def test_no_class_is_a_manager():
    names = [node.name for module in modules() for node in module.classes()]
    assert [name for name in names if re.search(r"(Manager|Helper|Utils?|Base)$", name)] == []


def test_every_public_name_says_what_is_true_of_it():
    silent = [
        f"{module.name}:{node.lineno} {name}"
        for module in modules()
        for name, node in public_names(module.tree)
        if not ast.get_docstring(node)
    ]
    assert silent == []


def test_every_file_opens_with_a_sentence():
    silent = [m.name for m in modules() if m.tree.body and not ast.get_docstring(m.tree)]
    assert silent == []


def test_nothing_is_left_for_later_and_no_machine_is_named():
    word = re.compile("|".join(LATER))
    found = [
        f"{path.relative_to(ROOT)}:{number} {hit.group()}"
        for path in texts()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if (hit := word.search(line))
    ]
    assert found == []
