"""What the mean-operator paper (P0) states in passing and gets wrong, as docs/errata.md has it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from suffice.maths.linear_odd import LOSSES
from suffice.maths.minimise import Objective, minimise
from suffice.maths.zonotope import Zonotope, project

DRAWS = 100


def round_noise(draw, dimension: int, scale: float) -> np.ndarray:
    """Return draws with density proportional to exp(-|b|/scale)."""
    sides = draw.standard_normal((DRAWS, dimension))
    sides /= np.linalg.norm(sides, axis=1, keepdims=True)
    return sides * draw.gamma(dimension, size=(DRAWS, 1)) * scale


def sphere_rows(draw, count: int, dimension: int) -> np.ndarray:
    rows = draw.standard_normal((count, dimension))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_logistic_loss_in_natural_logarithms_is_no_upper_bound_of_the_mistakes():
    """At a margin just below zero a mistake counts one, and the loss ln 2."""
    below = np.array([-1e-9])
    assert LOSSES["logistic"].value(below)[0] == pytest.approx(math.log(2), abs=1e-8)
    assert LOSSES["logistic"].value(below)[0] / math.log(2) >= 1.0
    assert LOSSES["linear"].value(below)[0] < 1
    for name in ("square", "matsushita", "modified_huber", "perceptron", "unhinged"):
        assert LOSSES[name].value(below)[0] >= 1


@pytest.mark.parametrize(("epsilon", "share", "gain"), [(0.1, 0.98, 2.8), (0.3, 0.64, 1.3), (1.0, 0.10, 1.0)])
def test_a_noisy_mean_operator_often_lies_outside_what_labels_can_give(epsilon, share, gain):
    """500 rows of norm one in 10 dimensions, 100 draws of round noise."""
    draw = np.random.default_rng(9)
    rows = sphere_rows(draw, 500, 10)
    theta = draw.standard_normal(10)
    theta *= 4 * math.sqrt(10) / np.linalg.norm(theta)
    labels = np.where(draw.random(500) < 1 / (1 + np.exp(-rows @ theta)), 1.0, -1.0)
    mean, outside, before, after = rows.T @ labels / 500, 0, 0.0, 0.0
    for b in round_noise(draw, 10, 2 / (500 * epsilon)):
        nearest = project(mean + b, Zonotope(rows))
        outside += not nearest.inside
        before += float(b @ b)
        after += float(np.sum((nearest.point - mean) ** 2))
    assert outside / DRAWS == pytest.approx(share, abs=0.08)
    assert before / after == pytest.approx(gain, rel=0.15)


def test_separable_labels_put_the_mean_operator_on_the_edge_and_half_of_the_noise_outside():
    draw = np.random.default_rng(4)
    rows = sphere_rows(draw, 300, 4)
    direction = np.array([1.0, 1.0, 0.0, 0.0])
    mean = rows.T @ np.sign(rows @ direction) / 300
    assert Zonotope(rows).support(direction) == pytest.approx(direction @ mean, rel=1e-12)
    noise = round_noise(draw, 4, 2 / (300 * 5.0))
    outside = np.mean([not project(mean + b, Zonotope(rows)).inside for b in noise])
    assert outside >= 0.4


def test_a_mean_outside_the_span_of_the_rows_leaves_the_square_risk_without_a_minimum():
    """Two columns that always agree, as two codings of one fact do; the noise does not know that they do."""
    rows = np.array([[1.0, 1.0], [-1.0, -1.0], [0.5, 0.5]])
    objective = Objective(LOSSES["square"], rows, np.array([0.3, 0.1]))
    along = [objective.value(t * np.array([1.0, -1.0])) for t in (1.0, 10.0, 100.0)]
    assert along == pytest.approx([1.0 - 0.4 * t for t in (1.0, 10.0, 100.0)])


@pytest.mark.parametrize("name", ["unhinged", "linear"])
def test_a_loss_without_an_even_part_has_no_minimum_for_any_mean(name):
    objective = Objective(LOSSES[name], np.eye(2), np.array([0.1, 0.0]))
    assert objective.value(np.array([1e6, 0.0])) < -9e4


def test_class_means_from_bags_need_that_a_class_looks_the_same_in_every_bag():
    """Two bags of equal size with positive shares .8 and .3, whose means are .7 and -.05."""
    shares, means = np.array([0.8, 0.3]), np.array([0.7, -0.05])
    positive, negative = np.linalg.solve(np.column_stack([shares, 1 - shares]), means)
    assert (positive, negative) == (pytest.approx(1.0), pytest.approx(-0.5))
    mean = np.mean(shares * positive - (1 - shares) * negative)
    assert mean == pytest.approx(0.775)
    printed = np.mean((2 * shares - 1) * means)
    assert printed == pytest.approx(0.22)


def test_theorem_10_for_a_parameter_fixed_beforehand_holds_where_it_was_simulated():
    draw = np.random.default_rng(10)
    for dimension in (1, 2, 5, 20, 100):
        noise = draw.laplace(size=(20_000, dimension))
        for theta in (np.eye(dimension)[0], np.full(dimension, dimension**-0.5)):
            assert np.mean(np.abs(noise @ theta) > math.log(dimension / 0.05)) <= 0.05 + 0.0077


def test_the_generic_loss_learns_nothing_from_an_exact_mean():
    rows = np.random.default_rng(12).standard_normal((40, 3))
    mean = rows.T @ np.sign(rows[:, 0]) / 40
    objective = Objective(LOSSES["perceptron"], rows, mean)
    draws = np.random.default_rng(13).standard_normal((200, 3))
    assert objective.value(np.zeros(3)) == 1.0
    assert min(objective.value(theta) for theta in draws) >= 1.0 - 1e-12
    assert minimise(LOSSES["matsushita"], rows, 0.9 * mean).value < 1.0
