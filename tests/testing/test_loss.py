"""Ours keep every law; for each law an outsider that breaks it is refused by its name."""

from __future__ import annotations

import numpy as np
import pytest

from suffice.core.errors import InputError
from suffice.maths.linear_odd import LOSSES, LinearOdd
from suffice.testing import LawBroken, check_loss


def even(z):
    return np.logaddexp(z, -z)


def soft(**changed):
    given = {
        "even": even,
        "a": 2.0,
        "derivative": np.tanh,
        "second": lambda z: np.cosh(np.clip(z, -300, 300)) ** -2.0,
        "link": lambda z: (1 + np.tanh(z)) / 2,
    }
    return LinearOdd(**given | changed)


@pytest.mark.parametrize("name", LOSSES)
def test_ours_keep_every_law(name):
    assert check_loss(name) is LOSSES[name]


def test_an_outsider_that_keeps_the_laws_passes():
    assert check_loss(soft()).a == 2
    assert check_loss(lambda z: np.logaddexp(z, -z) - z).a == pytest.approx(2)
    entropy = LinearOdd.from_generator(
        lambda p: p * np.log(np.maximum(p, 1e-300)) + (1 - p) * np.log(np.maximum(1 - p, 1e-300)),
        lambda p: np.log(np.maximum(p, 1e-300) / np.maximum(1 - p, 1e-300)),
    )
    check_loss(entropy)


def lopsided(z):
    """Even where it is made, on the grid of its constructor, and nowhere else."""
    grid = np.concatenate([np.geomspace(1e-3, 1e3, 61), np.linspace(0.05, 12.0, 240)])
    on = np.isin(np.round(np.abs(z), 12), np.round(grid, 12)) | (np.abs(z) > 1e4)
    return np.where(on, even(z), even(z) + 0.1 * (np.asarray(z) > 0))


OUTSIDERS = {
    "the derivative is that of the even part": {"derivative": lambda z: np.tanh(z) - 1},
    "the second derivative": {"second": np.ones_like},
    "the class of existence": {"existence": "span"},
    "the link is a probability": {"link": lambda z: (1 + 1.1 * np.tanh(z)) / 2},
    "the link does not fall": {"link": lambda z: (1 - np.tanh(z)) / 2},
    "the two classes share the probability": {"link": lambda z: ((1 + np.tanh(z)) / 2) ** 2},
    "a margin minimises the risk": {"link": lambda z: (1 + np.tanh(z / 2)) / 2},
    r"f\(z\) - f\(-z\) is -a z": {"even": lopsided},
}


@pytest.mark.parametrize("law", list(OUTSIDERS))
def test_an_outsider_that_breaks_a_law_is_refused_by_its_name(law):
    with pytest.raises(LawBroken, match=f"^Broken law: {law}"):
        check_loss(soft(**OUTSIDERS[law]))


def test_a_loss_that_is_not_linear_odd_is_refused_with_the_place():
    with pytest.raises(InputError, match="not linear-odd"):
        check_loss(lambda z: np.maximum(0.0, 1.0 - z))
