"""Long arrays are worked on in pieces, which the machine cannot be told by."""

from __future__ import annotations

import numpy as np
import pytest

from suffice.maths import kernels, piece
from suffice.maths.even_pass import even_pass
from suffice.maths.kernels import reference
from suffice.maths.linear_odd import LOSSES
from suffice.maths.piece import in_order, in_pieces
from suffice.maths.zonotope import Zonotope

ROWS = 3 * 2**17 + 5


@pytest.mark.parametrize("rows", [0, 1, 2**17, 2**17 + 1, ROWS])
def test_pieces_cover_every_row_once_and_in_order(rows):
    seen = in_pieces(rows, lambda part: np.arange(rows)[part])
    assert (np.concatenate(seen) == np.arange(rows)).all()
    assert max(map(len, seen)) <= 2**17


def test_items_come_back_in_order_and_only_a_few_are_taken_ahead():
    taken = []

    def items():
        for item in range(100):
            taken.append(item)
            yield item

    found = in_order(items(), lambda item: 2 * item)
    assert [next(found) for _ in range(3)] == [0, 2, 4]
    assert len(taken) <= 3 + 2 * piece._processors()
    assert list(found) == [2 * item for item in range(3, 100)]


def test_an_error_in_a_piece_is_raised():
    def run(part):
        if part.start:
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        in_pieces(ROWS, run)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_one_processor_and_many_give_the_same_floats(kind, monkeypatch):
    rng = np.random.default_rng(4)
    X, theta = rng.normal(size=(ROWS, 3)).astype(kind), np.array([0.5, -1.0, 2.0])
    weights = rng.random(ROWS)
    many = even_pass(LOSSES["logistic"], X, theta, True, weights), Zonotope(X)(theta)
    monkeypatch.setattr(piece, "_processors", lambda: 1)
    one = even_pass(LOSSES["logistic"], X, theta, True, weights), Zonotope(X)(theta)
    assert many[0].value == one[0].value
    assert (many[0].gradient == one[0].gradient).all()
    assert (many[0].hessian == one[0].hessian).all()
    assert (many[1] == one[1]).all()


@pytest.mark.parametrize("name", kernels.EVEN)
def test_pieces_add_up_to_one_pass_of_the_twin(name):
    rng = np.random.default_rng(5)
    X, theta = rng.normal(size=(ROWS, 3)), np.array([0.5, -1.0, 2.0])
    ours = even_pass(LOSSES[name], X, theta)
    value, gradient, hessian = reference.even_pass(name, X, theta)
    np.testing.assert_allclose(ours.value, value / ROWS, rtol=1e-13)
    np.testing.assert_allclose(ours.gradient, gradient / ROWS, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(ours.hessian, hessian / ROWS, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(
        Zonotope(X)(theta), reference.sign_pass(X, theta)[1] / ROWS, rtol=1e-11, atol=1e-14
    )
