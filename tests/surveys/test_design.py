from __future__ import annotations

import pytest

from suffice.core.errors import InputError
from suffice.surveys.design import NAMES, design


def law(name: str, p1: float, p2: float) -> tuple[float, float]:
    """c and d of P(1) = c + d times the prevalence."""
    matrix = design(name, p1, p2).matrix()
    return matrix[0, 1], matrix[1, 1] - matrix[0, 1]


@pytest.mark.parametrize(
    ("names", "c", "d"),
    [
        (("DQ", "direct"), lambda p, q: 0, lambda p, q: 1),
        (("Warner", "mirrored", "Crosswise", "disguised"), lambda p, q: 1 - p, lambda p, q: 2 * p - 1),
        (("Forced", "UQM", "UQTknown", "unrelated-known"), lambda p, q: (1 - p) * q, lambda p, q: p),
        (("FR",), lambda p, q: q, lambda p, q: 1 - p - q),
        (("forced-known",), lambda p, q: p, lambda p, q: 1 - p - q),
        (("Triangular",), lambda p, q: p, lambda p, q: 1 - p),
        (("Kuk",), lambda p, q: q, lambda p, q: p - q),
        (("Mangat", "SLD"), lambda p, q: 1 - p, lambda p, q: p),
        (("CDM",), lambda p, q: p, lambda p, q: 1 - p),
    ],
)
def test_a_design_has_the_law_that_its_package_gives_it(names, c, d):
    for name in names:
        for p1, p2 in ((0.7, 0.2), (0.15, 0.6)):
            assert law(name, p1, p2) == pytest.approx((c(p1, p2), d(p1, p2)), abs=1e-12), name


def test_every_name_was_compared():
    assert set(NAMES) == {
        "DQ", "direct", "Warner", "mirrored", "Crosswise", "disguised", "Forced", "UQM", "UQTknown",
        "unrelated-known", "FR", "forced-known", "Triangular", "Kuk", "Mangat", "SLD", "CDM",
    }  # fmt: skip


def test_an_unknown_design_and_a_missing_probability_are_refused():
    with pytest.raises(InputError, match="Did you mean 'Crosswise'"):
        design("crosswise", 0.2)
    with pytest.raises(InputError, match="needs p1= and p2="):
        design("Forced", 0.2)
