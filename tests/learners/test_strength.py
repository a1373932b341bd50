from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from suffice.core.errors import InputError
from suffice.core.moments import Dense, Diagonal, Isotropic
from suffice.learners.strength import choose, spread
from suffice.maths.linear_odd import LOSSES
from suffice.maths.minimise import minimise
from suffice.maths.zonotope import Zonotope, project

LOGISTIC = LOSSES["logistic"]


def _people(seed, m=1500, d=8, signal=4.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, d)) * np.geomspace(1.0, 0.2, d)
    X /= np.quantile(np.linalg.norm(X, axis=1), 0.95)
    margins = X @ rng.standard_normal(d)
    chance = 1 / (1 + np.exp(-signal * margins / margins.std()))
    return X, 2 * chance - 1, rng


def _released(seed, epsilon, **people):
    X, label, rng = _people(seed, **people)
    m, d = X.shape
    scale = 2.0 / (m * epsilon)
    direction = rng.standard_normal(d)
    noise = direction / np.linalg.norm(direction) * rng.gamma(d) * scale
    return X, label, X.T @ label / m + noise, Isotropic((d + 1) * scale**2, d)


def _risk(X, label, theta):
    return float(LOGISTIC.even(X @ theta).mean() - label @ (X @ theta) / len(X) / 2)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 5.0])
@pytest.mark.parametrize(("signal", "allowed"), [(1.0, 1.1), (4.0, 1.1), (20.0, 1.4)])
def test_the_risk_is_near_that_of_the_best_strength_of_a_grid(epsilon, signal, allowed):
    grid, chosen, best = np.geomspace(1e-7, 10.0, 17), [], []
    for seed in range(6):
        X, label, mean, covariance = _released(seed, epsilon, signal=signal)
        point = project(mean, Zonotope(X)).point
        alpha = choose(X, mean, covariance, LOGISTIC, count=len(X)).alpha
        chosen.append(_risk(X, label, minimise(LOGISTIC, X, point, alpha=alpha).theta))
        best.append(
            [_risk(X, label, minimise(LOGISTIC, X, point, alpha=a, tolerance=1e-7).theta) for a in grid]
        )
    assert np.mean(chosen) <= allowed * np.mean(best, axis=0).min()


def _clinic():
    columns, y = load_breast_cancer(return_X_y=True)
    X = np.column_stack([(columns - columns.mean(0)) / columns.std(0), np.ones(len(y))])
    X /= np.sqrt(X.shape[1])
    norms = np.linalg.norm(X, axis=1)
    radius = np.quantile(norms, 0.95)
    return X * np.minimum(1.0, radius / norms)[:, None], 2.0 * y - 1.0, radius


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 5.0])
def test_on_real_rows_with_nearly_certain_labels_the_risk_is_near_that_of_the_best_strength(epsilon):
    X, y, radius = _clinic()
    m, d = X.shape
    scale, rng = 2.0 * radius / (m * epsilon), np.random.default_rng(1)
    grid, chosen, best = np.geomspace(1e-5, 1.0, 15), [], []
    for _ in range(6):
        direction = rng.standard_normal(d)
        mean = X.T @ y / m + direction / np.linalg.norm(direction) * rng.gamma(d) * scale
        point = project(mean, Zonotope(X)).point
        alpha = choose(X, mean, Isotropic((d + 1) * scale**2, d), LOGISTIC, count=m).alpha
        chosen.append(_risk(X, y, minimise(LOGISTIC, X, point, alpha=alpha).theta))
        best.append([_risk(X, y, minimise(LOGISTIC, X, point, alpha=a, tolerance=1e-7).theta) for a in grid])
    assert np.mean(chosen) <= 1.15 * np.mean(best, axis=0).min()


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 5.0])
def test_a_light_fit_to_the_posterior_mean_is_no_worse_than_the_best_strength(epsilon):
    X, y, radius = _clinic()
    m, d = X.shape
    scale, rng = 2.0 * radius / (m * epsilon), np.random.default_rng(2)
    grid, chosen, best = np.geomspace(1e-5, 1.0, 15), [], []
    for _ in range(6):
        direction = rng.standard_normal(d)
        mean = X.T @ y / m + direction / np.linalg.norm(direction) * rng.gamma(d) * scale
        found = choose(X, mean, Isotropic((d + 1) * scale**2, d), LOGISTIC, count=m)
        denoised = project(found.posterior, Zonotope(X)).point
        chosen.append(_risk(X, y, minimise(LOGISTIC, X, denoised, alpha=found.light).theta))
        point = project(mean, Zonotope(X)).point
        best.append([_risk(X, y, minimise(LOGISTIC, X, point, alpha=a, tolerance=1e-7).theta) for a in grid])
    assert np.mean(chosen) <= 1.03 * np.mean(best, axis=0).min()


def test_the_posterior_mean_over_all_rows_is_that_over_the_rows_looked_at_where_these_are_all():
    X, _, mean, covariance = _released(13, 0.5, m=900)
    found = choose(X, mean, covariance, LOGISTIC, count=len(X))
    assert np.allclose(found.posterior, found.mean, atol=0.02 * np.linalg.norm(found.mean))


def test_where_the_noise_is_small_the_posterior_mean_is_the_release():
    X, _, mean, covariance = _released(14, 500.0, m=4000)
    found = choose(X, mean, covariance, LOGISTIC, count=len(X))
    assert np.linalg.norm(found.posterior - mean) < 0.01 * np.linalg.norm(mean)


