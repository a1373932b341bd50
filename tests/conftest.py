"""What every test shares: the two profiles of hypothesis and the number of tests that were collected."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.gate import (  # noqa: F401  hooks and a fixture of every test
    gate,
    leave_out_what_passed,
    pytest_addoption,
    pytest_configure,
    pytest_runtest_logreport,
    pytest_runtest_setup,
)

# scikit-learn leaves out its array checks without it; read when scipy is first imported
os.environ.setdefault("SCIPY_ARRAY_API", "1")

ROOT = Path(__file__).resolve().parents[1]
COLLECTED = pytest.StashKey[int]()

# "ci" draws the same few examples every time; "laws" (`make laws`) draws many and new ones
settings.register_profile(
    "ci", derandomize=True, max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "laws", max_examples=2_000, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("ci")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Note how many tests there are before any is left out (tests/style/test_count.py reads it)."""
    config.stash[COLLECTED] = len(items)
    leave_out_what_passed(config, items)


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the top of the source tree."""
    return ROOT
