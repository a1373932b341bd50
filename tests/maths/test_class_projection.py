from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.core.errors import InputError
from suffice.maths.class_projection import free_fit, project_classes
from suffice.maths.softmax import minimise_softmax, softmax
from suffice.maths.zonotope import ClassZonotope, Zonotope, project


def _rows(seed, m, d):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, d)) @ rng.standard_normal((d, d))
    return X / np.linalg.norm(X, axis=1).max(), rng


def _members(rng, X, kinds, count=20):
    for _ in range(count):
        yield rng.dirichlet(np.full(kinds, 0.3), len(X)).T @ X / len(X)


@given(seed=st.integers(0, 10**6), m=st.integers(1, 60), kinds=st.integers(3, 5), size=st.floats(0.0, 5.0))
@settings(max_examples=40, deadline=None)
def test_the_point_is_a_member_and_nearer_to_every_member_than_the_target(seed, m, kinds, size):
    X, rng = _rows(seed, m, 3)
    target = size * rng.standard_normal((kinds, 3))
    found = project_classes(X, target, tolerance=1e-7)
    assert found.converged
    for member in _members(rng, X, kinds):
        before, after = np.linalg.norm(member - target), np.linalg.norm(member - found.point)
        assert after <= before + np.sqrt(found.gap) + 1e-9
    for u in rng.standard_normal((20, kinds, 3)):
        assert (u * found.point).sum() <= ClassZonotope(X, kinds).support(u.ravel()) + 1e-9
    assert np.allclose(found.point.sum(axis=0), X.mean(axis=0), atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_point_that_corners_lead_to(seed):
    X, rng = _rows(seed, 200, 3)
    target = X.mean(axis=0) / 4 + 0.2 * rng.standard_normal((4, 3))
    ours = project_classes(X, target, tolerance=1e-8)
    theirs = project(target.ravel(), ClassZonotope(X, 4), tolerance=1e-9)
    assert not ours.inside
    assert np.sum((ours.point.ravel() - theirs.point) ** 2) <= ours.gap + theirs.gap + 1e-12


@given(seed=st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_class_means_of_labels_within_the_set_are_left_as_they_are(seed):
    X, rng = _rows(seed, 300, 4)
    mean = rng.dirichlet(np.ones(3), 300).T @ X / 300
    once = project_classes(X, mean)
    assert once.inside
    assert (once.point == mean).all()
    assert once.gap == 0.0
    again = project_classes(X, once.point)
    assert (again.point == once.point).all()


def test_inside_gives_the_fit_without_a_penalty():
    X, rng = _rows(3, 400, 4)
    chance = softmax(X @ (4 * rng.standard_normal((4, 3))))[0]
    mean = chance.T @ X / 400
    found = project_classes(X, mean)
    assert found.inside
    assert np.allclose(softmax(X @ found.theta.T)[0].T @ X / 400, mean, atol=1e-10)
    assert np.allclose(free_fit(X, mean, np.zeros_like(mean)), found.theta, atol=1e-4)
    warm = project_classes(X, mean, start=found.theta)
    assert warm.inside
    assert warm.fits == 0


def test_a_point_on_the_border_is_not_said_to_be_inside():
    X, rng = _rows(4, 300, 3)
    labels = np.argmax(X @ rng.standard_normal((3, 3)), axis=1)
    corner = (labels == np.arange(3)[:, None]).astype(float) @ X / 300
    found = project_classes(X, corner, tolerance=1e-6)
    assert not found.inside
    assert np.sum((found.point - corner) ** 2) <= 2 * found.gap + 1e-12
    assert free_fit(X, corner, np.zeros((3, 3))) is None


def test_blocks_that_do_not_add_up_to_the_rows_are_never_inside():
    X, rng = _rows(5, 300, 3)
    mean = rng.dirichlet(np.ones(3), 300).T @ X / 300
    found = project_classes(X, mean + 0.01)
    assert not found.inside
    assert np.allclose(found.point, project_classes(X, mean).point, atol=1e-2)


def test_the_gap_bounds_the_distance_to_the_true_projection():
    X, rng = _rows(6, 500, 4)
    target = X.mean(axis=0) / 3 + 0.3 * rng.standard_normal((3, 4))
    rough, fine = (project_classes(X, target, tolerance=t) for t in (1e-2, 1e-9))
    assert np.sum((rough.point - fine.point) ** 2) <= rough.gap + 1e-9
    assert rough.gap > fine.gap
    assert rough.fits < fine.fits


def test_two_classes_are_the_zonotope_shifted_and_halved():
    X, rng = _rows(8, 400, 3)
    target, centre = 0.4 * rng.standard_normal(3), X.mean(axis=0)
    single = project(target, Zonotope(X), tolerance=1e-12).point
    pair = project_classes(X, np.stack([centre - target, centre + target]) / 2, tolerance=1e-9).point
    assert np.allclose(pair[1] - pair[0], single, atol=1e-4)


def test_weights_are_repeated_rows():
    X, rng = _rows(9, 150, 3)
    target, times = 0.3 * rng.standard_normal((3, 3)), np.arange(150) % 3 + 1
    weighted = project_classes(X, target, weights=times / times.mean(), tolerance=1e-9)
    repeated = project_classes(np.repeat(X, times, axis=0), target, tolerance=1e-9)
    assert np.allclose(weighted.point, repeated.point, atol=1e-4)


def test_hundreds_of_coordinates_take_a_few_fits():
    X, rng = _rows(10, 1200, 60)
    target = X.mean(axis=0) / 10 + 0.05 * rng.standard_normal((10, 60))
    found = project_classes(X, target, tolerance=1e-4)
    assert found.converged
    assert found.fits <= 10


@pytest.mark.parametrize(
    ("X", "means", "said"), [(np.ones((3, 1)), [[np.nan]], "finite"), (np.ones((0, 1)), [[1.0]], "no rows")]
)
def test_what_cannot_be_projected_is_refused(X, means, said):
    with pytest.raises(InputError, match=said):
        project_classes(X, np.array(means))


def test_a_fit_of_the_point_is_what_comes_with_it():
    X, rng = _rows(11, 300, 3)
    found = project_classes(X, X.mean(axis=0) / 3 + 0.3 * rng.standard_normal((3, 3)), tolerance=1e-3)
    refit = minimise_softmax(X, found.point, start=found.theta, tolerance=1e-9)
    assert refit.converged
    assert np.allclose(softmax(X @ found.theta.T)[0].T @ X / 300, found.point)
