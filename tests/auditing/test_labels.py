from __future__ import annotations

import numpy as np
import pytest

import suffice as sf
from suffice.auditing import recover_labels
from suffice.core.errors import InputError


def test_the_exact_statistic_of_36_generic_rows_gives_every_label_back():
    draw = np.random.default_rng(36)
    rows, labels = draw.standard_normal((36, 2)), draw.choice([-1, 1], 36)
    for total in (rows.T @ labels, 36 * (rows.T @ labels / 36)):
        found = recover_labels(rows, total)
        assert found.shape == (1, 36)
        assert (found[0] == labels).all()


@pytest.mark.parametrize("count", [2, 3, 7, 12])
def test_exactly_the_labels_that_fit_are_found(count):
    """Small whole numbers, so that several label vectors fit; compared with trying all of them."""
    draw = np.random.default_rng(count)
    rows, labels = draw.integers(-3, 4, (count, 2)), draw.choice([-1, 1], count)
    every = 2 * (np.arange(2**count)[:, None] >> np.arange(count) & 1) - 1
    fitting = {tuple(one) for one in every if (one @ rows == labels @ rows).all()}
    found = recover_labels(rows, labels @ rows)
    assert {tuple(one) for one in found.tolist()} == fitting
    assert len(found) == len(fitting)


def test_no_more_are_listed_than_were_asked_for():
    assert len(recover_labels(np.ones((10, 1)), [0.0], most=5)) == 5
    assert len(recover_labels(np.ones((10, 1)), [0.0])) == 252


def test_a_total_that_no_labels_give_is_not_explained():
    draw = np.random.default_rng(1)
    rows = draw.standard_normal((20, 2))
    assert recover_labels(rows, rows.sum(axis=0) + 0.1).shape == (0, 20)


def test_a_release_without_noise_gives_its_labels_and_one_with_noise_does_not(tmp_path):
    draw = np.random.default_rng(2)
    people = {"age": draw.normal(size=30), "visits": draw.normal(size=30), "bought": draw.random(30) < 0.5}
    source = sf.Table(_table(people), name="people")
    ledger = sf.Ledger.create(
        tmp_path / "owner.db",
        dataset="people",
        unit=sf.LabelOf("bought"),
        budget=sf.PureDP(5.0),
        allow_unprotected=True,
    )
    owner = sf.Owner(source, ledger=ledger)
    mu = sf.MeanOperator(["age", "visits"], "bought", bound=sf.Bound(2, 4.0))
    exact = owner.release(mu, sf.Exact(), unprotected="to show that it gives all labels away")
    noisy = owner.release(mu, sf.L2Laplace(epsilon=5.0))
    grid = exact.recipe.apply(_table(people)) * 2**exact.grid.bits
    labels = np.where(people["bought"], 1, -1)
    assert (recover_labels(grid, exact.values) == labels).all()
    assert len(recover_labels(grid, noisy.values)) == 0


def _table(columns):
    import pyarrow as pa

    return pa.table(columns)


@pytest.mark.parametrize(
    ("rows", "total", "words"),
    [
        (np.ones(4), [1.0], "shapes"),
        (np.ones((4, 2)), [1.0], "shapes"),
        (np.ones((1, 1)), [1.0], "2 to 44 rows"),
        (np.ones((45, 1)), [1.0], "2 to 44 rows"),
    ],
)
def test_what_cannot_be_attacked_is_refused_in_words(rows, total, words):
    with pytest.raises(InputError, match=words):
        recover_labels(rows, total)
