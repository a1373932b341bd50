"""The docstring of core/errors.py is the tree of errors, and the classes below it are that tree."""

from __future__ import annotations

import builtins
import inspect
import re

from suffice.core import errors


def tree_of_docstring() -> dict[str, set[str]]:
    """Return each class of the docstring's tree with the classes that it names as bases."""
    tree: dict[str, set[str]] = {}
    for line in (errors.__doc__ or "").splitlines():
        if match := re.match(r"\* (\w+Error)\b", line):
            tree[match[1]] = {"Exception"}
        elif line.startswith("  x "):
            family = re.findall(r"(\w+)(?:\((\w+)[^)]*\))?", line[4:])
            parent = family[0][0]
            for name, also in family:
                bases = {"SufficeError"} if name == parent else {parent}
                tree[name] = bases | ({also} if hasattr(builtins, also) else set())
        elif match := re.match(r"\* warnings: (.+)", line):
            tree.update({name: {"Warning"} for name in re.findall(r"\b[A-Z]\w+Warning\b", match[1])})
    return tree


def tree_of_classes() -> dict[str, set[str]]:
    own = (c for _, c in inspect.getmembers(errors, inspect.isclass) if c.__module__ == errors.__name__)
    return {cls.__name__: bases_of(cls) for cls in own}


def bases_of(cls: type) -> set[str]:
    """Return the bases by name; a UserWarning is a Warning."""
    return {"Warning" if issubclass(base, Warning) else base.__name__ for base in cls.__bases__}


def test_the_docstring_of_errors_is_the_tree_of_its_classes():
    assert tree_of_docstring() == tree_of_classes()


def test_the_tree_holds_the_errors_that_users_catch():
    assert {"InputError", "PrivacyError", "ReleaseError", "ExchangeError", "MissingExtra"} <= set(
        tree_of_classes()
    )
