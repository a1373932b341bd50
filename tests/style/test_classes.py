"""A class is a seam or a final value: nothing of ours is inherited but protocols and errors."""

from __future__ import annotations

import ast

from tests.style.house import modules

ERRORS = "core/errors.py"


def own_classes() -> dict[str, bool]:
    """Return every class of the package by name, and whether it is a protocol."""
    return {
        node.name: any(ast.unparse(base).split("[")[0].endswith("Protocol") for base in node.bases)
        for module in modules()
        for node in module.classes()
        if module.name != ERRORS
    }


def base_names(node: ast.ClassDef) -> list[str]:
    return [ast.unparse(base).split("[")[0].rsplit(".", 1)[-1] for base in node.bases]


def dataclass_call(node: ast.ClassDef) -> ast.expr | None:
    found = (one for one in node.decorator_list if "dataclass" in ast.unparse(one))
    return next(found, None)


def test_nothing_of_ours_is_inherited_but_protocols_and_errors():
    own = own_classes()
    heirs = [
        f"{module.name}:{node.lineno} {node.name}({base})"
        for module in modules()
        for node in module.classes()
        for base in base_names(node)
        if module.name != ERRORS and not own.get(base, True)
    ]
    assert heirs == []


def test_every_value_is_frozen_with_slots_and_final():
    loose = []
    for module in modules():
        for node in module.classes():
            call = dataclass_call(node)
            if call is None:
                continue
            words = {word.arg for word in getattr(call, "keywords", []) if ast.unparse(word.value) == "True"}
            final = any(ast.unparse(one).endswith("final") for one in node.decorator_list)
            if not ({"frozen", "slots"} <= words and final):
                loose.append(f"{module.name}:{node.lineno} {node.name}")
    assert loose == []
