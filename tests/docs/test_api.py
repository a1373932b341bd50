"""The reference of the public names is complete, and says of each what its docstring says."""

from __future__ import annotations

import importlib.util
import inspect
import re

import pytest

import suffice as sf
from tests.docs.pages import ROOT


def load(name: str, path: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


api_page = load("api_page", "docs/reference/api_page.py")
PAGE = api_page.page()
NAMES = api_page.names()


@pytest.mark.parametrize("name", sorted(sf.__all__))
def test_every_public_name_is_on_the_page(name):
    heads = re.findall(r"^## (\S+)$", PAGE, re.MULTILINE)
    assert name in heads or any(head.startswith(f"{name}.") for head in heads)


def test_every_public_name_is_described_in_a_sentence():
    silent = [
        name
        for name, thing in NAMES.items()
        if len(api_page.described(thing).split()) < 3 and callable(thing)
    ]
    assert silent == []


def test_every_public_method_is_on_the_page():
    missing = [
        f"{name}.{inner}"
        for name, thing in NAMES.items()
        if inspect.isclass(thing)
        for inner in vars(thing)
        if not inner.startswith("_")
        and inspect.isfunction(vars(thing)[inner])
        and f"### {name}.{inner}\n" not in PAGE
    ]
    assert missing == []


def test_a_call_is_shown_as_it_is_typed():
    def call(self, first, *rest, key: int = 3) -> float: ...
    def named(*, key: int, other=None): ...

    assert api_page.signature("call", call)[1] == "call(first, *rest, key: int = 3) -> float"
    assert api_page.signature("named", named)[1] == "named(*, key: int, other=None)"
    assert api_page.signature("value", property(call)) == []


def test_signs_of_markdown_in_a_docstring_stay_what_they_are():
    assert api_page.escaped("a*b < c, `a*b`, [x]") == r"a\*b \< c, `a*b`, \[x\]"


def test_sections_of_a_docstring_become_lists():
    class Model:
        """A model.

        Parameters
        ----------
        alpha : float
            Strength.
        """

    assert api_page.described(Model) == "A model.\n\n**Parameters**\n\n- `alpha`: float\n  Strength."
