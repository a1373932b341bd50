from __future__ import annotations

import numpy as np
import pytest

from suffice.maths.conjugate import class_hessian, class_preconditioner, conjugate
from suffice.maths.softmax import softmax


def _case(seed=0, m=400, kinds=4, d=5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, d)) * np.geomspace(1.0, 1e-2, d)
    return X, softmax(3 * X @ rng.standard_normal((d, kinds)))[0].T, rng


def test_the_hessian_is_that_of_its_definition():
    X, chance, _ = _case(m=30)
    whole = sum(
        np.kron(np.diag(p) - np.outer(p, p), np.outer(x, x)) for p, x in zip(chance.T, X, strict=True)
    )
    assert np.allclose(class_hessian(X, chance), whole / 30)


def test_the_step_solves_the_equation():
    X, chance, rng = _case()
    matrix = class_hessian(X, chance) + 0.01 * np.eye(20)
    gradient = rng.standard_normal((4, 5))
    step = conjugate(
        lambda v: (matrix @ v.ravel()).reshape(4, 5),
        gradient,
        class_preconditioner(X, chance, 0.01),
        1e-10,
        50,
    )
    assert np.allclose(matrix @ step.ravel(), -gradient.ravel(), atol=1e-9)


@pytest.mark.parametrize("largest", [1500, 1])
def test_the_preconditioner_makes_it_short(monkeypatch, largest):
    monkeypatch.setattr("suffice.maths.conjugate._WHOLE", largest)
    X, chance, rng = _case()
    matrix = class_hessian(X, chance) + 1e-5 * np.eye(20)
    gradient = rng.standard_normal((4, 5))
    gradient -= gradient.mean(axis=0)
    counts = []
    for near in (class_preconditioner(X, chance, 1e-5), lambda block: block):
        products = []

        def product(v, products=products):
            products.append(v)
            return (matrix @ v.ravel()).reshape(4, 5)

        conjugate(product, gradient, near, 1e-6, 500)
        counts.append(len(products))
    assert counts[0] < counts[1]


def test_where_the_matrix_is_flat_the_step_goes_down():
    gradient = np.ones((2, 2))
    step = conjugate(lambda v: 0.0 * v, gradient, lambda v: v, 1e-9, 10)
    assert (step * gradient).sum() < 0
