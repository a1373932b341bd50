from __future__ import annotations

import numpy as np
import pytest

from suffice.core.errors import InputError
from suffice.maths.even_pass import even_pass, narrowed, second_moment
from suffice.maths.linear_odd import LOSSES, LinearOdd


def rows(kind=np.float64):
    rng = np.random.default_rng(3)
    return (4 * rng.standard_normal((1001, 5))).astype(kind), rng.standard_normal(5), rng.random(1001)


def plain(loss, X, theta, weights):
    """What the pass should find, one row at a time."""
    value, gradient, hessian = 0.0, np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
    for x, weight in zip(X.astype(np.float64), weights, strict=True):
        z = np.array([x @ theta])
        value += weight * loss.even(z)[0] / len(X)
        gradient += weight * loss.even_gradient(z)[0] * x / len(X)
        hessian += weight * loss.even_curvature(z)[0] * np.outer(x, x) / len(X)
    return value, gradient, hessian


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", sorted(LOSSES))
def test_a_pass_is_the_weighted_mean_over_rows_for_every_loss(name, kind):
    X, theta, weights = rows(kind)
    loss = LOSSES[name]
    for share in (None, weights):
        found = even_pass(loss, X, theta, True, share)
        told = plain(loss, X, theta, np.ones(len(X)) if share is None else share)
        for ours, theirs in zip((found.value, found.gradient, found.hessian), told, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12)


def test_rows_in_pieces_make_the_same_pass():
    X, theta, weights = rows()
    whole = even_pass(LOSSES["logistic"], X, theta, True, weights)
    cut = even_pass(LOSSES["logistic"], [X[:13], X[13:400], X[400:]], theta, True, weights)
    assert cut.count == whole.count
    np.testing.assert_allclose(cut.hessian, whole.hessian, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(cut.gradient, whole.gradient, rtol=1e-12, atol=1e-15)


def test_a_loss_that_only_bears_the_name_of_another_is_computed_by_its_own_functions():
    X, theta, _ = rows()
    own = LinearOdd(LOSSES["square"].even, 4.0, name="logistic")
    assert even_pass(own, X, theta).value == pytest.approx(even_pass(LOSSES["square"], X, theta).value)


def test_no_rows_are_refused():
    with pytest.raises(InputError, match="no rows"):
        even_pass(LOSSES["logistic"], np.zeros((0, 2)), np.zeros(2))


def test_rows_are_narrowed_where_that_loses_nothing_and_only_there():
    grid = np.round(rows()[0] * 2.0**20) * 2.0**-20
    assert narrowed(grid).dtype == np.float32
    assert (narrowed(grid).astype(np.float64) == grid).all()
    grid[700, 3] += 2.0**-40
    assert narrowed(grid) is grid


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_second_moment_is_the_weighted_mean_of_outer_squares(kind):
    X, _, weights = rows(kind)
    wide = X.astype(np.float64)
    told = (wide.T * weights) @ wide / len(X)
    np.testing.assert_allclose(second_moment(X, 5, weights), told, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(second_moment([X[:7], X[7:]], 5), wide.T @ wide / len(X), rtol=1e-12)
