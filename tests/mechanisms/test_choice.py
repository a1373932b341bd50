from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

import suffice as sf
from suffice.core.bounds import Sensitivity
from suffice.core.errors import InputError
from suffice.mechanisms.choice import best, candidates, predicted_error
from suffice.mechanisms.draw import noise

UNIT = sf.LabelOf("y")


def chosen(rows: np.ndarray, request: sf.Auto, kinds: int = 2) -> str:
    """Return the winner's name, from the sensitivities that these public rows make."""
    columns = {f"x{j}": rows[:, j] for j in range(rows.shape[1])}
    source = sf.Table(pa.table({**columns, "y": np.zeros(len(rows), np.int64)}))
    recipe = sf.Recipe(tuple(sf.Numeric(name) for name in columns), intercept=False)
    mu = sf.MeanOperator(recipe, "y", bound=sf.Bound(2, sf.Radius.public()), classes=range(kinds))
    settled = mu.resolve(source, UNIT)
    public = sf.fold(settled.public(), source)
    winner, why = best(request, settled.sensitivity(UNIT, public), *settled.shape)
    assert why.startswith(type(winner).__name__)
    return type(winner).__name__


def sparse(dimension: int) -> np.ndarray:
    return np.eye(dimension)


def corners(dimension: int) -> np.ndarray:
    return np.random.default_rng(0).choice([-1.0, 1.0], (40, dimension))


def both(dimension: int) -> np.ndarray:
    """One row along an axis and one along the diagonal, of the same length."""
    return np.vstack([np.eye(dimension)[0], np.full(dimension, dimension**-0.5)])


@pytest.mark.parametrize("kinds", [2, 3])
@pytest.mark.parametrize("dimension", [4, 20, 100])
@pytest.mark.parametrize(("rows", "winner"), [(sparse, "Laplace"), (corners, "Cube"), (both, "L2Laplace")])
def test_there_are_rows_for_which_each_mechanism_wins(rows, winner, dimension, kinds):
    assert chosen(rows(dimension), sf.Auto(epsilon=1.0), kinds) == winner


@pytest.mark.parametrize("kinds", [2, 3, 10])
def test_gaussian_noise_is_never_better_than_round_laplace_noise_for_the_same_delta(kinds):
    for dimension, epsilon, delta in itertools.product((1, 2, 10, 300), (0.05, 0.5, 2.0, 10.0), (1e-9, 1e-5)):
        wide = {"epsilon": epsilon, "delta": delta}
        reach = Sensitivity(10**7, 10**6, 10**6)
        errors = [
            predicted_error(mechanism.law(reach, dimension, kinds), kinds)
            for mechanism in (sf.L2Laplace(**wide), sf.Gaussian(**wide))
        ]
        assert errors[0] <= errors[1] * (1 + 1e-9)


def test_without_delta_nothing_is_considered_that_needs_one():
    assert sf.Gaussian not in {type(one) for one in candidates(sf.Auto(epsilon=1.0))}
    assert sf.Gaussian in {type(one) for one in candidates(sf.Auto(epsilon=1.0, delta=1e-6))}


@pytest.mark.parametrize("kinds", [2, 4])
@pytest.mark.parametrize(
    "mechanism",
    [sf.Laplace(epsilon=1), sf.Cube(epsilon=1), sf.L2Laplace(epsilon=1), sf.Gaussian(epsilon=1, delta=1e-5)],
)
def test_the_predicted_error_is_that_of_what_the_learner_makes_of_the_noise(mechanism, kinds):
    dimension, draws = 3, 600
    law = mechanism.law(Sensitivity(5000, 3000, 2000), dimension, kinds)
    seen = np.array([noise(law) for _ in range(draws)], dtype=float)
    if kinds > 2:
        blocks = seen.reshape(draws, -1, dimension)
        if blocks.shape[1] == kinds:
            blocks = blocks - blocks.mean(axis=1, keepdims=True)
        else:
            blocks = np.concatenate([blocks, -blocks.sum(axis=1, keepdims=True)], axis=1)
        seen = blocks.reshape(draws, -1)
    squares = (seen**2).sum(axis=1)
    spread = squares.std() / np.sqrt(draws)
    assert abs(squares.mean() - predicted_error(law, kinds)) < 5 * spread


def test_a_request_without_a_budget_is_refused():
    with pytest.raises(InputError, match="epsilon"):
        sf.Auto(epsilon=0.0)
