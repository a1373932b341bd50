"""The kernels over whole matrices: even parts, signs and rado sums, compiled and plain."""

from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from suffice.core.errors import InputError
from suffice.maths import kernels
from suffice.maths.kernels import EVEN, LIMIT, STRIPE, reference
from suffice.maths.linear_odd import LOSSES

SHAPES = [(1, 1), (3, 1), (64, 8), (65, 8), (63, 5), (257, 33), (1000, 28), (130, 100)]
LIMITS = [(4, 4, 8), (2, 0, 0), (2, 3, 8), (2, 0, 0)]  # value, slope, bend of each, in EVEN's order
KEY = bytes(range(32))


@pytest.fixture(params=[3, 2, 1], ids=["widest", "avx2", "baseline"], scope="module", autouse=True)
def instruction_set(request):
    if not kernels.COMPILED:
        yield
        return
    from suffice.maths.kernels import _even, _rado

    before = [module.limit_lanes(request.param) for module in (_even, _rado)]
    yield
    for module, lanes in zip((_even, _rado), before, strict=True):
        module.limit_lanes(lanes)


def ulps(ours, theirs):
    return np.max(np.abs(ours - theirs) / np.spacing(np.maximum(np.abs(theirs), np.finfo(float).tiny)))


@pytest.mark.parametrize("loss", EVEN)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_an_even_pass_is_the_sum_over_rows_of_value_gradient_and_hessian(shape, kind, loss):
    rng = np.random.default_rng(1)
    X, theta, weights = rng.normal(size=shape).astype(kind), rng.normal(size=shape[1]), rng.random(shape[0])
    for share in (None, weights):
        ours = kernels.even_pass(loss, X, theta, weights=share)
        theirs = reference.even_pass(loss, X, theta, weights=share)
        scale = len(X) * (1 + np.abs(X).max()) ** 2
        for mine, yours in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine, yours, rtol=1e-13, atol=1e-14 * scale)


@pytest.mark.parametrize(("loss", "limits"), list(zip(EVEN, LIMITS, strict=True)))
def test_each_term_of_an_even_part_is_within_the_ulps_it_states(loss, limits):
    grid = np.concatenate([np.geomspace(1e-300, 700, 3001), np.linspace(0.3, 1.2, 500), [1.0, 0.0]])
    margins = np.concatenate([grid, -grid])
    one = np.ones((1, 1))
    found = [kernels.even_pass(loss, one, np.array([z])) for z in margins]
    told = LOSSES[loss]
    exact = told.even(margins), told.even_gradient(margins), told.even_curvature(margins)
    for place, (limit, theirs) in enumerate(zip(limits, exact, strict=True)):
        assert ulps(np.array([np.ravel(one_row[place])[0] for one_row in found]), theirs) <= limit


def test_rows_may_be_strided_and_what_lies_between_them_is_not_read():
    rng = np.random.default_rng(2)
    wide = np.full((200, 20), np.nan)
    wide[:, 3:10] = rng.normal(size=(200, 7))
    theta = rng.normal(size=7)
    for view in (wide[:, 3:10], np.asfortranarray(wide[:, 3:10]), wide[::-1, 3:10], wide[::2, 3:10]):
        ours = kernels.even_pass("logistic", view, theta, want_hessian=False)
        theirs = reference.even_pass("logistic", np.ascontiguousarray(view), theta, want_hessian=False)
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-12, atol=1e-12)
        assert ours[2] is None


def test_no_rows_add_up_to_nothing():
    value, gradient, hessian = kernels.even_pass("square", np.zeros((0, 3)), np.ones(3))
    assert value == 0.0
    assert not gradient.any()
    assert not hessian.any()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_sign_pass_is_the_support_function_of_the_zonotope(shape, kind):
    rng = np.random.default_rng(3)
    X = rng.integers(-50, 50, shape).astype(kind)  # whole numbers: no margin is rounded, zero included
    u = rng.integers(-3, 4, shape[1]).astype(float)
    value, corner = kernels.sign_pass(X, u)
    assert value == np.abs(X.astype(float) @ u).sum()
    assert (corner == np.sign(X.astype(float) @ u) @ X.astype(float)).all()
    assert corner @ u == value


def test_a_matrix_of_the_wrong_shape_is_refused_with_both_shapes():
    with pytest.raises(InputError, match=r"\(3,\).*\(4, 2\)"):
        kernels.sign_pass(np.zeros((4, 2)), np.zeros(3))
    with pytest.raises(InputError, match="logistic, square"):
        kernels.even_pass("hinge", np.zeros((4, 2)), np.zeros(2))


@pytest.mark.parametrize(
    ("rows", "width", "count", "size"),
    [
        (100, 28, 300, 2**20),
        (1000, 77, 33, LIMIT),
        (31, 1, 1, 5),
        (0, 3, 4, 1),
        (70, 33, 257, LIMIT),
    ],
)
def test_rado_sums_are_the_sums_of_their_subsets(rows, width, count, size):
    rng = np.random.default_rng(4)
    edges = rng.integers(-size, size, (rows, width), endpoint=True).astype(np.int32)
    words = kernels.rado_subsets(KEY, 5, -(-rows // STRIPE), count)
    bits = (words[:, None, :] >> np.arange(STRIPE, dtype=np.uint32)[:, None]) & np.uint32(1)
    exact = bits.reshape(-1, count)[:rows].T.astype(np.int64) @ edges.astype(np.int64)
    for module in (kernels, reference):
        assert (module.rado_fold(edges, count, subsets=words) == exact).all()
        assert (module.rado_fold(edges, count, key=KEY, first=5) == exact).all()
    assert (kernels.rado_fold(np.asfortranarray(edges), count, subsets=words) == exact).all()


def test_rado_sums_of_parts_add_up_to_those_of_the_whole():
    edges = np.random.default_rng(5).integers(-9, 9, (200, 4)).astype(np.int32)
    whole = kernels.rado_fold(edges, 10, key=KEY)
    parts = kernels.rado_fold(edges[:96], 10, key=KEY) + kernels.rado_fold(edges[96:], 10, key=KEY, first=3)
    assert (whole == parts).all()


def test_the_subsets_of_a_key_are_the_stream_of_chacha20():
    for module in (kernels, reference):
        words = module.rado_subsets(KEY, 2**32 + 7, 2, 1000)
        for stripe, row in enumerate(words):
            nonce = bytes(4) + (2**32 + 7 + stripe).to_bytes(8, "little") + bytes(4)
            stream = Cipher(algorithms.ChaCha20(KEY, nonce), None).encryptor().update(bytes(4000))
            assert (np.frombuffer(stream, "<u4") == row).all()


def test_edges_that_would_overflow_a_table_are_refused():
    for module in (kernels, reference):
        for edge in (LIMIT + 1, -LIMIT - 1, np.iinfo(np.int32).min):
            with pytest.raises(InputError, match="16777216"):
                module.rado_fold(np.array([[edge]], np.int32), 2, key=KEY)
    with pytest.raises(InputError, match="32 bytes"):
        kernels.rado_subsets(b"short", 0, 1, 1)
    with pytest.raises(InputError, match="either the subsets or a key"):
        kernels.rado_fold(np.zeros((3, 1), np.int32), 1)
