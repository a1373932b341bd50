from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFE
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    train_test_split,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import suffice as sf
from suffice.core.errors import InputError, ReleaseMismatch, SchemaError, UnsupportedPair, UtilityWarning
from suffice.core.moments import Isotropic
from suffice.learners import MeanOperatorClassifier

SENTENCE = "A release is one aggregate of all rows"
TIGHT = sf.Bound(2, sf.Radius.public(0.8))
NUMBERS = ["age", "visits"]


def people(count=400, seed=5):
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": draw.normal(45.0, 12.0, count),
            "visits": draw.standard_t(4, count) * 3.0,
            "region": draw.choice(["east", "north", "south"], count),
        }
    )
    frame.loc[::17, "age"] = np.nan
    margins = (frame["age"].fillna(45.0) - 45.0) / 6.0 + frame["visits"] / 3.0 + (frame["region"] == "north")
    return frame, np.where(draw.random(count) < 1.0 / (1.0 + np.exp(-margins)), "yes", "no")


def mixed(frame):
    return sf.Recipe.learn(sf.Table(frame), columns=[*NUMBERS, "region"], missing="indicate")


def released(folder, frame, y, features, mechanism=None, **settings):
    """A release of these rows and labels: exact unless a mechanism is given."""
    ledger = sf.Ledger.create(
        folder / f"{len(list(folder.iterdir()))}.db",
        dataset="people",
        unit=sf.LabelOf("label"),
        budget=sf.ApproxDP(1000.0, 1e-3),
        allow_unprotected=True,
    )
    settings = {"bound": TIGHT, "classes": ("no", "yes")} | settings
    statistic = sf.MeanOperator(features, "label", **settings)
    owner = sf.Owner(sf.Table(frame.assign(label=y)), ledger=ledger)
    return owner.release(
        statistic, mechanism or sf.Exact(), unprotected="for a test" if mechanism is None else None
    )


@pytest.fixture(scope="module")
def rows():
    return people()


@pytest.fixture(scope="module")
def exact(rows, tmp_path_factory):
    return released(tmp_path_factory.mktemp("exact"), *rows, mixed(rows[0]))


@pytest.fixture(scope="module")
def noisy(rows, tmp_path_factory):
    return released(tmp_path_factory.mktemp("noisy"), *rows, mixed(rows[0]), sf.L2Laplace(epsilon=2.0))


# ------------------------------------------------------------ labels and a noiseless release


@pytest.mark.parametrize("loss", ["logistic", "square", "matsushita", "modified_huber", "unhinged"])
@pytest.mark.parametrize("alpha", ["noise", 0.01])
def test_labels_and_a_noiseless_release_give_the_same_fit(rows, exact, loss, alpha):
    frame, y = rows
    one = MeanOperatorClassifier(loss, alpha=alpha).fit(frame, exact)
    two = MeanOperatorClassifier(loss, alpha=alpha, recipe=exact.recipe, bound=TIGHT).fit(frame, y)
    assert np.allclose(one.theta_, two.theta_, rtol=1e-7, atol=1e-9)
    assert one.alpha_ == pytest.approx(two.alpha_)
    assert np.allclose(one.coef_covariance_, two.coef_covariance_, equal_nan=True)


@pytest.mark.parametrize("norm", [1, 2, "inf"])
def test_clipping_is_active_and_the_same_in_every_norm(tmp_path, rows, norm):
    frame, y = rows
    bound = sf.Bound(norm, sf.Radius.public(0.6))
    release = released(tmp_path, frame, y, mixed(frame), bound=bound)
    one = MeanOperatorClassifier(alpha=0.01).fit(frame, release)
    two = MeanOperatorClassifier(alpha=0.01, recipe=release.recipe, bound=bound).fit(frame, y)
    loose = MeanOperatorClassifier(alpha=0.01, recipe=release.recipe).fit(frame, y)
    assert np.allclose(one.theta_, two.theta_, rtol=1e-7, atol=1e-9)
    assert np.abs(one.theta_ - loose.theta_).max() > 1e-2


def test_names_of_columns_alone_give_the_fit_of_plain_numbers_to_the_precision_of_the_grid(tmp_path, rows):
    frame = rows[0][["visits"]].assign(half=rows[0]["visits"].abs())
    release = released(tmp_path, frame, rows[1], ["visits", "half"], bound=sf.Bound(2, sf.Radius.public()))
    one = MeanOperatorClassifier(alpha=0.01).fit(frame, release)
    two = MeanOperatorClassifier(alpha=0.01).fit(frame, rows[1])
    assert np.allclose(one.coef_, two.coef_, atol=1e-4)
    assert np.allclose(one.intercept_, two.intercept_, atol=1e-4)


