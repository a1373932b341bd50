"""Several classes: from the statistic to coefficients and their intervals."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import suffice as sf
from suffice.core.bounds import Sensitivity
from suffice.core.errors import UtilityWarning
from suffice.core.moments import Block, Dense, Isotropic
from suffice.learners import MeanOperatorClassifier
from suffice.learners.class_belief import believe
from suffice.learners.evidence import from_moments
from suffice.learners.strength import believe as believe_two
from suffice.maths.softmax import minimise_softmax, softmax
from suffice.mechanisms.choice import predicted_error
from suffice.mechanisms.draw import noise
from suffice.mechanisms.sampler import rounded_l2_laplace

GRID = 2.0**20


def _settled(frame):
    recipe = sf.Recipe((sf.Numeric("a"), sf.Numeric("b")), intercept=False)
    mu = sf.MeanOperator(recipe, "y", bound=sf.Bound(2, 10.0), classes=range(3))
    return mu.resolve(sf.Table(frame), sf.LabelOf("y"))


def test_000_multiclass_one_label_moves_the_class_means_by_its_row_twice():
    """x = (3, 4) among ten rows: 1.4 in the 1-norm, .7071068 in the 2-norm, .4 in the max norm."""
    frame = pd.DataFrame({"a": [3.0] + [0.0] * 9, "b": [4.0] + [0.0] * 9, "y": [0] * 10})
    settled = _settled(frame)
    public = sf.fold(settled.public(), sf.Table(frame))
    row, unit = settled.sensitivity(sf.LabelOf("y"), public), GRID / math.sqrt(2)  # the common 1/sqrt(d)
    assert row.l1 / unit / 10 == pytest.approx(1.4, abs=1e-6)
    assert float(row.l2) / unit / 10 == pytest.approx(0.7071067811865476, abs=1e-6)
    assert row.linf / unit / 10 == pytest.approx(0.4, abs=1e-6)
    moved = frame.assign(y=[2] + [0] * 9)
    one, two = (settled.finalise(sf.fold(settled, sf.Table(rows))) for rows in (frame, moved))
    assert np.abs(two - one).sum() == row.l1
    assert np.linalg.norm(two - one) == pytest.approx(float(row.l2), rel=1e-6)


def _rows(seed, m, d):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.standard_normal((m, d - 1)), np.ones(m)]) / np.sqrt(d), rng


def _draw(rng, X, truth):
    chance = softmax(X @ truth.T)[0]
    return (chance.cumsum(axis=1) < rng.random(len(X))[:, None]).sum(axis=1)


def _means(X, y, kinds):
    return (y == np.arange(kinds)[:, None]).astype(float) @ X / len(X)


def _contrast(rng, kinds, d, deviation):
    drawn = rng.standard_normal((kinds, d)) * deviation
    return drawn - drawn.mean(axis=0)


def _moments(means, deviation, count, kinds=None):
    kinds, d = means.shape if kinds is None else (kinds, means.shape[-1])
    classes = deviation**2 * (np.eye(kinds) - 1.0 / kinds)
    return sf.Moments(means, Block(classes, d), count, tuple(f"x{j}" for j in range(d)), tuple(range(kinds)))


def test_the_last_block_is_what_the_others_leave_of_the_public_sum(tmp_path):
    X, y = load_wine(return_X_y=True)
    frame = pd.DataFrame(X[:, :4], columns=list("abcd")).assign(y=y)
    recipe = sf.Recipe.learn(sf.Table(frame), columns=list("abcd"))
    mu = sf.MeanOperator(recipe, "y", bound=sf.Bound(2, sf.Radius.public(0.9)), classes=range(3))
    ledger = sf.Ledger.create(tmp_path / "l.db", dataset="w", unit=sf.LabelOf("y"), budget=sf.PureDP(2.0))
    release = sf.Owner(sf.Table(frame), ledger=ledger).release(mu, sf.L2Laplace(epsilon=1.0))
    assert release.values.shape == (2, 5)
    model = MeanOperatorClassifier(alpha=0.01).fit(frame[list("abcd")], release)
    assert model.theta_.shape == (3, 5)
    assert model.coef_.shape == (3, 4)
    assert np.allclose(model.theta_.sum(axis=0), 0.0, atol=1e-6)
    assert len(model.predict_proba(frame[list("abcd")])) == len(frame)


@pytest.mark.parametrize("kinds", [3, 10])
def test_noise_on_all_blocks_keeps_one_share_less_once_the_public_sum_is_used(kinds):
    sensitivity, d = Sensitivity(2 * 700, 500, 300), 6
    for mechanism in (sf.Laplace(epsilon=1.0), sf.Cube(epsilon=1.0)):
        law = mechanism.law(sensitivity, d, kinds)
        drawn = np.array([noise(law) for _ in range(400)], dtype=float).reshape(400, kinds, d)
        kept = np.square(drawn - drawn.mean(axis=1, keepdims=True)).sum(axis=(1, 2))
        spread = 4 * kept.std() / np.sqrt(len(kept))
        assert kept.mean() == pytest.approx(predicted_error(law, kinds), abs=spread)


@pytest.mark.parametrize("kinds", [2, 3, 10])
def test_contrast_noise_is_smaller_than_noise_on_all_blocks_by_about_one_share(kinds):
    """Exactly (Kd + 1)/((K - 1)d + 1), both being private at the same scale."""
    d, scale, draws = 5, 1000, 1500
    n, every = (kinds - 1) * d, kinds * d
    blocks = np.array(
        [rounded_l2_laplace(scale, d, classes=kinds) for _ in range(draws)], dtype=float
    ).reshape(draws, kinds - 1, d)
    contrast = np.square(blocks).sum(axis=(1, 2)) + np.square(blocks.sum(axis=1)).sum(axis=1)
    whole = np.array([rounded_l2_laplace(scale, every) for _ in range(draws)], dtype=float)
    whole = whole.reshape(draws, kinds, d)
    moved = np.square(whole - whole.mean(axis=1, keepdims=True)).sum(axis=(1, 2))
    ratio = moved.mean() / contrast.mean()
    error = (
        4
        * ratio
        * np.sqrt((moved.std() / moved.mean()) ** 2 / draws + (contrast.std() / contrast.mean()) ** 2 / draws)
    )
    assert ratio == pytest.approx((every + 1) / (n + 1), abs=error)
    assert contrast.mean() == pytest.approx(n * (n + 1) * scale**2, rel=0.1)


def test_two_blocks_in_contrast_carry_the_noise_of_signed_labels():
    d, radius = 3, 1000
    pair = np.array([rounded_l2_laplace(radius, d, classes=2) for _ in range(2000)], dtype=float)
    signed = np.array([rounded_l2_laplace(math.isqrt(2 * radius**2), d) for _ in range(2000)], dtype=float)
    lengths = np.linalg.norm(2 * pair, axis=1), np.linalg.norm(signed, axis=1)
    assert ks_2samp(*lengths).pvalue > 1e-4
    assert ks_2samp(2 * pair[:, 0], signed[:, 0]).pvalue > 1e-4


def test_from_six_classes_on_laplace_noise_beats_round_noise_where_rows_are_even():
    d, radius = 20, 10_000
    flat = int(radius * np.sqrt(d))
    sensitivity = Sensitivity(2 * flat, math.isqrt(2 * radius**2) + 1, radius)
    for kinds, better in ((4, "L2Laplace"), (8, "Laplace")):
        laws = [mechanism(epsilon=1.0).law(sensitivity, d, kinds) for mechanism in (sf.Laplace, sf.L2Laplace)]
        laplace, contrast = (predicted_error(law, kinds) for law in laws)
        assert ("Laplace" if laplace < contrast else "L2Laplace") == better
        assert laplace / contrast == pytest.approx(4 * d / ((kinds - 1) * d + 1), rel=1e-2)


def test_two_classes_given_by_class_are_fitted_as_signed_labels():
    X, rng = _rows(0, 400, 4)
    y = _draw(rng, X, np.array([[0.0] * 4, [4.0, -2.0, 1.0, 0.5]]))
    wiggle = rng.standard_normal(4) * 0.01
    means = _means(X, y, 2) + np.stack([-wiggle, wiggle])
    names = ("a", "b", "c", "one")
    by_class = sf.Moments(means, Block(np.array([[1e-4, -1e-4], [-1e-4, 1e-4]]), 4), 400, names, (0, 1))
    signed = sf.Moments(means[1] - means[0], Isotropic(4e-4, 4), 400, names, (0, 1))
    for settings in ({}, {"alpha": 0.01}, {"loss": "square"}):
        one, two = (MeanOperatorClassifier(**settings).fit(X, given) for given in (by_class, signed))
        assert np.array_equal(one.theta_, two.theta_)
        assert np.array_equal(one.coef_covariance_, two.coef_covariance_, equal_nan=True)


@pytest.mark.parametrize("variance", [1e-4, 1e-2])
def test_the_belief_about_two_classes_is_that_of_signed_labels(variance):
    X, rng = _rows(1, 500, 4)
    y = _draw(rng, X, np.array([[0.0] * 4, [6.0, -3.0, 2.0, 0.5]]))
    signed = (2.0 * y - 1) @ X / 500 + rng.standard_normal(4) * np.sqrt(variance)
    label, signal = believe_two(X, signed, Isotropic(variance, 4), count=500)
    pair = believe(
        X, np.stack([X.mean(axis=0) - signed, X.mean(axis=0) + signed]) / 2, variance / 2, count=500
    )
    assert pair.signal == pytest.approx(signal, rel=0.1)
    assert np.allclose(pair.expected[1], (1 + label) / 2 @ X / 500, atol=0.01)


@pytest.mark.parametrize("deviation", [0.03, 0.1])
def test_the_posterior_is_nearer_to_the_expected_class_means_than_the_release(deviation):
    before, after = [], []
    for seed in range(6):
        X, rng = _rows(seed, 600, 6)
        theta = 5 * rng.standard_normal((4, 6))
        truth = softmax(X @ theta.T)[0].T @ X / 600
        noisy = _means(X, _draw(rng, X, theta), 4) + _contrast(rng, 4, 6, deviation)
        found = believe(X, noisy, deviation**2, count=600)
        assert np.allclose(found.posterior.sum(axis=0), X.mean(axis=0))
        before.append(np.linalg.norm(noisy - truth))
        after.append(np.linalg.norm(found.posterior - truth))
    assert np.mean(after) < 0.95 * np.mean(before)


def test_rows_not_looked_at_closely_count_too():
    X, rng = _rows(2, 8000, 5)
    truth = _means(X, _draw(rng, X, 5 * rng.standard_normal((3, 5))), 3)
    noisy = truth + _contrast(rng, 3, 5, 1e-4)
    found = believe(X, noisy, 1e-8, count=8000)
    assert len(found.seen) == 1000
    assert np.linalg.norm(found.posterior - truth) < 0.02 * np.linalg.norm(truth - X.mean(axis=0) / 3)


def _cellar(seed):
    columns, y = load_wine(return_X_y=True)
    A, B, a, b = train_test_split(columns, y, test_size=0.3, stratify=y, random_state=seed)
    A, B = (
        np.column_stack([(rows - A.mean(0)) / A.std(0), np.ones(len(rows))]) / np.sqrt(14) for rows in (A, B)
    )
    norms = np.linalg.norm(A, axis=1)
    return A * np.minimum(1.0, np.quantile(norms, 0.95) / norms)[:, None], B, a, b


@pytest.mark.parametrize(("epsilon", "allowed"), [(1.0, 1.05), (5.0, 1.05), (50.0, 1.15)])
def test_the_log_loss_is_near_that_of_the_best_single_strength(epsilon, allowed):
    chosen, best, grid = [], [], np.geomspace(1e-6, 1.0, 15)
    for seed in range(6):
        A, B, a, b = _cellar(seed)
        rng, n, scale = np.random.default_rng(seed), 28, np.sqrt(2) * np.linalg.norm(A, axis=1).max()
        scale *= 1.0 / len(A) / epsilon
        wiggle = _contrast(rng, 3, 14, 1.0)
        noisy = _means(A, a, 3) + wiggle / np.linalg.norm(wiggle) * rng.gamma(n) * scale
        moments = _moments(noisy, np.sqrt(n + 1) * scale, len(A))
        fits = [MeanOperatorClassifier().fit(A, moments).theta_]
        fits += [MeanOperatorClassifier(alpha=alpha, tol=1e-6).fit(A, moments).theta_ for alpha in grid]
        losses = [-np.log(softmax(B @ theta.T)[0][np.arange(len(b)), b]).mean() for theta in fits]
        chosen.append(losses[0])
        best.append(losses[1:])
    assert np.mean(chosen) < allowed * np.mean(best, axis=0).min()


def test_without_noise_it_is_multinomial_logistic_regression():
    X, rng = _rows(3, 500, 4)
    y = _draw(rng, X, 4 * rng.standard_normal((3, 4)))
    ours = MeanOperatorClassifier(alpha=0.01, fit_intercept=False).fit(X, y)
    root = 2.0  # vectors are divided by the root of their four columns
    theirs = LogisticRegression(C=1 / (2 * 0.01 * 500 / root**-2), fit_intercept=False, tol=1e-10).fit(X, y)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-4)


REPEATS = 100


@pytest.mark.parametrize("deviation", [1e-5, 0.02])
@pytest.mark.parametrize("loss", ["logistic", "square"])
def test_intervals_cover_the_coefficients_of_every_class(loss, deviation):
    truth = np.array([[1.5, 0.0, 0.3], [-1.0, 1.0, 0.0], [-0.5, -1.0, -0.3]])
    covered, spread = [], []
    X, rng = _rows(4, 1500, 3)
    if loss == "logistic":
        target = truth - truth.mean(axis=0)
    else:
        signed = 2 * softmax(X @ truth.T)[0] - 1
        target = np.linalg.solve(X.T @ X, X.T @ signed).T
    for _ in range(REPEATS):
        noisy = _means(X, _draw(rng, X, truth), 3) + _contrast(rng, 3, 3, deviation)
        model = MeanOperatorClassifier(loss=loss, alpha=1e-4).fit(X, _moments(noisy, deviation, 1500))
        found = model.interval()
        keep = (found["name"] != "intercept").to_numpy()
        assert list(found["class"][keep]) == [0] * 3 + [1] * 3 + [2] * 3
        covered.append(((found["low"] < target_of(target)) & (target_of(target) < found["high"]))[keep])
        spread.append((found["estimate"] - target_of(target))[keep] / found["error"][keep])
    error = np.std(np.mean(covered, axis=1)) / np.sqrt(REPEATS)
    assert abs(np.mean(covered) - 0.95) < 4 * error + (0.02 if loss == "square" else 0.0)
    assert 0.85 < np.std(spread) < 1.15


def target_of(target):
    return np.column_stack([target, np.zeros(3)]).ravel()


@pytest.mark.parametrize(("released", "seen"), [(600, 2400), (1200, 1200)])
def test_intervals_from_another_sample_cover_and_would_not_without_what_it_adds(released, seen):
    truth = np.array([[2.0, 0.0, 0.8], [-1.2, 1.5, 0.0], [-0.8, -1.5, -0.8]])
    rng, inside, without = np.random.default_rng(5), [], []
    for _ in range(REPEATS):
        A, X = (np.column_stack([rng.standard_normal((m, 2)), np.ones(m)]) / 1.7 for m in (released, seen))
        noisy = _means(A, _draw(rng, A, truth), 3) + _contrast(rng, 3, 3, 1e-4)
        for rows, kept in (("sample", inside), ("same", without)):
            model = MeanOperatorClassifier(alpha=1e-4).fit(X, _moments(noisy, 1e-4, released), rows=rows)
            found, wanted = model.interval(), target_of(truth - truth.mean(axis=0))
            keep = (found["name"] != "intercept").to_numpy()
            kept.append(((found["low"] < wanted) & (wanted < found["high"]))[keep])
    error = np.std(np.mean(inside, axis=1)) / np.sqrt(REPEATS)
    assert abs(np.mean(inside) - 0.95) < 4 * error
    assert np.mean(without) < np.mean(inside) - 0.01


def test_outside_of_what_labels_could_give_intervals_are_nan_and_say_so():
    X, rng = _rows(6, 200, 4)
    noisy = _means(X, _draw(rng, X, np.zeros((3, 4))), 3) + _contrast(rng, 3, 4, 1.0)
    for alpha in ("noise", 0.01):
        model = MeanOperatorClassifier(alpha=alpha).fit(X, _moments(noisy, 1.0, 200))
        assert not model.inside_
        with pytest.warns(UtilityWarning, match="outside what any labels could give"):
            found = model.interval()
        assert found[["estimate", "error", "low", "high"]].isna().all().all()
        assert model.coef_covariance_.shape == (15, 15)


def test_labels_that_rows_separate_have_no_interval():
    X, rng = _rows(7, 200, 4)
    y = np.argmax(X @ rng.standard_normal((4, 3)), axis=1)
    model = MeanOperatorClassifier(fit_intercept=False).fit(X, y)
    with pytest.warns(UtilityWarning, match="border"):
        assert model.interval()["low"].isna().all()


def test_too_many_coefficients_have_no_covariance_and_say_so(monkeypatch):
    monkeypatch.setattr("suffice.learners.class_uncertainty.LARGEST", 5)
    monkeypatch.setattr("suffice.learners.mean_operator.LARGEST", 5)
    X, rng = _rows(8, 200, 4)
    model = MeanOperatorClassifier(alpha=0.1).fit(X, rng.integers(0, 3, 200))
    assert model.coef_covariance_.size == 0
    with pytest.warns(UtilityWarning, match="too many"):
        assert model.interval()["error"].isna().all()


def test_moments_that_do_not_add_up_are_made_to():
    X, rng = _rows(9, 300, 4)
    means = _means(X, rng.integers(0, 3, 300), 3)
    dense = rng.standard_normal((12, 12)) / 100
    for covariance in (Isotropic(1e-4, 12), Dense(dense @ dense.T)):
        given = sf.Moments(means + 0.1, covariance, 300, ("a", "b", "c", "one"), (0, 1, 2))
        evidence = from_moments(X, given)
        assert np.allclose(evidence.mean, means)
        turned = np.kron(np.eye(3) - 1 / 3, np.eye(4))
        assert np.allclose(evidence.covariance.dense(), turned @ covariance.dense() @ turned)


def test_a_lasso_on_a_release_of_classes_sets_coefficients_to_zero():
    X, rng = _rows(10, 500, 6)
    truth = np.zeros((3, 6))
    truth[:, 0] = [8.0, 0.0, -8.0]
    noisy = _means(X, _draw(rng, X, truth), 3) + _contrast(rng, 3, 6, 0.003)
    model = MeanOperatorClassifier(l1_ratio=1.0).fit(X, _moments(noisy, 0.003, 500))
    assert "least expected softmax risk" in model.strength_
    assert 0 < np.mean(model.theta_ == 0) < 1


def test_a_posterior_is_fitted_and_needs_next_to_no_penalty():
    X, rng = _rows(11, 500, 5)
    noisy = _means(X, _draw(rng, X, 3 * rng.standard_normal((3, 5))), 3) + _contrast(rng, 3, 5, 0.01)
    model = MeanOperatorClassifier().fit(X, _moments(noisy, 0.01, 500))
    found = believe(X, noisy, 0.01**2, count=500)
    assert np.allclose(model.theta_, minimise_softmax(X, found.posterior, alpha=found.light).theta, atol=1e-6)
    assert model.alpha_ < 1e-4
    assert "posterior mean" in model.strength_
