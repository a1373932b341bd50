"""Files and functions stay small enough to be read at once."""

from __future__ import annotations

import statistics

from tests.style.house import body_length, modules

LONGEST_FILE = 600
LONGEST_FUNCTION = 100


def lengths() -> dict[str, int]:
    return {
        f"{module.name}:{function.lineno} {function.name}": body_length(function)
        for module in modules()
        for function in module.functions()
    }


def test_no_file_is_longer_than_six_hundred_lines():
    sizes = {module.name: len(module.text.splitlines()) for module in modules()}
    assert {name: size for name, size in sizes.items() if size > LONGEST_FILE} == {}


def test_nine_functions_in_ten_are_shorter_than_forty_lines():
    assert statistics.quantiles(lengths().values(), n=10)[-1] < 40


def test_half_of_the_functions_have_at_most_twelve_lines():
    assert statistics.median(lengths().values()) <= 12


def test_no_function_is_longer_than_a_hundred_lines():
    assert {name: size for name, size in lengths().items() if size > LONGEST_FUNCTION} == {}