def test_a_release_without_intercept_is_the_fit_without_one(tmp_path, rows):
    frame = rows[0][["visits"]] / 10.0
    release = released(tmp_path, frame, rows[1], ["visits"], intercept=False, bound=sf.Bound(2, 10.0))
    one = MeanOperatorClassifier(alpha=0.01, fit_intercept=False).fit(frame, release)
    two = MeanOperatorClassifier(alpha=0.01, fit_intercept=False).fit(frame, rows[1])
    assert np.allclose(one.theta_, two.theta_, atol=1e-4)
    assert one.intercept_ == [0.0]


def test_the_guarantee_of_a_release_becomes_that_of_the_model(rows, noisy):
    model = MeanOperatorClassifier().fit(rows[0], noisy)
    assert model.privacy_ == noisy.guarantee
    assert "learned from the labels" in str(MeanOperatorClassifier().fit([[0.0], [1.0]], [0, 1]).privacy_)


# ------------------------------------------------------------ which rows


def test_the_same_rows_in_another_order_are_fine(rows, noisy):
    shuffled = rows[0].sample(frac=1.0, random_state=1)
    one = MeanOperatorClassifier().fit(rows[0], noisy)
    two = MeanOperatorClassifier().fit(shuffled, noisy)
    assert np.allclose(one.theta_, two.theta_, rtol=1e-6)


@pytest.mark.parametrize("change", ["fewer", "one value", "one row twice"])
def test_other_rows_are_refused(rows, noisy, change):
    frame = rows[0].copy()
    if change == "fewer":
        frame = frame.iloc[1:]
    elif change == "one value":
        frame.loc[3, "visits"] += 0.01
    else:
        frame.iloc[7] = frame.iloc[8]
    with pytest.raises(ReleaseMismatch, match="rows='sample'"):
        MeanOperatorClassifier().fit(frame, noisy)


def test_a_scaler_in_front_is_refused_with_the_reason(tmp_path, rows):
    frame = rows[0][["visits"]].assign(half=rows[0]["visits"].abs())
    release = released(tmp_path, frame, rows[1], ["visits", "half"])
    with pytest.raises(ReleaseMismatch, match="the release brings its own recipe, so no scaler"):
        make_pipeline(StandardScaler(), MeanOperatorClassifier()).fit(frame, release)


def test_a_pipeline_that_changes_no_row_learns_from_a_release(rows, noisy):
    piped = make_pipeline("passthrough", MeanOperatorClassifier()).fit(rows[0], noisy)
    alone = MeanOperatorClassifier().fit(rows[0], noisy)
    assert np.array_equal(piped.predict_proba(rows[0]), alone.predict_proba(rows[0]))


def test_another_sample_of_the_population_must_be_called_one_and_widens_the_intervals(rows, exact):
    fresh, _ = people(700, seed=6)
    with pytest.raises(ReleaseMismatch, match="400 rows, and X has 700"):
        MeanOperatorClassifier().fit(fresh, exact)
    sample = MeanOperatorClassifier(alpha=1e-4).fit(fresh, exact, rows="sample")
    same = MeanOperatorClassifier(alpha=1e-4).fit(rows[0], exact)
    assert (sample.predict(rows[0]) == same.predict(rows[0])).mean() > 0.9
    assert np.diag(sample.coef_covariance_)[0] > np.diag(same.coef_covariance_)[0]


def test_rows_are_the_same_or_a_sample(rows, noisy):
    with pytest.raises(InputError, match="'same' or 'sample', and got 'other'"):
        MeanOperatorClassifier().fit(rows[0], noisy, rows="other")


# ------------------------------------------------------------ a release is no column of labels