def test_a_release_that_is_all_noise_gives_a_fit_that_claims_nothing():
    risks = []
    for seed in range(5):
        X, label, mean, covariance = _released(seed, 0.02, m=200, d=40, signal=1.0)
        point = project(mean, Zonotope(X)).point
        alpha = choose(X, mean, covariance, LOGISTIC, count=len(X)).alpha
        risks.append(_risk(X, label, minimise(LOGISTIC, X, point, alpha=alpha).theta))
    assert np.mean(risks) <= 1.05 * np.log(2.0)


def test_more_noise_asks_for_more_strength():
    alphas = [
        choose(X, mean, cov, LOGISTIC, count=len(X)).alpha
        for X, _, mean, cov in (_released(3, epsilon) for epsilon in (0.05, 0.5, 5.0))
    ]
    assert alphas[0] > alphas[1] > alphas[2]


def test_the_order_of_the_rows_changes_nothing():
    X, _, mean, covariance = _released(4, 0.5, m=3000)
    order = np.random.default_rng(0).permutation(len(X))
    first = choose(X, mean, covariance, LOGISTIC, count=len(X))
    second = choose(X[order], mean, covariance, LOGISTIC, count=len(X))
    assert second.alpha == first.alpha
    assert np.allclose(second.mean, first.mean)


def test_blocks_of_rows_and_one_array_give_the_same_strength():
    X, _, mean, covariance = _released(4, 0.5, m=3000)
    whole = choose(X, mean, covariance, LOGISTIC, count=len(X))
    parts = choose([X[:100], X[100:]], mean, covariance, LOGISTIC, count=len(X))
    assert parts.alpha == whole.alpha


def test_it_is_the_same_every_time_and_looks_at_a_thousand_rows():
    X, _, mean, covariance = _released(5, 1.0, m=5000)
    first, second = (choose(X, mean, covariance, LOGISTIC, count=len(X)) for _ in range(2))
    assert first.alpha == second.alpha
    assert first.rows == 1000


@pytest.mark.parametrize("factor", [1e-3, 50.0])
def test_the_unit_of_the_rows_does_not_matter(factor):
    X, _, mean, covariance = _released(6, 0.5)
    one = choose(X, mean, covariance, LOGISTIC, count=len(X))
    other = choose(X * factor, mean * factor, covariance.times(factor**2), LOGISTIC, count=len(X))
    assert other.alpha == pytest.approx(one.alpha * factor**2, rel=1e-9)
    assert np.allclose(other.mean, one.mean * factor)


def test_the_form_of_the_covariance_does_not_matter():
    X, _, mean, covariance = _released(7, 0.5)
    alphas = {
        choose(X, mean, form, LOGISTIC, count=len(X)).alpha
        for form in (covariance, Diagonal(np.full(8, covariance.variance)), Dense(covariance.dense()))
    }
    assert len(alphas) == 1


def test_the_posterior_mean_is_nearer_to_the_truth_than_the_release_is():
    errors = []
    for seed in range(8):
        X, label, mean, covariance = _released(seed, 0.1, signal=8.0)
        true = X.T @ label / len(X)
        believed = choose(X, mean, covariance, LOGISTIC, count=len(X)).mean
        errors.append([np.sum((v - true) ** 2) for v in (believed, mean)])
    believed, raw = np.mean(errors, axis=0)
    assert believed < 0.6 * raw


def test_the_signal_is_found_where_the_noise_is_small():
    weak, strong = (
        choose(X, mean, cov, LOGISTIC, count=len(X)).signal
        for X, _, mean, cov in (_released(8, 20.0, m=4000, signal=s) for s in (1.0, 60.0))
    )
    assert weak < 6.0
    assert strong > 12.0


@pytest.mark.parametrize("loss", ["square", "matsushita", "modified_huber", "unhinged"])
def test_every_loss_that_can_be_minimised_gets_a_finite_strength(loss):
    X, _, mean, covariance = _released(9, 0.5)
    found = choose(X, mean, covariance, LOSSES[loss], count=len(X))
    assert 0 < found.alpha < np.inf
    assert np.isfinite(found.risk)
    assert loss in found.reason


def test_an_exact_mean_and_collinear_columns_are_no_obstacle():
    X, _, rng = _people(10)
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.zeros(len(X))])
    y = np.where(rng.random(len(X)) < 0.5, 1.0, -1.0)
    found = choose(X, X.T @ y / len(X), Isotropic(0.0, 10), LOGISTIC, count=len(X))
    assert np.isfinite(found.alpha)


def test_more_columns_than_rows_are_no_obstacle():
    rng = np.random.default_rng(11)
    X = rng.standard_normal((60, 300)) / np.sqrt(300)
    y = np.sign(X @ rng.standard_normal(300))
    found = choose(X, X.T @ y / 60, Isotropic(1e-4, 300), LOGISTIC, count=60)
    assert found.mean.shape == (300,)
    assert 0 < found.alpha < np.inf


def test_a_covariance_of_another_size_is_refused():
    X, _, mean, _ = _released(12, 0.5)
    with pytest.raises(InputError, match="covariance must be 8 by 8, got 3 by 3"):
        choose(X, mean, Isotropic(1.0, 3), LOGISTIC, count=len(X))


def test_the_rows_looked_at_are_spread_over_all_of_them():
    X = np.linspace(0.0, 1.0, 10_000)[:, None]
    looked = spread(X, 100)[:, 0]
    assert len(looked) == 100
    assert np.allclose(np.diff(looked), 0.01, atol=1e-3)
