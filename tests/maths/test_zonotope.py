from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.core.errors import InputError
from suffice.maths.zonotope import ClassZonotope, Zonotope, project


def _rows(seed, m, d):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, d)) @ rng.standard_normal((d, d))
    return X / np.linalg.norm(X, axis=1).max(), rng


@given(seed=st.integers(0, 10**6), m=st.integers(1, 60), d=st.integers(1, 6), size=st.floats(0.0, 5.0))
@settings(max_examples=60, deadline=None)
def test_the_projection_is_in_the_set_and_nearer_to_every_point_of_it_than_the_target(seed, m, d, size):
    X, rng = _rows(seed, m, d)
    target = size * rng.standard_normal(d)
    found = project(target, Zonotope(X), tolerance=1e-12)
    assert found.converged
    for _ in range(20):
        member = X.T @ rng.uniform(-1, 1, m) / m
        before, after = np.linalg.norm(member - target), np.linalg.norm(member - found.point)
        assert after <= before + 1e-6
        u = rng.standard_normal(d)
        assert u @ found.point <= Zonotope(X).support(u) + 1e-6 or not found.inside


@given(seed=st.integers(0, 10**6), size=st.floats(0.0, 3.0))
@settings(max_examples=40, deadline=None)
def test_projecting_twice_changes_nothing(seed, size):
    X, rng = _rows(seed, 300, 4)
    once = project(size * rng.standard_normal(4), Zonotope(X)).point
    again = project(once, Zonotope(X))
    assert again.inside
    assert (again.point == once).all()


