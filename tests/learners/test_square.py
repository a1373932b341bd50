"""The closed form for all classes at once: what it equals, what it is insensitive to, what it tells."""

from __future__ import annotations

import numpy as np
import pytest

import suffice as sf
from suffice.core.errors import UtilityWarning
from suffice.core.moments import Block, Isotropic
from suffice.learners.evidence import Evidence
from suffice.learners.square import explained, ridge

KINDS = 3


def evidence(noise, seed=0, count=600, width=8):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.normal(size=(count, width)) * np.geomspace(1, 0.1, width), np.ones(count)])
    labels = np.argmax(rows[:, :KINDS] + 0.3 * rng.normal(size=(count, KINDS)), axis=1)
    means = np.eye(KINDS)[labels].T @ rows / count
    draw = noise * rng.standard_normal(means.shape)
    means += draw - draw.mean(axis=0)
    return Evidence(rows, means, Block(noise**2 * (np.eye(KINDS) - 1 / KINDS), width + 1), count), labels


def test_without_a_penalty_it_is_least_squares_on_scores_of_one_class_against_the_rest():
    exact, labels = evidence(0.0)
    signs = 2.0 * np.eye(KINDS)[labels] - 1.0
    theta = np.linalg.lstsq(exact.rows, signs, rcond=None)[0]
    assert np.allclose(ridge(exact, 0.0).theta, theta.T, atol=1e-8)


def test_two_classes_in_signs_decide_as_two_classes_in_blocks():
    blocks, labels = evidence(0.0)
    signs = np.where(labels == 0, 1.0, -1.0)
    rng = np.random.default_rng(2)
    noise = 0.01 * rng.standard_normal(9)
    mean, centre = signs @ blocks.rows / len(signs) + noise, blocks.rows.mean(axis=0)
    one = Evidence(blocks.rows, mean, Isotropic(1e-4, 9), 600)
    halves = np.stack([(centre + mean) / 2, (centre - mean) / 2])
    two = Evidence(blocks.rows, halves, Block(2.5e-5 * np.array([[1, -1], [-1, 1.0]]), 9), 600)
    assert np.allclose(ridge(one, None).theta, ridge(two, None).theta[0], atol=1e-10)


def test_more_noise_asks_for_more_strength():
    strengths = [
        np.median([ridge(evidence(noise, seed)[0], None).alpha for seed in range(7)])
        for noise in (0.001, 0.01, 0.1)
    ]
    assert strengths == sorted(strengths)
    assert strengths[0] < strengths[-1]


def test_the_most_likely_strength_is_nearly_as_good_as_the_best():
    for noise in (0.003, 0.03):
        won, best = [], []
        for seed in range(8):
            noisy, labels = evidence(noise, seed)
            signs = 2.0 * np.eye(KINDS)[labels] - 1.0
            grid = np.geomspace(1e-6, 1e3, 40)
            losses = [np.square(noisy.rows @ ridge(noisy, a).theta.T - signs).mean() for a in grid]
            won.append(np.square(noisy.rows @ ridge(noisy, None).theta.T - signs).mean())
            best.append(min(losses))
        assert np.mean(won) < 1.1 * np.mean(best)


def test_the_estimated_risk_is_unbiased():
    gaps = []
    for seed in range(300):
        noisy, _ = evidence(0.02, seed=0)
        rng = np.random.default_rng(seed)
        exact, labels = evidence(0.0, seed=0)
        draw = 0.02 * rng.standard_normal(exact.mean.shape)
        seen = Evidence(exact.rows, exact.mean + draw - draw.mean(axis=0), noisy.covariance, 600)
        fit = ridge(seen, 0.05)
        signs = 2.0 * np.eye(KINDS)[labels] - 1.0
        offset = 2.0 / KINDS - 1.0
        scores = exact.rows @ fit.theta.T - offset
        true = np.square(scores).mean(axis=0).sum() - 2 * (scores * (signs - offset)).mean(axis=0).sum()
        gaps.append(fit.risk - true)
    assert abs(np.mean(gaps)) < 4 * np.std(gaps) / np.sqrt(len(gaps))


def test_families_are_told_apart_by_what_they_explain():
    noisy, _ = evidence(0.005)
    names = ("good0", "good1", "good2", *(f"idle{at}" for at in range(5)), "intercept")
    good, idle = explained(noisy, names)
    assert (good.family, good.coordinates, idle.coordinates) == ("good", 3, 5)
    assert good.share > 0.3 > idle.share + 2 * idle.error
    assert explained(noisy, ("age", *names[1:])) == ()


def test_a_release_that_noise_has_hidden_says_so_on_the_model(tmp_path):
    rng = np.random.default_rng(0)
    frame = {f"graph{at}": rng.normal(size=200) for at in range(6)} | {"y": rng.integers(0, 2, 200)}
    ledger = sf.Ledger.create(
        str(tmp_path / "o.db"), dataset="d", unit=sf.LabelOf("y"), budget=sf.PureDP(1.0)
    )
    statistic = sf.MeanOperator([f"graph{at}" for at in range(6)], "y", bound=sf.Bound(2, 1.0))
    release = sf.Owner(sf.Table(frame), ledger=ledger).release(statistic, sf.L2Laplace(epsilon=0.01))
    public = {name: column for name, column in frame.items() if name != "y"}
    with pytest.warns(UtilityWarning, match="graph"):
        model = sf.learners.MeanOperatorClassifier(loss="square").fit(public, release)
    assert model.explained_[0].share < 2 * model.explained_[0].error
