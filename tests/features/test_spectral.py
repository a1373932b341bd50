"""The neighbour graph: what it does not depend on, where its extension agrees, and what it must find."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_moons

from suffice import features
from suffice.core.errors import InputError
from suffice.features.eigen import leading
from suffice.features.neighbour import nearest
from suffice.features.spectral import SpectralMap


def moons(count=900, seed=0):
    return make_moons(count, noise=0.06, random_state=seed)


def test_the_nearest_rows_are_those_of_a_full_table_of_distances():
    rows = np.random.default_rng(0).normal(size=(400, 7))
    places, squares = nearest(rows, rows, 6, itself=True)
    apart = np.square(rows[:, None] - rows).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    assert np.array_equal(places, np.argsort(apart, axis=1)[:, :6])
    assert np.allclose(squares, np.sort(apart, axis=1)[:, :6], rtol=1e-12)


def test_the_leading_vectors_of_a_block_iteration_are_those_of_a_full_decomposition():
    rng = np.random.default_rng(1)
    turn, _ = np.linalg.qr(rng.normal(size=(900, 900)))
    values = np.sort(rng.uniform(-0.9, 1.0, 900))[::-1]
    operator = sparse.csr_matrix((turn * values) @ turn.T)
    found, vectors = leading(operator, 12, seed=0, tolerance=1e-5)
    assert np.allclose(found, values[:12], atol=1e-6)
    assert np.allclose(np.abs(np.diag(vectors.T @ turn[:, :12])), 1.0, atol=1e-3)


def test_coordinates_have_mean_zero_and_variance_one_and_fall_in_smoothness():
    X, _ = moons()
    model = SpectralMap(20)
    found = model.fit_transform(X)
    assert np.allclose(found.mean(axis=0), 0.0, atol=1e-5)
    assert np.allclose(found.std(axis=0), 1.0, atol=1e-4)
    assert (np.diff(model.eigenvalues_) <= 1e-12).all()
    assert model.eigenvalues_[0] < 1.0 + 1e-9


def test_the_order_of_rows_changes_no_bit():
    X, _ = moons()
    order = np.random.default_rng(3).permutation(len(X))
    assert np.array_equal(SpectralMap(15).fit_transform(X)[order], SpectralMap(15).fit_transform(X[order]))


def test_rows_that_occur_twice_are_one_node():
    X, _ = moons(300)
    model = SpectralMap(8).fit(np.concatenate([X, X[:50]]))
    assert model.nodes_ == 300
    found = model.transform(np.concatenate([X, X[:50]]))
    assert np.array_equal(found[:50], found[300:])


def test_the_extension_of_a_row_beside_a_fitted_one_is_near_its_coordinates():
    X, _ = moons(1500)
    model = SpectralMap(10).fit(X)
    moved = model.transform(X + np.float32(1e-4))
    there = model.transform(X)
    assert np.corrcoef(moved[:, 1], there[:, 1])[0, 1] > 0.99
    assert moved[:, 1].std() / there[:, 1].std() == pytest.approx(1.0, abs=0.05)


def test_two_moons_are_told_apart_by_the_first_coordinates_of_rows_that_were_never_fitted():
    X, y = moons(1200)
    fresh, classes = moons(400, seed=5)
    model = SpectralMap(4).fit(X)
    train, test = model.transform(X), model.transform(fresh)
    theta = np.linalg.lstsq(np.column_stack([train, np.ones(len(train))]), 2.0 * y - 1.0, rcond=None)[0]
    guess = np.column_stack([test, np.ones(len(test))]) @ theta > 0
    assert (guess == classes).mean() > 0.97


def test_landmarks_carry_a_table_that_is_too_large_for_a_graph_of_all():
    X, _ = moons(1500)
    whole, some = SpectralMap(6), SpectralMap(6, exact=1000, landmarks=700)
    full, part = whole.fit_transform(X), some.fit_transform(X)
    assert some.nodes_ == 700
    assert abs(np.corrcoef(full[:, 0], part[:, 0])[0, 1]) > 0.95


def test_a_row_far_from_all_gets_finite_coordinates():
    X, _ = moons(300)
    assert np.isfinite(SpectralMap(5).fit(X).transform(np.full((1, 2), 1e4))).all()


def test_too_few_rows_are_refused_with_what_to_do():
    with pytest.raises(InputError, match="fewer neighbours"):
        SpectralMap(3).fit(np.arange(10.0).reshape(5, 2))


@pytest.mark.parametrize("name", features.__all__)
def test_no_signature_takes_labels(name):
    kind = getattr(features, name)
    for inner, method in inspect.getmembers(kind, callable):
        if inner.startswith("__") and inner != "__init__":
            continue
        try:
            taken = set(inspect.signature(method).parameters)
        except (TypeError, ValueError):
            continue
        assert not taken & {"y", "Y", "labels", "label", "target"}, (name, inner)