@pytest.mark.parametrize(
    "use",
    [
        lambda X, r: GridSearchCV(MeanOperatorClassifier(), {"alpha": [0.1, 1.0]}).fit(X, r),
        lambda X, r: RandomizedSearchCV(MeanOperatorClassifier(), {"alpha": [0.1]}, n_iter=1).fit(X, r),
        lambda X, r: cross_val_score(MeanOperatorClassifier(), X, r),
        lambda X, r: cross_validate(MeanOperatorClassifier(), X, r),
        lambda X, r: cross_val_predict(MeanOperatorClassifier(), X, r),
        lambda X, r: learning_curve(MeanOperatorClassifier(), X, r),
        train_test_split,
        lambda X, r: list(KFold().split(X, r)),
        lambda X, r: list(StratifiedKFold().split(X, r)),
        lambda X, r: CalibratedClassifierCV(MeanOperatorClassifier()).fit(X, r),
        lambda X, r: BaggingClassifier(MeanOperatorClassifier()).fit(X, r),
        lambda X, r: VotingClassifier([("one", MeanOperatorClassifier())]).fit(X, r),
        lambda X, r: OneVsRestClassifier(MeanOperatorClassifier()).fit(X, r),
        lambda X, r: RFE(MeanOperatorClassifier()).fit(X, r),
    ],
)
def test_whoever_would_cut_a_release_shows_our_sentence(rows, noisy, use):
    with pytest.raises(TypeError, match=SENTENCE):
        use(np.column_stack([rows[0]["visits"], rows[0]["visits"]]), noisy)


def test_an_intercept_that_the_release_has_cannot_be_left_out(rows, noisy):
    with pytest.raises(InputError, match="fit_intercept=False contradicts it"):
        MeanOperatorClassifier(fit_intercept=False).fit(rows[0], noisy)


@pytest.mark.parametrize("where", ["fit", "init"])
def test_weights_beside_a_release_are_refused_with_the_reason(rows, noisy, where):
    model = MeanOperatorClassifier(class_weight="balanced" if where == "init" else None)
    weights = np.ones(len(rows[0])) if where == "fit" else None
    with pytest.raises(InputError, match="one sum over all rows"):
        model.fit(rows[0], noisy, sample_weight=weights)


def test_a_release_of_another_kind_is_refused(rows, noisy):
    other = replace(noisy, kind="Labels")
    with pytest.raises(UnsupportedPair, match="and got Labels"):
        MeanOperatorClassifier().fit(rows[0], other)


# ------------------------------------------------------------ what X may be


def test_frames_tables_and_sources_give_the_same_model(tmp_path, rows, noisy):
    frame = rows[0]
    frame.to_parquet(tmp_path / "rows.parquet")
    given = [
        frame[["region", "visits", "age"]],
        pl.from_pandas(frame),
        pl.from_pandas(frame).lazy(),
        pa.Table.from_pandas(frame),
        sf.Table(frame),
        sf.Parquet(tmp_path / "rows.parquet"),
        {name: frame[name].to_numpy() for name in frame},
    ]
    expected = MeanOperatorClassifier(alpha=0.01).fit(frame, noisy).predict_proba(frame)
    for X in given:
        model = MeanOperatorClassifier(alpha=0.01).fit(X, noisy)
        assert np.allclose(model.predict_proba(X), expected, rtol=1e-9)


def test_an_array_is_read_in_the_order_of_the_recipe(tmp_path, rows):
    frame = rows[0][["visits"]].assign(half=rows[0]["visits"].abs())
    release = released(tmp_path, frame, rows[1], ["half", "visits"])
    named = MeanOperatorClassifier(alpha=0.01).fit(frame, release)
    bare = MeanOperatorClassifier(alpha=0.01).fit(frame[["half", "visits"]].to_numpy(), release)
    assert np.array_equal(named.theta_, bare.theta_)


def test_columns_are_found_by_name_in_whatever_order_they_come(rows, noisy):
    model = MeanOperatorClassifier().fit(rows[0], noisy)
    turned = rows[0][["region", "visits", "age"]].assign(spare=1)
    assert np.array_equal(model.predict_proba(turned), model.predict_proba(rows[0]))


def test_a_column_that_is_missing_is_named(rows, noisy):
    with pytest.raises(SchemaError, match="There is no column 'region'"):
        MeanOperatorClassifier().fit(rows[0][NUMBERS], noisy)
    with pytest.raises(SchemaError, match="There is no column 'region'"):
        MeanOperatorClassifier().fit(rows[0], noisy).predict(rows[0][NUMBERS])


@pytest.mark.parametrize("X", [3, "rows.parquet", object()])
def test_what_holds_no_rows_is_refused(noisy, X):
    with pytest.raises(InputError):
        MeanOperatorClassifier().fit(X, noisy)


# ------------------------------------------------------------ copies


def test_clones_copies_and_pickles_do_what_the_original_does(rows, noisy):
    model = MeanOperatorClassifier("square", alpha=0.05).fit(rows[0], noisy)
    assert clone(model).get_params() == model.get_params()
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(twin.predict_proba(rows[0]), model.predict_proba(rows[0]))
        assert twin.interval().equals(model.interval())
    again = clone(model).fit(rows[0], pickle.loads(pickle.dumps(noisy)))
    assert np.array_equal(again.theta_, model.theta_)


