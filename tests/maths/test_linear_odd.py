from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.core.errors import InputError
from suffice.maths.linear_odd import LOSSES, LinearOdd, loss_named, perceptron

margins = st.floats(-1e6, 1e6)
names = pytest.mark.parametrize("name", sorted(LOSSES))
smooth_names = pytest.mark.parametrize("name", sorted(set(LOSSES) - {"perceptron"}))

WHOLE = {
    "logistic": lambda z: np.logaddexp(0.0, -z),
    "square": lambda z: (1.0 - z) ** 2,
    "matsushita": lambda z: np.hypot(1.0, z) - z,
    "unhinged": lambda z: 1.0 - z,
    "linear": lambda z: -z,
    "modified_huber": lambda z: np.where(z >= -1.0, np.maximum(0.0, 1.0 - z) ** 2, -4.0 * z),
    "perceptron": lambda z: 1.0 + 2.0 * np.maximum(0.0, -z),
}


@names
def test_even_minus_half_a_z_is_the_loss_as_it_is_usually_written(name):
    z = np.linspace(-20.0, 20.0, 401)
    assert np.allclose(LOSSES[name].value(z), WHOLE[name](z), rtol=1e-9, atol=1e-12)


@names
@given(z=margins)
def test_the_odd_part_is_minus_a_z_up_to_a_million(name, z):
    loss = LOSSES[name]
    there, back = loss.value(np.array([z, -z]))
    assert np.isfinite([there, back]).all()
    assert there - back == pytest.approx(-loss.a * z, rel=1e-9, abs=1e-9 * (abs(there) + abs(back) + 1e-300))


@smooth_names
def test_stated_derivatives_are_those_of_the_even_part(name):
    loss = LOSSES[name]
    blind = LinearOdd(loss.even, loss.a)
    z = np.array([-7.3, -1.7, -0.4, 0.0, 0.2, 0.9, 2.5, 11.0])
    assert np.allclose(loss.even_gradient(z), blind.even_gradient(z), atol=1e-9)
    assert np.allclose(loss.even_curvature(z), blind.even_curvature(z), atol=1e-7)


@smooth_names
def test_gradients_and_curvatures_stay_finite_far_out(name):
    z = np.array([-1e6, -800.0, 800.0, 1e6])
    assert np.isfinite(LOSSES[name].even_gradient(z)).all()
    assert np.isfinite(LOSSES[name].even_curvature(z)).all()


def test_curvature_at_zero_is_that_of_each_formula():
    expected = {"logistic": 0.25, "square": 2.0, "matsushita": 1.0, "modified_huber": 2.0, "unhinged": 0.0}
    assert {name: LOSSES[name].curvature_at_zero for name in expected} == expected


@names
def test_existence_read_off_the_growth_is_the_stated_one(name):
    loss = LOSSES[name]
    assert LinearOdd(loss.even, loss.a).existence == loss.existence


@names
def test_a_loss_given_whole_is_split_into_the_same_even_part(name):
    split = LinearOdd.from_function(WHOLE[name])
    z = np.linspace(-9.0, 9.0, 101)
    assert split.a == pytest.approx(LOSSES[name].a, rel=1e-9)
    assert np.allclose(split.even(z), LOSSES[name].even(z), atol=1e-12)
    assert split.smooth == LOSSES[name].smooth


def test_a_stated_derivative_of_the_whole_loss_becomes_that_of_the_even_part():
    split = LinearOdd.from_function(WHOLE["square"], derivative=lambda z: 2.0 * (z - 1.0))
    assert np.allclose(split.even_gradient(np.array([-2.0, 0.5])), [-4.0, 1.0])


@pytest.mark.parametrize(
    "f",
    [lambda z: np.maximum(0.0, 1.0 - z), lambda z: np.exp(-z), lambda z: np.maximum(0.0, 1.0 - z) ** 2],
    ids=["hinge", "exponential", "squared hinge"],
)
def test_a_loss_that_is_not_linear_odd_is_refused_with_the_place_where_it_fails(f):
    with pytest.raises(InputError, match=r"must be one number a, got .* at z = .* and .* at z = "):
        LinearOdd.from_function(f)


@pytest.mark.parametrize("name", ["hinge", "exponential", "squared_hinge"])
def test_a_known_name_that_is_not_linear_odd_is_refused_with_the_reason(name):
    with pytest.raises(InputError, match="is not linear-odd"):
        loss_named(name)


