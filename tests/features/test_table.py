"""Feature tables: what the file keeps, what an owner refuses, and a release on one from end to end."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_digits

import suffice as sf
from suffice.core.errors import InputError, SchemaError
from suffice.features import FeatureMap, FeatureTable, SpectralMap
from suffice.sources.feature import METADATA


def people(start=0, stop=1400):
    X, _ = load_digits(return_X_y=True)
    image = pa.FixedSizeListArray.from_arrays(pa.array(X[start:stop].ravel() / 16), 64)
    return pa.table({"id": np.arange(start, stop), "image": image})


def mixed(count=300):
    rng = np.random.default_rng(0)
    kinds = np.array(["a", "b", None], dtype=object)[rng.integers(0, 3, count)]
    return pa.table(
        {"id": np.arange(count), "age": rng.normal(40, 9, count), "kind": pa.array(kinds, pa.string())}
    )


def small(**changes):
    parts = {
        "key": "id",
        "keys": pa.array([1, 2, 3]),
        "names": ("a0", "a1"),
        "values": np.arange(6.0).reshape(3, 2),
        "smoothness": (0.9, None),
        "provenance": "by hand",
    }
    return FeatureTable(**(parts | changes))


def test_a_table_comes_back_from_its_file(tmp_path):
    table = small()
    back = FeatureTable.read(table.write(tmp_path / "t.parquet"))
    assert back.keys.equals(table.keys)
    assert np.array_equal(back.values, table.values)
    assert (back.names, back.smoothness, back.provenance) == (table.names, table.smoothness, "by hand")
    assert back.fingerprint == table.fingerprint


def test_the_fingerprint_knows_the_rows_and_not_their_order():
    turned = small(keys=pa.array([3, 2, 1]), values=np.arange(6.0).reshape(3, 2)[::-1])
    swapped = small(keys=pa.array([3, 2, 1]))
    assert turned.fingerprint == small().fingerprint
    assert len({small().fingerprint, swapped.fingerprint, small(provenance="else").fingerprint}) == 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"keys": pa.array([1, 1, 3])}, "second time"),
        ({"keys": pa.array([1.0, 2.0, 3.0])}, "whole numbers"),
        ({"values": np.array([[0, 1], [np.nan, 1], [0, 1]])}, "row 1"),
        ({"provenance": " "}, "made of"),
        ({"names": ("a0", "a0")}, "name of its own"),
        ({"smoothness": (None,)}, "smoothness"),
    ],
)
def test_a_table_that_cannot_be_joined_or_trusted_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        small(**change)


def rewritten(path, table, metadata):
    pq.write_table(table.replace_schema_metadata(metadata), path)
    return path


def test_an_owner_refuses_a_file_without_provenance_a_changed_one_and_another_than_agreed(tmp_path):
    path = small().write(tmp_path / "t.parquet")
    stored = pq.read_table(path)
    passport = stored.schema.metadata
    with pytest.raises(InputError, match="does not say"):
        sf.Features(rewritten(tmp_path / "bare.parquet", stored, None))
    shifted = stored.set_column(1, "a0", pa.array([0.0, 2.0, 5.0], pa.float32()))
    with pytest.raises(InputError, match="changed after"):
        sf.Features(rewritten(tmp_path / "shifted.parquet", shifted, passport))
    wide = stored.set_column(1, "a0", stored.column("a0").cast(pa.float64()))
    with pytest.raises(SchemaError, match="single-precision"):
        sf.Features(rewritten(tmp_path / "wide.parquet", wide, passport))
    hollow = stored.set_column(1, "a0", pa.array([0.0, np.inf, 4.0], pa.float32()))
    with pytest.raises(SchemaError, match="row 1"):
        sf.Features(rewritten(tmp_path / "hollow.parquet", hollow, passport))
    with pytest.raises(InputError, match="agreed on"):
        sf.Features(path, fingerprint="0" * 64)
    assert METADATA in passport


def test_families_of_mixed_columns_serve_fitted_and_new_rows_alike():
    rows = mixed()
    maps = ("columns", "pca", "fourier", "nystroem", "splines", "kmeans", "spectral")
    learned = FeatureMap(maps).fit(rows, key="id")
    table = learned.table(rows, key="id")
    assert set(table.families) == set(maps)
    some = learned.table(rows.slice(10, 5), key="id")
    exact = [name != "nystroem" for name in table.families]
    assert np.allclose(some.values, table.values[10:15], atol=0.02)
    assert np.allclose(some.values[:, exact], table.values[10:15][:, exact], atol=1e-5)
    odd = pa.table({"id": [1], "age": pa.array([None], pa.float64()), "kind": ["unheard of"]})
    assert np.isfinite(learned.table(odd, key="id").values).all()
    assert "without labels" in table.provenance


def test_a_few_values_far_out_neither_hide_the_others_nor_leave_the_grid():
    ages = np.random.default_rng(0).normal(40, 9, 400)
    ages[:2] = 1e7
    rows = pa.table({"id": np.arange(400), "age": ages, "height": ages[::-1] + 3.0})
    table = FeatureMap(("columns",)).fit(rows, key="id").table(rows, key="id")
    place = table.names.index("columns0")
    assert 0.3 < table.values[2:, place].std() < 3.0
    recipe = table.recipe(sf.Gaussian(epsilon=1.0, delta=1e-5))
    assert np.isfinite(recipe.apply(table.arrow())).all()


def test_the_same_seed_gives_the_same_table_in_any_order_of_rows():
    rows = mixed()
    order = np.random.default_rng(1).permutation(rows.num_rows)
    one = FeatureMap(("spectral",)).fit(rows, key="id").table(rows, key="id")
    turned = rows.take(order)
    two = FeatureMap(("spectral",)).fit(turned, key="id").table(turned, key="id")
    assert np.array_equal(one.values[order], two.values)


def test_tables_stand_beside_each_other_by_key():
    one, two = small(), small(names=("b0", "b1"), keys=pa.array([3, 1, 2]))
    both = one.beside(two)
    assert both.names == ("a0", "a1", "b0", "b1")
    assert np.array_equal(both.values[0, 2:], two.values[1])
    with pytest.raises(InputError, match="different rows"):
        one.beside(small(names=("b0", "b1"), keys=pa.array([3, 1, 9])))


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flow")
    _, y = load_digits(return_X_y=True)
    learned = FeatureMap({"spectral": SpectralMap(60)}).fit(people(), key="id")
    table = learned.table(people(), key="id")
    path = table.write(folder / "t.parquet")
    mechanism = sf.Gaussian(epsilon=3.0, delta=1e-5)
    labels = pa.table({"id": np.arange(1400)[::-1], "digit": y[:1400][::-1]})
    ledger = sf.Ledger.create(
        str(folder / "o.db"), dataset="digits", unit=sf.LabelOf("digit"), budget=sf.ApproxDP(9.0, 1e-3)
    )
    owner = sf.Owner(sf.Join(labels, sf.Features(path), on="id"), ledger=ledger)
    statistic = sf.MeanOperator(
        table.recipe(mechanism, classes=10),
        "digit",
        bound=sf.Bound(2, sf.Radius.public(0.9)),
        classes=range(10),
    )
    return learned, table, owner.release(statistic, mechanism)


def test_a_release_on_a_feature_table_says_what_it_rests_on(released):
    _, table, release = released
    assert any(table.fingerprint[:16] in text and "SpectralMap" in text for text in release.guarantee.assumes)


def test_one_release_learns_ten_classes_of_rows_that_were_never_in_the_graph(released):
    learned, table, release = released
    _, y = load_digits(return_X_y=True)
    model = sf.learners.MeanOperatorClassifier(loss="square").fit(table.arrow(), release)
    fresh = learned.table(people(1400, 1797), key="id")
    assert (model.predict(fresh.arrow()) == y[1400:]).mean() > 0.8
    assert "likely strength" in model.strength_
