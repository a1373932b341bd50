"""Where the noise goes: the filled weights are the best of their kind, and follow the noise."""

from __future__ import annotations

import numpy as np
import pytest

import suffice as sf
from suffice.core.errors import InputError
from suffice.features.weight import _filled, expected, noise, shared

SMOOTH = [float(value) for value in np.linspace(0.999, 0.3, 60)]
FAMILY = ["spectral"] * 60
ONES = np.ones(60)


def loss(signal, squares, error):
    return float((signal * error / (signal * squares + error)).sum())


@pytest.mark.parametrize("error", [1e-6, 1e-4, 1e-2, 1.0])
def test_no_other_share_of_the_noise_has_less_expected_error(error):
    signal = expected(SMOOTH, FAMILY, ONES, 3.0, 0.9)
    best = _filled(signal, error)
    assert best.sum() == pytest.approx(1.0, abs=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(200):
        other = np.abs(best + rng.normal(size=60) * 10.0 ** rng.uniform(-4, 0))
        assert loss(signal, best, error) <= loss(signal, other / other.sum(), error) + 1e-12


def test_more_noise_goes_to_fewer_coordinates():
    kept = [int((shared(SMOOTH, FAMILY, ONES, error, 10) > 0).sum()) for error in (1e-8, 1e-5, 1e-3, 1e-1)]
    assert kept == sorted(kept, reverse=True)
    assert kept[0] == 60
    assert kept[-1] < 30


def test_without_noise_to_speak_of_all_coordinates_weigh_alike():
    assert np.allclose(shared(SMOOTH, FAMILY, ONES, 1e-12, 10), 1.0, atol=1e-3)


def test_a_family_without_a_graph_is_weighed_as_it_lies_and_gains_with_less_noise():
    smooth, families = [*SMOOTH, None, None], [*FAMILY, "columns", "columns"]
    sizes = np.append(ONES, [4.0, 1.0])
    few, many = (np.square(shared(smooth, families, sizes, error, 2)) for error in (1e-1, 1e-6))
    assert many[60] == pytest.approx(4 * many[61], rel=1e-6)
    assert many[60] > 0
    assert few[:60].sum() > 0


@pytest.mark.parametrize("classes", [2, 10])
def test_the_noise_of_a_coordinate_is_that_of_the_law(classes):
    mechanism, rows = sf.Gaussian(epsilon=1.0, delta=1e-5), 1000
    law = mechanism.law(_reach(classes), 7, classes)
    variance = float(law.stddev) ** 2 * (1 if classes == 2 else classes - 1) / (1 << 40) / rows**2
    assert noise(mechanism, rows, 7, classes) == pytest.approx(variance, rel=1e-6)


def _reach(classes):
    from suffice.core.bounds import Sensitivity, least_root

    unit = 1 << 20
    reach = 2 * unit if classes == 2 else least_root(2 * unit * unit)
    return Sensitivity(least_root(7 * reach * reach), reach, reach)


def test_a_request_without_a_law_is_refused_with_what_to_write():
    with pytest.raises(InputError, match="Gaussian"):
        noise(sf.Auto(epsilon=1.0), 10, 3, 2)
