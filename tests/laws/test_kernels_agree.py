"""The compiled kernels and their NumPy twins give the same integers, whatever they are fed."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.core.errors import InputError
from suffice.maths import kernels
from suffice.maths.kernels import LIMIT, Column, Levels, Number, Offence, Plan, reference

NORMS = (1, 2, "inf")
FLOATS = ("f4", "f8")
INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
EDGES = (
    0.0,
    -0.0,
    0.5,
    1.5,
    2.5,
    -0.5,
    -1.5,
    5e-324,
    -5e-324,
    2.0**-149,
    1e-300,
    1.0,
    16777215.5,
    16777216.0,
)
BEYOND = (16777216.5, 16777217.5, -16777217.0, 1e300, -1e308, math.inf, -math.inf, math.nan)


@pytest.fixture(params=[3, 2, 1], ids=["widest", "avx2", "baseline"], scope="module", autouse=True)
def instruction_set(request):
    """Run every law with each set of instructions that this machine has; the twin knows only one."""
    if not kernels.COMPILED:
        yield
        return
    from suffice.maths.kernels import _fold

    before = _fold.limit_lanes(request.param)
    yield
    _fold.limit_lanes(before)


def values_of(draw, rows, wild):
    kind = draw(st.sampled_from(FLOATS + INTEGERS))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    if kind in FLOATS:
        values = rng.normal(size=rows) * 10.0 ** draw(st.integers(-4, 6))
        edges = EDGES + (BEYOND if wild else ())
        where = rng.random(rows) < draw(st.sampled_from([0.0, 0.02, 0.5]))
        with np.errstate(over="ignore"):
            values = np.where(where, rng.choice(edges, rows), values).astype(kind)
    else:
        info = np.iinfo(kind)
        span = (info.min, info.max) if wild else (max(info.min, -LIMIT), min(info.max, LIMIT))
        values = rng.integers(*span, size=rows, dtype=kind, endpoint=True)
    return values


def strided(draw, values):
    """The same values as every second element, backwards, or at an odd address."""
    how = draw(st.sampled_from(["plain", "every second", "backwards", "odd address"]))
    if how == "every second":
        room = np.zeros(2 * len(values), values.dtype)
        room[::2] = values
        return room[::2]
    if how == "backwards":
        return values[::-1].copy()[::-1]
    if how == "odd address":
        room = np.zeros(len(values) * values.itemsize + 1, np.uint8)
        room[1:] = values.view(np.uint8)
        return room[1:].view(values.dtype)
    return values


def bitmap(draw, rows):
    if draw(st.booleans()):
        return None, 0
    offset = draw(st.integers(0, 13))
    bits = np.random.default_rng(draw(st.integers(0, 99))).random(rows + offset) < draw(
        st.sampled_from([0.5, 0.99])
    )
    return np.packbits(bits, bitorder="little"), offset


@st.composite
def cases(draw, wild):
    rows = draw(st.sampled_from([0, 1, 7, 63, 128, 300, 1025, 4099]))
    told, columns, width = [], [], 0
    for _ in range(draw(st.integers(1, 5))):
        valid, offset = bitmap(draw, rows)
        own = draw(st.booleans()) if wild else True
        if draw(st.integers(0, 3)):
            values = values_of(draw, rows, wild)
            fill = draw(st.integers(-LIMIT, LIMIT)) if own else None
            missing = width + 1 if draw(st.booleans()) else None
            centre = draw(st.sampled_from([0.0, 0.1, -3.0]))
            told.append(Number(width, centre, draw(st.sampled_from([1.0, 1 / 3, 1e-6])), fill, missing))
            width += 1 if missing is None else 2
            columns.append(Column(strided(draw, values), valid, offset))
        else:
            levels = draw(st.integers(1, 40))
            rng = np.random.default_rng(draw(st.integers(0, 99)))
            dictionary = draw(st.booleans())
            kind = draw(st.sampled_from(["i1", "i4", "i8"]))
            codes = rng.integers(0 if dictionary else -1, levels, rows).astype(kind)
            if wild and rows and draw(st.booleans()):
                codes[rng.integers(rows)] = 99
            lookup = rng.permutation(levels).astype(np.int32) if dictionary else None
            told.append(Levels(width, levels, width + levels if own else None))
            width += levels + own
            columns.append(Column(strided(draw, codes), valid, offset, lookup))
    intercept = width if draw(st.booleans()) else None
    width += intercept is not None
    unit = draw(st.sampled_from([2.0**20 / math.sqrt(width), 1.0, 0.3, 2.0**24, 7.5]))
    if not wild:
        unit = min(unit, 1.0) if draw(st.booleans()) else unit
    plan = Plan(tuple(told), width, unit, intercept, saturate=draw(st.booleans()) if wild else True)
    return plan, columns, rows


def plain(value):
    """A result as something that == compares wholly."""
    if isinstance(value, Offence) or value is None:
        return value
    if isinstance(value, tuple):
        return tuple(plain(one) for one in value)
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return (value.dtype.str, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value


def same(name, *args, **options):
    ours = plain(getattr(kernels, name)(*args, **options))
    assert ours == plain(getattr(reference, name)(*args, **options))
    return ours


def radius_from(draw):
    return draw(st.sampled_from([1, 2, 1000, 2**20, 2**25, 2**25 + 1, 2**26 + 3, 2**31, 2**40, 2**63]))


@pytest.mark.parametrize("wild", [False, True])
@given(data=st.data())
@settings(deadline=None)
def test_mean_folds_agree_bit_for_bit(wild, data):
    plan, columns, rows = data.draw(cases(wild=wild))
    options = {"radius": radius_from(data.draw), "norm": data.draw(st.sampled_from(NORMS))}
    rng = np.random.default_rng(rows)
    signs = rng.choice(np.array([-1, 1], dtype=data.draw(st.sampled_from(["i1", "i8"]))), rows)
    if wild and rows and data.draw(st.integers(0, 4)) == 0:
        signs[rng.integers(rows)] = 0
    same("mean_fold", plan, columns, signs, witness=data.draw(st.booleans()), **options)
    classes = data.draw(st.sampled_from([1, 3, 64, 65, 200]))
    chosen = rng.integers(0, classes, rows, dtype=np.int32)
    same("mean_fold", plan, columns, chosen, classes=classes, **options)


@pytest.mark.parametrize("wild", [False, True])
@given(data=st.data())
@settings(deadline=None, max_examples=50)
def test_norms_encodings_and_second_moments_agree_bit_for_bit(wild, data):
    plan, columns, _ = data.draw(cases(wild=wild))
    norm, radius = data.draw(st.sampled_from(NORMS)), radius_from(data.draw)
    same("row_norms", plan, columns, norm)
    same("encode", plan, columns)
    same("encode", plan, columns, radius, norm)
    same("vectors", plan, columns, radius=radius, norm=norm, scale=2.0**-20)
    same("second_moment", plan, columns, radius=radius, norm=norm)


def test_vectors_are_the_clipped_rows_exactly_with_the_witness_of_the_fold():
    rng = np.random.default_rng(8)
    table = rng.integers(-LIMIT, LIMIT, (700, 3), endpoint=True)
    table[0] = LIMIT, -LIMIT, LIMIT - 1
    plan = Plan((Number(0), Number(1), Number(2)), 4, 1.0, intercept=3)
    columns = [Column(table[:, j]) for j in range(3)]
    for radius in (2**22, 2**40):
        found = kernels.vectors(plan, columns, radius=radius, scale=2.0**-22)
        rows = kernels.encode(plan, columns, radius, 2)
        assert found.rows.dtype == np.float32
        assert (found.rows.astype(np.float64) * 2.0**22 == rows).all()
        sums = kernels.mean_fold(plan, columns, np.ones(700, np.int8), radius=radius)
        assert found.fingerprint == sums.fingerprint
        assert (found.feature_sum == sums.feature_sum).all()
    with pytest.raises(InputError, match="power of two"):
        kernels.vectors(plan, columns, radius=1, scale=0.3)


@given(radius=st.integers(1, 2**25), spread=st.integers(0, 24), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_shortening_agrees_with_whole_number_arithmetic(radius, spread, seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-(2**spread), 2**spread, (64, 3), endpoint=True)
    plan = Plan(tuple(Number(j) for j in range(3)), 3, 1.0)
    columns = [Column(rows[:, j]) for j in range(3)]
    for norm in NORMS:
        clipped = kernels.encode(plan, columns, radius, norm)
        for row, short in zip(rows.tolist(), clipped.tolist(), strict=True):
            square = sum(q * q for q in row)
            root = math.isqrt(square)
            rounded_up = root + (root * root < square)
            length = {1: sum(map(abs, row)), 2: rounded_up, "inf": max(map(abs, row))}[norm]
            divisor = max(radius, length)
            assert short == [(1 if q > 0 else -1) * (abs(q) * radius // divisor) for q in row]


def test_the_quotient_is_exact_where_the_product_divides_and_one_below_and_above():
    """Numerators k·f - 1, k·f, k·f + 1: where a quotient in doubles would be off by one."""
    plan = Plan((Number(0), Number(1)), 2, 1.0)
    rng = np.random.default_rng(5)
    length = rng.integers(2**23, LIMIT, 200_000, endpoint=True)
    for radius in (2**20 - 1, 2**22 + 1, 2**23 - 1):
        coprime = length[np.gcd(length, radius) == 1][:20_000]
        inverse = np.array([pow(radius, -1, int(f)) for f in coprime])
        small = np.concatenate([(inverse * k) % coprime for k in (0, 1, -1)])
        long = np.tile(coprime, 3)
        clipped = kernels.encode(plan, [Column(long), Column(small)], radius, "inf")
        assert (clipped[:, 1] == small * radius // long).all()
        assert (clipped[:, 0] == radius).all()


@pytest.mark.parametrize("radius", [2**25 - 1, 2**25, 2**25 + 1, 2**27 - 1, 2**28 - 57])
def test_long_rows_and_large_radii_have_exact_quotients_too(radius):
    """In the 1-norm a row of 64 columns is long enough to be beyond what a quotient in doubles can decide."""
    rng = np.random.default_rng(6)
    rows = []
    while len(rows) < 1500:
        length = int(rng.integers(radius + 1, 3 * radius))
        if math.gcd(radius, length) > 1:
            continue
        probe = pow(radius, -1, length) * int(rng.choice([-1, 1])) % length
        if probe <= LIMIT:
            rows.append([probe] + [(length - probe + k) // 63 for k in range(63)])
    table = np.array(rows)
    plan = Plan(tuple(Number(j) for j in range(64)), 64, 1.0)
    clipped = kernels.encode(plan, [Column(table[:, j]) for j in range(64)], radius, 1)
    assert (clipped == table * radius // table.sum(axis=1)[:, None]).all()


def test_norms_round_the_root_up_around_every_square():
    plan = Plan(tuple(Number(j) for j in range(4)), 4, 1.0)
    roots = np.concatenate([np.arange(1, 4000), np.arange(LIMIT - 4000, LIMIT)])
    one, none = Column(np.ones_like(roots)), Column(np.zeros_like(roots))
    columns = [Column(roots), one, none, none]
    norms, _ = kernels.row_norms(plan, columns, 2)
    assert (norms == roots + 1).all()
    columns[1] = none
    assert (kernels.row_norms(plan, columns, 2)[0] == roots).all()


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("share", [0.0, 0.05, 0.6])
def test_how_far_rows_reach_is_exact_where_many_columns_stand_at_the_limit(norm, share):
    """One norm adds up past 32 bits, squares to just below 2^62; some rows are shortened, or none."""
    rng = np.random.default_rng(7)
    width, rows = 300, 640
    table = rng.integers(-9, 9, (rows, width))
    long = rng.random(rows) < share
    table[long] = rng.choice([-LIMIT, LIMIT], (int(long.sum()), width))
    table[17] = -LIMIT
    plan = Plan(
        (*(Number(j, 0.0, 2.0**-24) for j in range(width)), Levels(width, 2)), width + 3, 2.0**24, width + 2
    )
    columns = [*(Column(table[:, j]) for j in range(width)), Column(rng.integers(-1, 2, rows))]
    for radius in (2**40, 2**26, 5_000_000):
        sums = same("mean_fold", plan, columns, np.ones(rows, np.int8), radius=radius, norm=norm)
        short = kernels.encode(plan, columns, radius, norm).tolist()
        l1 = max(sum(map(abs, row)) for row in short)
        square = max(sum(q * q for q in row) for row in short)
        assert sums["reach"] == (l1, square, max(max(map(abs, row)) for row in short))


def test_two_to_the_24th_is_the_last_value_that_fits():
    plan = Plan((Number(0),), 1, 1.0)
    for kind in (np.float64, np.float32):
        edges = Column(np.array([2.0**24, -(2.0**24)], kind))
        assert kernels.encode(plan, [edges]).tolist() == [[2**24], [-(2**24)]]
    assert kernels.encode(plan, [Column(np.array([2.0**24 + 0.5]))]).tolist() == [[2**24]]
    assert same("encode", plan, [Column(np.array([1.0, 2.0**24 + 1.5]))]) == Offence(1, 0, "too large")
    moved = dataclasses.replace(plan, saturate=True)
    assert kernels.encode(moved, [Column(np.array([1e300, -1e300]))]).tolist() == [[2**24], [-(2**24)]]
    assert same("encode", moved, [Column(np.array([0.0, np.inf]))]) == Offence(1, 0, "not finite")


def test_the_first_row_that_offends_is_named_and_in_it_the_first_column():
    plan = Plan((Number(0), Levels(1, 2)), 3, 1.0)
    numbers = np.zeros(5000)
    codes = np.zeros(5000, np.int32)
    signs = np.ones(5000, np.int8)
    signs[4500] = 3

    def run():
        return same("mean_fold", plan, [Column(numbers), Column(codes)], signs, radius=5)

    assert run() == Offence(4500, 2, "class")
    codes[4500] = 2
    assert run() == Offence(4500, 1, "level")
    numbers[4500] = 1e30
    assert run() == Offence(4500, 0, "too large")
    numbers[4499] = np.nan
    assert run() == Offence(4499, 0, "not finite")