# ------------------------------------------------------------ moments in y's place


def moments(X, mean, variance, classes=(0, 1), count=None):
    count = len(X) if count is None else count
    names = tuple(f"x{at}" for at in range(X.shape[1]))
    return sf.Moments(mean, Isotropic(variance, X.shape[1]), count, names, classes)


def test_moments_of_two_classes_stand_for_labels():
    draw = np.random.default_rng(0)
    X = np.column_stack([draw.normal(size=(300, 3)), np.ones(300)]) / 2.0
    y = (X[:, 0] + 0.3 * draw.normal(size=300) > 0).astype(int)
    given = moments(X, X.T @ (2 * y - 1) / 300, 0.0, classes=("no", "yes"))
    one = MeanOperatorClassifier(alpha=0.01).fit(X, given)
    two = MeanOperatorClassifier(alpha=0.01).fit(X[:, :3] * 2.0, y)
    assert np.allclose(one.theta_, two.theta_, atol=1e-7)
    assert set(one.predict(X)) == {"no", "yes"}
    assert one.privacy_ is None


def test_moments_of_other_vectors_are_refused():
    X = np.ones((5, 3))
    with pytest.raises(ReleaseMismatch, match="4 coordinates"):
        MeanOperatorClassifier().fit(X, moments(np.ones((5, 4)), np.zeros(4), 0.1))


# ------------------------------------------------------------ no penalty, and absolute values


@pytest.mark.parametrize("loss", ["logistic", "square", "matsushita"])
def test_without_a_penalty_the_fit_is_the_optimum_where_there_is_one(rows, exact, loss):
    model = MeanOperatorClassifier(loss, alpha=0.0).fit(rows[0], exact)
    assert model.inside_
    assert model.alpha_ == 0.0
    assert np.isfinite(model.theta_).all()


def test_an_unpenalised_fit_to_what_no_labels_could_give_warns(tmp_path, rows):
    release = released(tmp_path, *rows, mixed(rows[0]), sf.L2Laplace(epsilon=0.02))
    with pytest.warns(UtilityWarning, match="no minimiser"):
        model = MeanOperatorClassifier(alpha=0.0).fit(rows[0], release)
    assert not model.inside_
    assert np.isfinite(model.predict_proba(rows[0])).all()


def test_an_unpenalised_fit_to_labels_that_a_plane_separates_warns():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    with pytest.warns(UtilityWarning, match="no minimiser"):
        MeanOperatorClassifier(alpha=0.0).fit(X, [0, 0, 1, 1])
    model = MeanOperatorClassifier("square", alpha=0.0).fit(X, [0, 0, 1, 1])
    assert np.isfinite(model.theta_).all()


def test_a_fit_that_ran_out_of_iterations_warns(rows, noisy):
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        MeanOperatorClassifier(alpha=1e-6, max_iter=1).fit(rows[0], noisy)


def test_a_loss_without_curvature_needs_a_penalty(rows, exact):
    with pytest.raises(InputError, match="needs a squared penalty"):
        MeanOperatorClassifier("unhinged", alpha=0.0).fit(rows[0], exact)
    with pytest.raises(InputError, match="needs a squared penalty"):
        MeanOperatorClassifier("unhinged", alpha=0.1, l1_ratio=1.0).fit(rows[0], exact)


def test_a_strong_penalty_on_absolute_values_leaves_coordinates_out(rows, noisy):
    ridge = MeanOperatorClassifier(alpha=0.02).fit(rows[0], noisy)
    lasso = MeanOperatorClassifier(alpha=0.02, l1_ratio=1.0).fit(rows[0], noisy)
    between = MeanOperatorClassifier(alpha=0.02, l1_ratio=0.5).fit(rows[0], noisy)
    assert (ridge.theta_ != 0).all()
    assert 0 < (lasso.theta_ != 0).sum() <= (between.theta_ != 0).sum() < len(lasso.theta_)
    nothing = MeanOperatorClassifier(alpha=50.0, l1_ratio=1.0).fit(rows[0], noisy)
    assert (nothing.theta_ == 0).all()


@pytest.mark.parametrize("alpha", [-1.0, np.inf, np.nan, "strong", None])
def test_a_strength_that_is_none_is_refused(rows, noisy, alpha):
    with pytest.raises(InputError, match="alpha"):
        MeanOperatorClassifier(alpha=alpha).fit(rows[0], noisy)
