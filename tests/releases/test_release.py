"""The release as a value: round trips, copies, equality, and what it refuses to be."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction
from itertools import count

import joblib
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_score

from suffice.core.bounds import Bound, Sensitivity
from suffice.core.column import Categorical, Numeric
from suffice.core.errors import InputError
from suffice.core.guarantees import Guarantee, NotPrivate, PureDP
from suffice.core.laws import Gaussian, L2Laplace, Laplace, NoLaw
from suffice.core.receipt import Receipt
from suffice.core.recipe import Recipe
from suffice.core.units import Answer, FeatureOf, LabelOf, RecordOf
from suffice.core.witness import Witness
from suffice.releases.release import Grid, Release
from tests.releases.example import labels, release, several

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
REALS = st.floats(allow_nan=False, allow_infinity=False)
POSITIVE = st.floats(1e-6, 1e6)
WHOLE = st.integers(-(2**62), 2**62)
UNITS = st.one_of(
    st.builds(LabelOf, WORDS),
    st.builds(lambda a, b, k: LabelOf(a, person=b, at_most=k), WORDS, WORDS, st.integers(1, 9)),
    st.builds(FeatureOf, WORDS),
    st.builds(RecordOf, st.sampled_from(["replace", "add-remove"])),
    st.just(Answer()),
)
LEVELS = st.one_of(
    st.lists(WORDS, min_size=1, max_size=3, unique=True),
    st.lists(st.integers(-5, 5), min_size=1, max_size=3, unique=True),
)
WITNESSES = st.builds(Witness, st.integers(0, 2**40), st.lists(WHOLE).map(tuple), st.just("0f" * 16))
PLAIN = st.recursive(
    st.none() | st.booleans() | WHOLE | REALS | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(WORDS.filter(lambda w: w != "kind"), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def releases(draw):
    numbers = count()
    columns = [
        draw(
            st.builds(
                Numeric,
                st.just(f"n{next(numbers)}"),
                REALS,
                POSITIVE,
                st.sampled_from(["refuse", "indicate", 0.5]),
            )
            | st.builds(Categorical, st.just(f"c{next(numbers)}"), LEVELS.map(tuple))
        )
        for _ in range(draw(st.integers(1, 4)))
    ]
    recipe = Recipe(
        tuple(columns), intercept=draw(st.booleans()), origin=draw(st.sampled_from(["given", "learned"]))
    )
    size = recipe.dimension
    rows = draw(st.integers(1, 3))
    integers = draw(st.booleans())
    values = draw(st.lists(WHOLE if integers else REALS, min_size=rows * size, max_size=rows * size))
    array = np.array(values, dtype=np.int64 if integers else np.float64)
    epsilon, radius = draw(POSITIVE), draw(st.integers(1, 2**24))
    sensitivity = Sensitivity.of_row(2, radius, size).times(2)
    law, promise = draw(
        st.sampled_from(
            [
                (L2Laplace(Fraction(sensitivity.l2) / Fraction(epsilon), size, rows + 1), PureDP(epsilon)),
                (Laplace(Fraction(sensitivity.l1) / Fraction(epsilon), size), PureDP(epsilon)),
                (NoLaw(size), NotPrivate("taught in a course")),
            ]
        )
    )
    return Release(
        kind="MeanOperator",
        values=array if rows == 1 else array.reshape(rows, size),
        names=recipe.names,
        recipe=recipe,
        bound=draw(st.builds(Bound, st.sampled_from([1, 2, "inf"]), POSITIVE)),
        grid=Grid(20, radius),
        sensitivity=sensitivity,
        witness=draw(st.none() | WITNESSES),
        law=law,
        guarantee=Guarantee(promise, draw(UNITS), assumes=tuple(draw(st.lists(WORDS, max_size=2)))),
        receipt=draw(st.none() | st.builds(Receipt, WORDS)),
        made_by=draw(WORDS),
        about=draw(st.dictionaries(WORDS.filter(lambda w: w != "kind"), PLAIN, max_size=3)),
    )  # fmt: skip


@given(releases())
def test_a_release_comes_back_from_its_bytes_as_it_was(made):
    data = made.to_bytes()
    again = Release.from_bytes(data)
    assert again == made
    assert again.to_bytes() == data
    assert again.card() == made.card()


@pytest.mark.parametrize("name", list(several()))
def test_every_shape_of_release_survives_file_copy_and_pickle(name):
    made = several()[name]
    assert Release.from_bytes(made.to_bytes()) == made
    for again in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert again == made
        assert not again.values.flags.writeable


def test_a_release_survives_a_worker_process():
    made = release()
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(_same)(made) for _ in range(2)) == [made, made]


def _same(made):
    return made


def test_randomised_answers_travel_in_columns_of_their_own():
    answers = pa.table({"key": ["a", "b", "c"], "answer": pa.array([1, 0, 1], pa.int64())})
    made = labels(answers)
    again = Release.from_bytes(made.to_bytes())
    assert again == made
    assert again.answers.equals(answers)
    assert again != labels(answers.slice(1))
    assert "3 answers" in repr(again)


def test_the_bytes_depend_on_nothing_but_the_release():
    made = release()
    other = release(values=np.asfortranarray(made.values.copy()), about=dict(reversed(made.about.items())))
    assert other.to_bytes() == made.to_bytes()


def test_two_releases_that_differ_in_one_unit_differ():
    made = release()
    values = made.values.copy()
    values[0] += 1
    assert release(values=values) != made
    assert release(values=made.values.astype(np.float64)) != made


def test_values_cannot_be_written_to_and_are_not_the_callers_array():
    mine = np.arange(5)
    made = release(values=mine)
    mine[0] = 99
    assert made.values[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        made.values[0] = 1


def test_a_release_has_no_length_no_items_and_no_shape():
    assert not {"__len__", "__getitem__", "__iter__", "shape"} & set(dir(release()))


def test_a_splitter_shows_the_sentence():
    rows = np.zeros((5, 2))
    with pytest.raises(TypeError, match="one aggregate of all rows"):
        np.asarray(release())
    with pytest.raises(TypeError, match="one aggregate of all rows"):
        cross_val_score(LogisticRegression(), rows, release(), cv=KFold(2), error_score="raise")


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"kind": "two words"}, "one word"),
        ({"values": np.zeros(5, np.int32)}, "int64 or float64"),
        ({"values": np.full(5, np.nan)}, "finite"),
        ({"values": np.zeros((1, 1, 5))}, "one or two dimensions"),
        ({"values": [1, 2, 3, 4, 5]}, "are an array"),
        ({"values": np.zeros(4)}, "5 names"),
        ({"names": ["a", "b", "c", "d", "e"]}, "Release.names"),
        ({"grid": Grid(20, 0)}, "radius above 0"),
        ({"grid": Grid(20.0)}, "Grid.bits"),  # type: ignore[arg-type]
        ({"sensitivity": Sensitivity(-1, 1, 1)}, "cannot be negative"),
        ({"witness": Witness(3, (), "short")}, "32 hexadecimal digits"),
        ({"law": L2Laplace(Fraction(0), 5)}, "scale above 0"),
        ({"law": L2Laplace(0.1, 5)}, "L2Laplace.scale"),
        ({"law": L2Laplace(Fraction(4000), 0)}, "dimension above 0"),
        ({"law": None}, "carries the law"),
        ({"law": "L2Laplace"}, "Release.law"),
        ({"about": {"kind": "x"}}, "'kind' is not among them"),
        ({"about": {"rows": np.zeros(3)}}, "cannot travel"),
        ({"answers": pa.table({"a": [1]})}, "got both"),
    ],
)
def test_parts_that_cannot_be_are_refused(changed, says):
    with pytest.raises(InputError, match=says):
        release(**changed)


def test_exact_values_cannot_be_called_private():
    with pytest.raises(InputError, match="no promise but NotPrivate"):
        release(NoLaw(5), PureDP(0.5))
    with pytest.raises(InputError, match="no promise but NotPrivate"):
        release(NoLaw(5), NotPrivate("exact"), also=(PureDP(0.5),))


@pytest.mark.parametrize("law", [L2Laplace, Laplace])
def test_a_release_cannot_promise_more_than_its_noise_gives(law):
    moved = Sensitivity.of_row(2, 1000, 5).times(2)
    enough = Fraction(moved.l2 if law is L2Laplace else moved.l1) / Fraction(0.3)
    release(law(enough, 5), PureDP(0.3))
    with pytest.raises(InputError, match="The noise of this release gives epsilon"):
        release(law(enough - Fraction(1, 10**30), 5), PureDP(0.3))
    with pytest.raises(InputError, match="The noise of this release gives epsilon"):
        release(Gaussian(Fraction(9000), 5), PureDP(0.3))
