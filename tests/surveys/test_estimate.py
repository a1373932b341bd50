from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import suffice as sf
from suffice import surveys
from suffice.core.errors import InputError, SchemaError
from suffice.surveys.mixture import log_likelihood, shares

FORCED = {"design": "forced-known", "p1": 1 / 6, "p2": 1 / 6}


def paper(ones: int, zeros: int, **design):
    return surveys.read({"y": [1] * ones + [0] * zeros}, answer="y", **design)


def test_the_nigerian_survey_has_its_published_prevalence():
    answers = paper(831, 1604, **FORCED)
    found = surveys.estimate(answers).of()
    assert found.moments == pytest.approx(0.262, abs=5e-4)
    assert found.stderr == pytest.approx(0.0144, abs=5e-5)
    assert found.likelihood == pytest.approx(found.moments, abs=1e-6)
    assert found.likelihood_stderr == pytest.approx(found.stderr, rel=1e-3)
    assert answers.channels[0].guarantee().promise.epsilon == pytest.approx(np.log(5), abs=1e-12)


def test_the_inverse_takes_the_false_answers_away_and_the_maximum_is_cut_at_zero():
    channel = sf.Matrix((0, 1), ((0.9, 0.1), (0.3, 0.7)))  # P10 = .1, P01 = .3
    half = surveys.estimate(paper(50, 50, design=channel)).of()
    low = surveys.estimate(paper(5, 95, design=channel)).of()
    assert half.moments == pytest.approx(2 / 3, abs=1e-12)
    assert half.likelihood == pytest.approx(2 / 3, abs=1e-7)
    assert low.moments < 0
    assert low.likelihood == pytest.approx(0.0, abs=1e-7)
    assert low.likelihood_stderr is None


def test_moments_are_right_on_average_and_their_errors_are_theirs():
    draw = np.random.default_rng(4)
    truth, found, errors = 0.3, [], []
    for _ in range(300):
        y = draw.random(400) < 0.2 + 0.5 * truth
        one = surveys.estimate(
            surveys.read({"y": y.astype(int)}, answer="y", design="Forced", p1=0.5, p2=0.4)
        ).of()
        found.append(one.moments)
        errors.append(one.stderr)
    assert np.mean(found) == pytest.approx(truth, abs=4 * np.std(found) / 300**0.5)
    assert np.std(found) == pytest.approx(np.mean(errors), rel=0.15)


def test_each_answer_is_inverted_with_its_own_parameters():
    counts = [(0.2, 20, 30), (0.7, 33, 27)]
    rows = [(p, y) for p, ones, zeros in counts for y in [1] * ones + [0] * zeros]
    frame = {"y": [y for _, y in rows], "p": [p for p, _ in rows], "d": ["Warner"] * len(rows)}
    found = surveys.estimate(surveys.read(frame, answer="y", design="d", p1="p")).of()
    by_hand = [(y - (1 - p)) / (2 * p - 1) for p, y in rows]
    assert found.moments == pytest.approx(np.mean(by_hand), abs=1e-12)
    assert found.stderr == pytest.approx(np.std(by_hand, ddof=1) / len(rows) ** 0.5, rel=1e-12)
    grid = np.linspace(0, 1, 100_001)
    value = sum(np.log(np.where(y == 1, 1 - p + (2 * p - 1) * grid, p - (2 * p - 1) * grid)) for p, y in rows)
    assert found.likelihood == pytest.approx(grid[np.argmax(value)], abs=2e-5)


def test_the_maximum_over_several_truths_beats_every_neighbour():
    draw = np.random.default_rng(2)
    likelihood = draw.dirichlet(np.ones(4), 3).T[draw.integers(0, 4, 200)]
    best = shares(likelihood)
    assert best.sum() == pytest.approx(1.0)
    top = log_likelihood(likelihood, best)
    for a, b in itertools.permutations(range(3), 2):
        moved = best.copy()
        step = min(1e-3, moved[a])
        moved[a] -= step
        moved[b] += step
        assert log_likelihood(likelihood, moved) <= top + 1e-9


def test_answers_of_one_person_count_as_one_cluster():
    y = np.random.default_rng(1).integers(0, 2, 60)
    once = surveys.estimate(surveys.read({"y": y}, answer="y", design="Warner", p1=0.8)).of()
    frame = {"y": np.repeat(y, 4), "id": np.repeat(np.arange(60), 4)}
    often = surveys.estimate(surveys.read(frame, answer="y", design="Warner", p1=0.8, person="id")).of()
    naive = surveys.estimate(surveys.read(frame, answer="y", design="Warner", p1=0.8)).of()
    assert often.stderr == pytest.approx(once.stderr, rel=1e-12)
    assert naive.stderr < 0.6 * once.stderr


