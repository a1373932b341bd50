"""Recorded figures of what moments lose against the likelihood under randomised response (P1 section 5)."""

from __future__ import annotations

import numpy as np
import pytest

from suffice.core.errors import InputError
from suffice.planning import asymptotic

CORNERS = [[0, 0], [0, 1], [1, 0], [1, 1]]
EPSILONS = [0.01, 0.1, 0.3, 0.5, 0.9]
BASE = [0.1, 0.2, 0.3, 0.4]


@pytest.mark.parametrize(
    ("theta", "expected"),
    [
        (
            [2.0, -0.1],
            [0.818270319774205, 0.8390074998645612, 0.884039985423516, 0.926871530458596, 0.9944530811895159],
        ),
        (
            [5.0, -1.0],
            [
                0.7306637774985238,
                0.7481412268998245,
                0.7838586962949801,
                0.8188586274773794,
                0.9064539298750628,
            ],
        ),
    ],
)
def test_figure_3_moments_keep_three_quarters_and_more(theta, expected):
    found = [asymptotic.efficiency(CORNERS, theta, truth) for truth in EPSILONS]
    assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("truth", [*EPSILONS, 1.0])
def test_figure_3_moments_lose_nothing_where_every_state_is_as_likely(truth):
    assert asymptotic.efficiency(CORNERS, [0, 0], truth) == pytest.approx(1, abs=1e-13)


def test_lemma_1_the_recorded_noise():
    found = asymptotic.response_noise(CORNERS, [0.7, -0.3], 0.35, BASE)
    expected = [[1.5279176549607911, -0.09581641095833152], [-0.09581641095833153, 1.7839766082851471]]
    assert found == pytest.approx(np.array(expected), abs=1e-10)


def test_lemma_1_is_the_noise_of_the_unbiased_answers_by_enumeration():
    table, phi = asymptotic.randomised_response(0.35, BASE), np.array(CORNERS, dtype=float)
    unbiased = (phi - 0.65 * (np.array(BASE) @ phi)) / 0.35
    assert table.T @ unbiased == pytest.approx(phi)
    noise = asymptotic.answer_noise(asymptotic.state_law(CORNERS, [0.7, -0.3]), table, unbiased)
    assert noise == pytest.approx(asymptotic.response_noise(CORNERS, [0.7, -0.3], 0.35, BASE), abs=1e-12)


def test_lemma_1_where_the_draw_has_the_law_of_the_truth():
    theta, truth = [0.7, -0.3], 0.35
    law = asymptotic.state_law(CORNERS, theta)
    information = asymptotic.fisher_information(CORNERS, theta)
    noise = asymptotic.response_noise(CORNERS, theta, truth, law)
    assert noise == pytest.approx(information * (1 - truth**2) / truth**2, abs=1e-12)
    spread = asymptotic.moment_variance(CORNERS, theta, noise)
    assert spread == pytest.approx(np.linalg.inv(information) / truth**2, abs=1e-11)


def test_proposition_2_the_information_in_an_answer_is_what_it_leaves_closed():
    theta, table = [2.0, -0.1], asymptotic.randomised_response(0.4, BASE)
    left = asymptotic.fisher_information(CORNERS, theta) - asymptotic.channel_noise(CORNERS, theta, table)
    assert asymptotic.marginal_variance(CORNERS, theta, table) == pytest.approx(np.linalg.inv(left), rel=1e-9)


def test_proposition_2_the_information_in_an_answer_is_the_curvature_of_its_log_likelihood():
    theta, table = np.array([0.7, -0.3]), asymptotic.randomised_response(0.4, BASE)
    truth = table @ asymptotic.state_law(CORNERS, theta)

    def score(at):
        steps = 1e-5 * np.eye(2)
        sides = [[np.log(table @ asymptotic.state_law(CORNERS, at + s * d)) for s in (1, -1)] for d in steps]
        return np.array([(up - down) / 2e-5 for up, down in sides])

    gradient = score(theta)
    information = (gradient * truth) @ gradient.T
    found = asymptotic.marginal_variance(CORNERS, theta, table)
    assert found == pytest.approx(np.linalg.inv(information), rel=1e-7)


def test_the_likelihood_is_never_worse_than_moments():
    draws = np.random.default_rng(3)
    for _ in range(50):
        theta, base, truth = draws.normal(0, 2, 2), draws.dirichlet(np.ones(4)), draws.uniform(0.05, 1)
        best = asymptotic.marginal_variance(CORNERS, theta, asymptotic.randomised_response(truth, base))
        noise = asymptotic.response_noise(CORNERS, theta, truth, base)
        gap = asymptotic.moment_variance(CORNERS, theta, noise) - best
        assert np.linalg.eigvalsh(gap).min() > -1e-9 * np.trace(best)
        assert asymptotic.efficiency(CORNERS, theta, truth, base) <= 1 + 1e-9


@pytest.mark.parametrize(
    ("theta", "truth", "base", "message"),
    [
        ([0, 0], 0.0, BASE, "true answer"),
        ([0, 0], 0.5, [0.5, 0.5], "one probability per state"),
        ([0, 0], 0.5, [0.5, 0.5, 0.5, -0.5], "sum to 1"),
        ([0, 0, 0], 0.5, BASE, "one per feature"),
    ],
)
def test_what_is_no_law_is_refused(theta, truth, base, message):
    with pytest.raises(InputError, match=message):
        asymptotic.efficiency(CORNERS, theta, truth, base)
