from __future__ import annotations

import pytest

from suffice.core.errors import InputError
from suffice.surveys.design import NAMES, design


def law(name: str, p1: float, p2: float) -> tuple[float, float]:
    """c and d of P(1) = c + d times the prevalence."""
    matrix = design(name, p1, p2).matrix()
    return matrix[0, 1], matrix[1, 1] - matrix[0, 1]


def documented(p: float, q: float) -> dict[str, tuple[float, float]]:
    """The same as the packages' manuals give it."""
    mirrored = dict.fromkeys(("Warner", "mirrored", "Crosswise", "disguised"), (1 - p, 2 * p - 1))
    either = dict.fromkeys(("Forced", "UQM", "UQTknown", "unrelated-known"), ((1 - p) * q, p))
    return {
        **dict.fromkeys(("DQ", "direct"), (0.0, 1.0)),
        **mirrored,
        **either,
        "FR": (q, 1 - p - q),
        "forced-known": (p, 1 - p - q),
        "Triangular": (p, 1 - p),
        "Kuk": (q, p - q),
        **dict.fromkeys(("Mangat", "SLD"), (1 - p, p)),
        "CDM": (p, 1 - p),
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_design_has_the_law_that_its_package_gives_it(name):
    for p1, p2 in ((0.7, 0.2), (0.15, 0.6)):
        assert law(name, p1, p2) == pytest.approx(documented(p1, p2)[name], abs=1e-12)


def test_an_unknown_design_and_a_missing_probability_are_refused():
    with pytest.raises(InputError, match="Did you mean 'Crosswise'"):
        design("crosswise", 0.2)
    with pytest.raises(InputError, match="needs p1= and p2="):
        design("Forced", 0.2)
