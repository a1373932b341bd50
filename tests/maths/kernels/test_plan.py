"""A plan refuses what no kernel could carry out, in a sentence."""

from __future__ import annotations

import numpy as np
import pytest

from suffice.core.errors import InputError
from suffice.maths import kernels
from suffice.maths.kernels import LIMIT, Column, Levels, Number, Plan, lanes


def test_coordinates_that_overlap_or_lie_outside_are_refused():
    for columns, width, intercept in [
        ((Number(0), Number(0)), 2, None),
        ((Number(0), Levels(0, 2)), 3, None),
        ((Levels(1, 2, missing=3),), 3, None),
        ((Number(0),), 1, 0),
        ((Number(-1),), 1, None),
    ]:
        with pytest.raises(InputError, match="each coordinate"):
            Plan(columns, width, 1.0, intercept)


@pytest.mark.parametrize("number", [Number(0, np.nan), Number(0, 0.0, np.inf), Number(0, 0.0, 0.0)])
def test_a_scale_that_no_value_survives_is_refused(number):
    with pytest.raises(InputError, match="finite"):
        Plan((number,), 1, 1.0)
    with pytest.raises(InputError, match="fill"):
        Plan((Number(0, fill=LIMIT + 1),), 1, 1.0)
    with pytest.raises(InputError, match="unit"):
        Plan((Number(0),), 1, 0.0)


def test_columns_of_other_lengths_types_or_numbers_are_refused():
    plan = Plan((Number(0), Levels(1, 2)), 3, 1.0)
    numbers, codes = Column(np.zeros(3)), Column(np.zeros(3, np.int32))
    with pytest.raises(InputError, match="2 columns, got 1"):
        kernels.encode(plan, [numbers])
    with pytest.raises(InputError, match="one length"):
        kernels.encode(plan, [numbers, Column(np.zeros(4, np.int32))])
    with pytest.raises(InputError, match="codes are integers"):
        kernels.encode(plan, [numbers, numbers])
    with pytest.raises(InputError, match="one-dimensional"):
        Column(np.array(["a"]))
    with pytest.raises(InputError, match="bitmap is shorter"):
        Column(np.zeros(9), np.zeros(1, np.uint8))
    with pytest.raises(InputError, match="labels are 3"):
        kernels.mean_fold(plan, [numbers, codes], np.ones(4, np.int8), radius=1)
    with pytest.raises(InputError, match="norm is 1, 2 or 'inf', got 3"):
        kernels.row_norms(plan, [numbers, codes], 3)
    with pytest.raises(InputError, match="at least one grid unit"):
        kernels.encode(plan, [numbers, codes], radius=0)


def test_the_constants_of_the_hash_are_odd_and_do_not_depend_on_the_width():
    starts, few = lanes(5)
    again, many = lanes(300)
    assert (starts == again).all()
    assert (few == many[:, :5]).all()
    assert (many % 2 == 1).all()
    assert len(np.unique(many)) == many.size


def test_the_fingerprint_knows_the_rows_and_not_their_order():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    signs = np.ones(500, np.int8)
    plan = Plan(tuple(Number(j) for j in range(3)), 4, 1024.0, intercept=3)

    def print_of(rows):
        return kernels.mean_fold(plan, [Column(rows[:, j]) for j in range(3)], signs, radius=900).fingerprint

    assert print_of(X) == print_of(X[rng.permutation(500)])
    other = X.copy()
    other[[3, 4], 1] = other[[4, 3], 1]  # the same column sums
    assert print_of(X) != print_of(other)