@given(seed=st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_a_mean_operator_of_labels_within_the_set_is_left_as_it_is(seed):
    X, rng = _rows(seed, 200, 5)
    mean = X.T @ rng.uniform(-1, 1, 200) / 200
    found = project(mean, Zonotope(X))
    assert found.inside
    assert (found.point == mean).all()
    assert (found.multiplier == 0).all()


@given(seed=st.integers(0, 10**6), size=st.floats(0.0, 0.4))
@settings(max_examples=60, deadline=None)
def test_ending_where_a_direction_separates_tells_outside_from_inside_as_going_on_does(seed, size):
    X, rng = _rows(seed, 300, 4)
    target = X.T @ rng.uniform(-1, 1, 300) / 300 + size * rng.standard_normal(4)
    whole = project(target, Zonotope(X), tolerance=1e-12)
    early = project(target, Zonotope(X), tolerance=1e-12, until_separated=True)
    assert early.inside == whole.inside
    assert early.passes <= whole.passes


@pytest.mark.parametrize("width", [20, 100])
def test_a_hundred_thousand_rows_take_fewer_than_a_hundred_passes(width):
    X, rng = _rows(width, 100_000 if width == 20 else 20_000, width)
    mean = X.T @ np.tanh(3 * X @ rng.standard_normal(width)) / len(X)
    for size in (0.0, 0.1, 1.0):
        found = project(mean + size * rng.standard_normal(width) / np.sqrt(width), Zonotope(X), radius=1.0)
        assert found.converged
        assert found.passes < 100
        assert found.gap <= 1e-8


def test_the_multiplier_is_normal_to_the_set_at_the_point():
    X, rng = _rows(3, 5000, 8)
    found = project(rng.standard_normal(8), Zonotope(X), tolerance=1e-12)
    assert not found.inside
    reach = Zonotope(X).support(found.multiplier)
    assert found.multiplier @ found.point == pytest.approx(reach, abs=1e-9)


def test_the_gap_bounds_the_distance_to_the_true_projection():
    X, rng = _rows(4, 2000, 10)
    target = rng.standard_normal(10)
    rough, fine = project(target, Zonotope(X), tolerance=1e-3), project(target, Zonotope(X), tolerance=1e-13)
    assert np.sum((rough.point - fine.point) ** 2) <= rough.gap + 1e-12
    assert rough.passes < fine.passes


def test_another_metric_gives_the_point_that_is_nearest_in_it():
    X, rng = _rows(5, 500, 3)
    metric = np.array([[4.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.1]])
    target = np.array([1.0, -1.0, 0.5])
    found = project(target, Zonotope(X), metric=metric, tolerance=1e-12)
    least = (found.point - target) @ metric @ (found.point - target)
    for _ in range(200):
        other = X.T @ rng.uniform(-1, 1, 500) / 500
        assert least <= (other - target) @ metric @ (other - target) + 1e-9
    assert found.multiplier == pytest.approx(metric @ (target - found.point))
    assert not np.allclose(found.point, project(target, Zonotope(X)).point, atol=1e-3)


def test_projection_in_a_metric_agrees_with_projection_of_turned_rows():
    X, rng = _rows(6, 400, 4)
    root = np.tril(rng.standard_normal((4, 4))) + 2 * np.eye(4)
    target = rng.standard_normal(4)
    there = project(target @ root, Zonotope(X @ root), tolerance=1e-13).point
    here = project(target, Zonotope(X), metric=root @ root.T, tolerance=1e-13).point
    assert np.allclose(here @ root, there, atol=1e-5)


def test_the_support_is_the_mean_absolute_margin():
    X, rng = _rows(7, 50, 3)
    u = rng.standard_normal(3)
    assert Zonotope(X).support(u) == pytest.approx(np.abs(X @ u).mean())
    U = rng.standard_normal((4, 3))
    assert ClassZonotope(X, 4).support(U.ravel()) == pytest.approx((X @ U.T).max(axis=1).mean())


def test_two_classes_are_the_zonotope_shifted_and_halved():
    X, rng = _rows(8, 800, 3)
    target = rng.standard_normal(3)
    centre = X.mean(axis=0)
    single = project(target, Zonotope(X), tolerance=1e-13).point
    pair = project(np.r_[centre + target, centre - target] / 2, ClassZonotope(X, 2), tolerance=1e-13).point
    assert np.allclose(pair, np.r_[centre + single, centre - single] / 2, atol=1e-5)


def test_the_projection_onto_the_class_zonotope_keeps_the_sum_of_its_blocks():
    X, rng = _rows(9, 1000, 4)
    found = project(rng.standard_normal(12), ClassZonotope(X, 3))
    assert found.converged
    assert np.allclose(found.point.reshape(3, 4).sum(axis=0), X.mean(axis=0))


def test_class_means_of_labels_are_left_as_they_are():
    X, rng = _rows(10, 600, 4)
    shares = rng.dirichlet(np.ones(3), 600)
    mean = (shares.T @ X / 600).ravel()
    found = project(mean, ClassZonotope(X, 3))
    assert found.inside
    assert (found.point == mean).all()


def test_blocks_of_rows_give_the_same_point_as_one_array():
    X, rng = _rows(11, 900, 3)
    target = rng.standard_normal(3)
    parts = project(target, Zonotope([X[:100], X[100:].astype(np.float32)]))
    assert np.allclose(parts.point, project(target, Zonotope(X)).point, atol=1e-4)


def test_too_few_passes_are_reported_and_not_hidden():
    X, rng = _rows(12, 900, 6)
    found = project(rng.standard_normal(6), Zonotope(X), max_passes=3)
    assert not found.converged
    assert found.passes == 3


def test_a_target_that_is_not_finite_is_refused():
    with pytest.raises(InputError, match="finite"):
        project(np.array([np.nan]), Zonotope(np.ones((2, 1))))


@pytest.mark.parametrize("metric", [np.eye(3), -np.eye(2)])
def test_a_metric_of_the_wrong_shape_or_sign_is_refused(metric):
    with pytest.raises(InputError, match="metric must be"):
        project(np.ones(2), Zonotope(np.eye(2)), metric=metric)


def test_no_rows_are_refused():
    with pytest.raises(InputError, match="no rows"):
        project(np.ones(2), Zonotope(np.zeros((0, 2))))