def test_an_unknown_name_is_refused_with_the_names_there_are():
    with pytest.raises(InputError, match="logistic"):
        loss_named("cubic")


def test_a_name_and_a_loss_of_ones_own_both_stand_for_a_loss():
    own = LinearOdd(np.square, 3.0)
    assert loss_named(own) is own
    assert loss_named("square") is LOSSES["square"]


def test_an_even_part_that_is_not_even_is_refused():
    with pytest.raises(InputError, match="even"):
        LinearOdd(np.exp, 1.0)


def test_a_coefficient_that_is_not_finite_is_refused():
    with pytest.raises(InputError, match="finite"):
        LinearOdd(np.abs, float("nan"))


@names
def test_losses_survive_pickling(name):
    assert pickle.loads(pickle.dumps(LOSSES[name])) == LOSSES[name]


@pytest.mark.parametrize("name", ["logistic", "square", "matsushita", "modified_huber"])
def test_probabilities_of_a_margin_and_its_opposite_sum_to_one(name):
    z = np.array([-1e6, -3.0, -0.3, 0.0, 0.3, 3.0, 1e6])
    p = LOSSES[name].probability(z)
    assert ((p >= 0) & (p <= 1)).all()
    assert np.allclose(p + LOSSES[name].probability(-z), 1.0)


@pytest.mark.parametrize("name", ["logistic", "matsushita"])
def test_the_probability_is_the_one_whose_expected_loss_is_least_at_the_margin(name):
    loss = LOSSES[name]
    z = np.array([-2.0, -0.5, 0.0, 1.0, 2.5])
    p = loss.probability(z)
    slope = loss.even_gradient(z) - loss.a / 2 * (2 * p - 1)
    assert np.allclose(slope, 0.0, atol=1e-12)


@pytest.mark.parametrize("name", ["unhinged", "linear", "perceptron"])
def test_a_loss_without_probabilities_says_so(name):
    with pytest.raises(InputError, match="no probability"):
        LOSSES[name].probability(np.zeros(1))


def test_rho_of_the_perceptron_must_be_positive():
    assert perceptron(2.0).a == 4.0
    with pytest.raises(InputError, match="positive"):
        perceptron(0.0)


def test_a_loss_that_is_not_convex_knows_it():
    assert LOSSES["matsushita"].convex
    assert not LinearOdd(np.cos, 1.0).convex


def _entropy(p):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((p > 0) & (p < 1), p * np.log(p) + (1 - p) * np.log1p(-p), 0.0)


GENERATED = {
    "logistic": (_entropy, lambda p: np.log(p) - np.log1p(-p), 1 / np.log(2.0)),
    "modified_huber": (lambda p: -p * (1 - p), lambda p: 2 * p - 1, 1.0),
    "matsushita": (lambda p: -np.sqrt(p * (1 - p)), lambda p: (2 * p - 1) / (2 * np.sqrt(p * (1 - p))), 1.0),
}


@pytest.mark.parametrize("name", sorted(GENERATED))
def test_a_generator_gives_its_known_symmetric_proper_loss(name):
    phi, slope, factor = GENERATED[name]
    made, known = LinearOdd.from_generator(phi, slope), LOSSES[name]
    z = np.concatenate([np.linspace(-8.0, 8.0, 81), [-300.0, 300.0, 1e5]])
    assert made.a == pytest.approx(factor * known.a, rel=1e-12)
    assert np.allclose(made.value(z), factor * known.value(z), rtol=1e-9, atol=1e-9)
    assert np.allclose(made.even_gradient(z), factor * known.even_gradient(z), atol=1e-9)
    assert np.allclose(made.probability(z), known.probability(z), atol=1e-9)


@pytest.mark.parametrize(
    ("phi", "slope", "why"),
    [
        (lambda p: p * p, lambda p: 2 * p, "symmetric"),
        (lambda p: p * (1 - p), lambda p: 1 - 2 * p, "convex"),
        (lambda p: -np.log(p * (1 - p)), lambda p: -1 / p + 1 / (1 - p), "finite at 0"),
    ],
    ids=["one-sided", "concave", "unbounded"],
)
def test_a_generator_that_is_not_permissible_is_refused(phi, slope, why):
    with pytest.raises(InputError, match=why):
        LinearOdd.from_generator(phi, slope)
