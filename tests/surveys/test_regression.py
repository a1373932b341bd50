from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from suffice import surveys
from suffice.core.errors import InputError, SchemaError
from suffice.surveys.formula import parsed


def made(n=4000, seed=0, design="Warner", p1=0.85, p2=None):
    draw = np.random.default_rng(seed)
    age, region = draw.normal(size=n), draw.choice(["a", "b", "c"], n)
    truth = draw.random(n) < expit(-0.5 + 0.8 * age + 1.0 * (region == "b"))
    matrix = surveys.design(design, p1, p2).matrix()
    y = (draw.random(n) < matrix[truth.astype(int), 1]).astype(int)
    frame = {"y": y, "age": age, "region": region, "truth": truth.astype(int)}
    return frame, surveys.read(frame, answer="y", design=design, p1=p1, p2=p2)


def test_direct_answers_give_the_usual_logistic_regression():
    frame, _ = made()
    direct = surveys.read(frame, answer="truth", design="DQ")
    found = surveys.regress(direct, "answer ~ age + C(region)")
    X = np.column_stack([frame["age"], frame["region"] == "b", frame["region"] == "c"])
    usual = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(X, frame["truth"])
    assert found.names == ("(intercept)", "age", "region[b]", "region[c]")
    assert found.coefficients == pytest.approx([usual.intercept_[0], *usual.coef_[0]], abs=1e-4)
    p = usual.predict_proba(X)[:, 1]
    Z = np.column_stack([np.ones(len(X)), X])
    assert found.stderr == pytest.approx(
        np.sqrt(np.diag(np.linalg.inv(Z.T @ (Z * (p * (1 - p))[:, None])))), rel=1e-3
    )
    value = np.where(frame["truth"] == 1, np.log(p), np.log(1 - p)).sum()
    assert found.log_likelihood == pytest.approx(value, abs=1e-4)
    assert found.aic == pytest.approx(8 - 2 * value, abs=1e-3)


@pytest.mark.parametrize(
    ("design", "p1", "p2"),
    [("Warner", 0.85, None), ("Forced", 0.7, 0.6), ("Crosswise", 0.2, None), ("Kuk", 0.9, 0.2)],
)
def test_noisy_answers_lead_to_the_truths_coefficients(design, p1, p2):
    _, answers = made(20_000, 3, design, p1, p2)
    found = surveys.regress(answers, "answer ~ age + C(region)")
    assert np.abs((found.coefficients - [-0.5, 0.8, 1.0, 0.0]) / found.stderr).max() < 4
    assert found.stderr.max() < 0.2
    naive = surveys.regress(
        surveys.read(made(20_000, 3, design, p1, p2)[0], answer="y", design="DQ"), "answer ~ age"
    )
    assert abs(naive.coefficients[1]) < 0.75


def test_the_score_is_zero_and_information_is_the_curvature():
    _, answers = made(3000, 5)
    found = surveys.regress(answers, "answer ~ age")
    X = np.column_stack([np.ones(len(answers)), answers.fact("age")])
    likelihood = answers.likelihood()

    def value(point):
        chance = expit(X @ point)
        return np.log((1 - chance) * likelihood[:, 0] + chance * likelihood[:, 1]).sum()

    h, eye = 1e-3, np.eye(2)
    score = [(value(found.coefficients + h * e) - value(found.coefficients - h * e)) / (2 * h) for e in eye]
    assert np.abs(score).max() < 0.05
    bend = [
        (
            value(found.coefficients + h * e)
            - 2 * value(found.coefficients)
            + value(found.coefficients - h * e)
        )
        / h**2
        for e in eye
    ]
    expected = np.diag(np.linalg.inv(found.covariance))
    assert -np.array(bend) == pytest.approx(expected, rel=0.1)


def test_an_intercept_alone_is_the_prevalence():
    answers = surveys.read(
        {"y": [1] * 831 + [0] * 1604}, answer="y", design="forced-known", p1=1 / 6, p2=1 / 6
    )
    found = surveys.regress(answers, "answer ~ 1")
    assert expit(found.coefficients[0]) == pytest.approx(surveys.estimate(answers).of().moments, abs=1e-6)
    slope = 0.2619 * (1 - 0.2619)
    assert found.stderr[0] * slope == pytest.approx(0.0144, abs=1e-4)


def test_robust_errors_count_a_person_once():
    frame, _ = made(500, 1)
    often = {name: np.repeat(column, 3) for name, column in frame.items()} | {
        "id": np.repeat(np.arange(500), 3)
    }
    once = surveys.regress(
        surveys.read(frame, answer="y", design="Warner", p1=0.85), "answer ~ age", robust=True
    )
    thrice = surveys.regress(
        surveys.read(often, answer="y", design="Warner", p1=0.85, person="id"), "answer ~ age"
    )
    assert thrice.robust
    assert thrice.coefficients == pytest.approx(once.coefficients, abs=1e-6)
    assert thrice.stderr == pytest.approx(once.stderr, rel=1e-6)