def test_a_weight_of_two_moves_the_estimate_like_two_answers():
    y = [1, 0, 1, 1, 0, 0]
    weighted = surveys.read({"y": y, "w": [2, 1, 1, 1, 3, 1]}, answer="y", design="Warner", p1=0.75)
    repeated = surveys.read({"y": np.repeat(y, [2, 1, 1, 1, 3, 1])}, answer="y", design="Warner", p1=0.75)
    one, two = surveys.estimate(weighted, weight="w").of(), surveys.estimate(repeated).of()
    assert one.moments == pytest.approx(two.moments, abs=1e-12)
    assert one.likelihood == pytest.approx(two.likelihood, abs=1e-7)


def test_strata_take_the_differences_between_them_out_of_the_error():
    frame = {"y": [1] * 45 + [0] * 5 + [1] * 5 + [0] * 45, "s": ["a"] * 50 + ["b"] * 50}
    answers = surveys.read(frame, answer="y", design="DQ")
    plain, strata = surveys.estimate(answers).of(), surveys.estimate(answers, strata="s").of()
    by_hand = (0.5**2 * 2 * 0.09 / 49) ** 0.5
    assert strata.stderr == pytest.approx(by_hand, rel=1e-9)
    assert strata.stderr < plain.stderr


def test_missing_answers_are_counted_and_left_out():
    found = surveys.estimate(surveys.read({"y": [1, None, 0, float("nan"), 1]}, answer="y", design="DQ")).of()
    assert (found.count, found.missing) == (3, 2)
    assert found.moments == pytest.approx(2 / 3)


def test_three_truths_have_a_row_each_and_add_up_to_one():
    channel = sf.RandomizedResponse(("a", "b", "c"), truth=0.5)
    answers = surveys.read({"y": ["a"] * 50 + ["b"] * 30 + ["c"] * 20}, answer="y", design=channel)
    found = surveys.estimate(answers).rows
    assert [one.truth for one in found] == ["a", "b", "c"]
    assert sum(one.moments for one in found) == pytest.approx(1.0)
    assert found[0].moments == pytest.approx((0.5 - 1 / 6) / 0.5)


def test_a_joint_table_is_exact_on_expected_frequencies():
    one, two = sf.Warner(0.8).matrix(), sf.ForcedResponse(yes=0.2, no=0.1).matrix()
    truth = np.array([[0.4, 0.1], [0.2, 0.3]])
    counts = np.round(20_000 * one.T @ truth @ two).astype(int)
    people = [cell for cell in itertools.product((0, 1), (0, 1)) for _ in range(counts[cell])]
    frame = {
        "id": np.repeat(np.arange(len(people)), 2),
        "q": ["a", "b"] * len(people),
        "d": ["Warner", "forced-known"] * len(people),
        "p1": [0.8, 0.2] * len(people),
        "p2": [None, 0.1] * len(people),
        "y": np.array(people).ravel(),
    }
    answers = surveys.read(frame, answer="y", question="q", design="d", p1="p1", p2="p2", person="id")
    found = surveys.joint(answers, ["a", "b"])
    assert found.cells == (("no", "no"), ("no", "yes"), ("yes", "no"), ("yes", "yes"))
    assert found.moments == pytest.approx(truth.ravel(), abs=1e-4)
    assert found.likelihood == pytest.approx(truth.ravel(), abs=1e-4)
    assert (found.stderr > 0).all()


def test_an_answer_that_the_channel_does_not_have_is_refused_with_its_row():
    with pytest.raises(SchemaError, match="row 2"):
        surveys.read({"y": [0, 1, 2]}, answer="y", design="DQ")
    with pytest.raises(SchemaError, match="'v'"):
        surveys.read({"y": ["one", "v"]}, answer="y", design="Crosswise", p1=0.2, codes={"one": 0})
    kept = surveys.read(
        {"y": ["one", "v", "two"]},
        answer="y",
        design="Crosswise",
        p1=0.2,
        codes={"one": 0, "two": 1, "v": None},
    )
    assert kept.code.tolist() == [0, -1, 1]


def test_a_release_of_something_else_is_no_survey():
    with pytest.raises(InputError, match=r"surveys\.read"):
        surveys.estimate({"y": [1]})


def test_level_and_weights_are_checked():
    answers = paper(3, 4, design="DQ")
    with pytest.raises(InputError, match="level"):
        surveys.estimate(answers, level=95)
    with pytest.raises(SchemaError, match="no column 'w'"):
        surveys.estimate(answers, weight="w")


def test_tables_of_every_kind_are_read_alike():
    columns = {
        "y": [1, 0, None],
        "d": ["Warner", "Forced", "DQ"],
        "p": [0.8, 0.7, None],
        "q": [None, 0.4, None],
    }
    frames = [columns, pa.table(columns), pd.DataFrame(columns), pl.DataFrame(columns)]
    read = [surveys.read(one, answer="y", design="d", p1="p", p2="q") for one in frames]
    assert all(one.code.tolist() == [1, 0, -1] for one in read)
    assert all(
        one.channels == (sf.Warner(0.8), surveys.design("Forced", 0.7, 0.4), surveys.DIRECT) for one in read
    )