def test_rows_that_lack_a_fact_are_left_out_and_counted():
    frame = {"y": [0, 1] * 50, "age": [None, *np.linspace(-1, 1, 99)]}
    found = surveys.regress(surveys.read(frame, answer="y", design="Warner", p1=0.9), "answer ~ age")
    assert (found.answers, found.left_out) == (99, 1)


def test_a_formula_is_read_as_it_is_meant():
    read = parsed("`my drug` ~ age + C(q5) + age:C(q5) - 1 + age")
    assert read.left == "my drug"
    assert read.terms == ((("age", False),), (("q5", True),), (("age", False), ("q5", True)))
    assert not read.intercept
    assert parsed("y ~ `a-b+c:d`").terms == ((("a-b+c:d", False),),)
    assert parsed("y ~ 0 + x").intercept is False


def test_without_an_intercept_the_first_factor_has_all_its_levels():
    columns = {"x": np.array([1.0, 2.0, 3.0]), "g": np.array(["a", "b", "b"], dtype=object)}
    names, X = parsed("y ~ C(g) + x:C(g) - 1").matrix(columns.__getitem__, 3)
    assert names == ("g[a]", "g[b]", "x:g[b]")
    assert X.tolist() == [[1, 0, 0], [0, 1, 2], [0, 1, 3]]


@pytest.mark.parametrize("text", ["y", "y ~", "~ x", "y ~ x * z", "y ~ x - z", "y ~ log(x)", "y ~ a ~ b"])
def test_what_is_no_formula_is_refused(text):
    with pytest.raises(InputError):
        parsed(text)


def test_columns_that_depend_on_each_other_and_unknown_ones_are_refused():
    frame = {"y": [0, 1] * 20, "a": range(40), "b": [2 * i for i in range(40)], "c": ["u"] * 40}
    answers = surveys.read(frame, answer="y", design="Warner", p1=0.9)
    with pytest.raises(InputError, match="depend on each other"):
        surveys.regress(answers, "answer ~ a + b")
    with pytest.raises(SchemaError, match="no column 'd'"):
        surveys.regress(answers, "answer ~ d")
    with pytest.raises(InputError, match="one level"):
        surveys.regress(answers, "answer ~ c")


def test_answers_beyond_the_channel_have_no_finite_regression():
    answers = surveys.read({"y": [0] * 200 + [1] * 5}, answer="y", design="Warner", p1=0.7)
    with pytest.raises(InputError, match="no finite maximum"):
        surveys.regress(answers, "answer ~ 1")


def test_a_weight_of_two_is_two_answers_and_coefficients_agree():
    frame, _ = made(400, 7)
    times = np.random.default_rng(0).integers(1, 4, 400)
    weighted = surveys.read(frame | {"w": times}, answer="y", design="Warner", p1=0.85)
    repeated = {name: np.repeat(column, times) for name, column in frame.items()}
    one = surveys.regress(weighted, "answer ~ age + C(region)", weight="w")
    two = surveys.regress(
        surveys.read(repeated, answer="y", design="Warner", p1=0.85), "answer ~ age + C(region)"
    )
    assert one.coefficients == pytest.approx(two.coefficients, abs=1e-6)
    assert one.robust


def test_odds_ratios_intervals_and_p_values_belong_to_the_coefficients():
    found = surveys.regress(made(2000, 8)[1], "answer ~ age")
    low, high = found.interval(0.95)[1]
    assert (low + high) / 2 == pytest.approx(found.coefficients[1])
    assert high - low == pytest.approx(2 * 1.959964 * found.stderr[1], rel=1e-6)
    assert np.log(found.odds_ratios) == pytest.approx(found.coefficients)
    assert found.p_values[1] < 1e-6
    assert str(found).count("\n") == 4


def test_the_error_of_a_weighted_intercept_is_that_of_the_weighted_share():
    draw = np.random.default_rng(11)
    frame = {"y": draw.integers(0, 2, 300), "w": draw.uniform(0.2, 3.0, 300)}
    answers = surveys.read(frame, answer="y", design="Warner", p1=0.9)
    fitted, share = (
        surveys.regress(answers, "answer ~ 1", weight="w"),
        surveys.estimate(answers, weight="w").of(),
    )
    chance = expit(fitted.coefficients[0])
    assert chance == pytest.approx(share.moments, abs=1e-6)
    assert fitted.stderr[0] * chance * (1 - chance) == pytest.approx(share.stderr, rel=1e-3)
