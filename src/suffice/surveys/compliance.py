"""How many people did not follow the channel, where the design can tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

import numpy as np
from scipy import optimize
from scipy.special import chdtrc

from suffice.core.errors import InputError
from suffice.surveys.estimate import answers_of
from suffice.surveys.mixture import grouped
from suffice.surveys.table import probability
from suffice.surveys.variance import covariance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from suffice.releases.release import Release
    from suffice.surveys.answers import Answers

__all__ = ["Compliance", "compliance"]

Says = Literal["no", "yes", "guess"]
_SAYS = {"no": 0.0, "yes": 1.0, "guess": 0.5}
_FLAT = 1e-6
_GRID = 21
_WEAK = 0.25
_SAME = 1e-6  # twice a difference in log-likelihood that is rounding


@final
@dataclass(frozen=True, slots=True)
class Compliance:
    """The share of people who did not follow the channel, and the prevalence that this leaves.

    `share` is of everybody, or of those who have the trait where `who` says so. `prevalence` is that
    among all people if `who` is "carriers", and among those who followed if it is "everyone": of the
    others nothing is known. `naive` is the prevalence if all had followed. Where the truth was given,
    `prevalence` is its mean. `p_value` tests that everybody followed, against that some did not.
    """

    says: str
    who: str
    answers: int
    share: float
    stderr: float | None
    prevalence: float
    prevalence_stderr: float | None
    naive: float
    statistic: float
    p_value: float

    @property
    def weak(self) -> bool:
        """Whether the share's error is so large that the design says next to nothing of it."""
        return self.stderr is not None and self.stderr > _WEAK

    def __str__(self) -> str:
        """Three lines, and a fourth where the design says next to nothing."""
        return (
            f"of {self.who}, {_told(self.share, self.stderr)} did not follow and said {self.says}\n"
            f"prevalence {_told(self.prevalence, self.prevalence_stderr)}; "
            f"{self.naive:.4f} if all had followed\n"
            f"everybody followed: statistic {self.statistic:.3f}, p = {probability(self.p_value)}"
            + ("\nthe design says next to nothing of this share: see its error" if self.weak else "")
        )


def compliance(
    answers: Answers | Release,
    question: str | None = None,
    *,
    says: Says = "no",
    who: Literal["everyone", "carriers"] = "everyone",
    truth: str | float | None = None,
) -> Compliance:
    """The share of people who, whatever the channel asked of them, answered no, yes, or by a toss of a coin.

    "no" and "yes" are the first and the second answer of the channel, so "different" and "same" of
    Crosswise. The share can be told apart from the prevalence if records went through two channels that
    differ enough, such as two protection levels, or if the `truth` is known: a column of 0 and 1, or one
    number for all. Refused where the answers cannot tell them apart, such as guessing under mirrored
    questions.
    """
    part = answers_of(answers).of(question).given()
    if (
        any(len(part.channels[at].answers()) != 2 for at in np.unique(part.channel))
        or len(part.truths()) != 2
    ):
        raise InputError("Compliance is estimated for questions of two truths and two answers.")
    if says not in _SAYS or who not in {"everyone", "carriers"}:
        raise InputError(
            f"says= is one of {list(_SAYS)} and who= 'everyone' or 'carriers'; got {says!r}, {who!r}."
        )
    if not len(part):
        raise InputError("There is no answer to estimate from.")
    known = _known(part, truth)
    likelihood = part.likelihood()
    drift = np.where(part.code == 1, _SAYS[says], 1.0 - _SAYS[says])
    columns = [likelihood, drift[:, None]] + ([] if known is None else [known[:, None]])
    rows, counts = grouped(np.concatenate(columns, axis=1))
    model = _Model(rows, counts, who == "carriers", known is not None)
    model.check_identified(_expected(part, says, known))
    best = model.maximum(free=True)
    null = model.maximum(free=False)
    statistic = max(0.0, 2 * (model.value(best) - model.value(null)))
    if statistic < _SAME:
        best, statistic = null, 0.0
    errors = model.errors(best, part, np.concatenate(columns, axis=1))
    mean = None if known is None else float(known.mean())
    return Compliance(
        says,
        who,
        len(part),
        float(best[0]),
        errors[0],
        float(best[1]) if mean is None else mean,
        errors[1] if mean is None else None,
        float(null[1]) if mean is None else mean,
        statistic,
        float(0.5 * chdtrc(1, statistic)) if statistic > 0 else 1.0,
    )


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    """Rows of (law if no, law if yes, law of who does not follow[, truth]), and how often each occurs."""

    rows: NDArray[np.float64]
    counts: NDArray[np.float64]
    carriers: bool
    known: bool

    def laws(
        self, point: NDArray[np.float64], rows: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """The probability of each row's answer at a share of who does not follow and a prevalence."""
        given = self.rows if rows is None else rows
        away, have = point[0], given[:, 3] if self.known else point[1]
        no, yes, drift = given[:, 0], given[:, 1], given[:, 2]
        if self.carriers:
            return np.asarray((1 - have) * no + have * ((1 - away) * yes + away * drift))
        return np.asarray((1 - away) * ((1 - have) * no + have * yes) + away * drift)

    def value(self, point: NDArray[np.float64]) -> float:
        """The log-likelihood."""
        return float(self.counts @ np.log(np.maximum(self.laws(point), 1e-300)))

    def slopes(self, point: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Derivatives of the laws, exact since they are linear in either number."""
        columns = []
        for at in range(1 if self.known else 2):
            one, two = point.copy(), point.copy()
            one[at], two[at] = 0.0, 1.0
            columns.append(self.laws(two, rows) - self.laws(one, rows))
        return np.stack(columns, axis=1)

    def maximum(self, *, free: bool) -> NDArray[np.float64]:
        """The best point inside [0, 1], from the best of a grid; with `free` false everybody follows."""
        side = np.linspace(0, 1, _GRID)
        starts = [
            np.array([a, b]) for a in (side if free else [0.0]) for b in ([0.5] if self.known else side)
        ]
        start = max(starts, key=self.value)
        ends = [(0.0, 1.0 if free else 0.0), (0.5, 0.5) if self.known else (0.0, 1.0)]
        total = self.counts.sum()

        def loss(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            law = np.maximum(self.laws(point), 1e-300)
            slope = self.slopes(point, self.rows).T @ (self.counts / law) / total
            return -self.value(point) / total, -np.append(slope, [0.0] * (2 - slope.size))

        found = optimize.minimize(
            loss, start, jac=True, bounds=ends, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10}
        )
        return np.asarray(found.x) if self.value(found.x) >= self.value(start) else start

    def check_identified(self, rows: NDArray[np.float64]) -> None:
        """Refuse a design under which the two numbers move the answers in one and the same way."""
        slopes = self.slopes(np.array([0.1, 0.3]), rows)
        law = self.laws(np.array([0.1, 0.3]), rows)
        information = slopes.T @ (slopes / np.maximum(law, 1e-12)[:, None]) / len(rows)
        if np.linalg.eigvalsh(information)[0] < _FLAT:
            raise InputError(
                "This design cannot tell people who do not follow from the prevalence: both move the answers "
                "in the same way. Use two protection levels (another p for half of the people), a known "
                "truth=, or says='no' or 'yes' where 'guess' cannot be seen."
            )

    def errors(
        self, point: NDArray[np.float64], part: Answers, rows: NDArray[np.float64]
    ) -> tuple[float | None, float | None]:
        """Standard errors of both, people as clusters; None where the maximum stands at an end."""
        size = 1 if self.known else 2
        if min(point[:size].min(), 1 - point[:size].max()) < 1e-5:
            return None, None
        scores = self.slopes(point, rows) / self.laws(point, rows)[:, None]
        bread = np.linalg.inv(scores.T @ scores)
        spread = covariance(scores @ bread, part.person)
        found = np.sqrt(np.diag(spread)).tolist()
        return found[0], found[1] if size == 2 else None


def _known(part: Answers, truth: str | float | None) -> NDArray[np.float64] | None:
    if truth is None:
        return None
    if isinstance(truth, str):
        column = part.fact(truth)
        if column.dtype == object or not np.isin(column, (0.0, 1.0)).all():
            raise InputError(f"truth={truth!r} is a column of 0 and 1, none of them missing.")
        return np.asarray(column, dtype=np.float64)
    if not 0 <= truth <= 1:
        raise InputError(f"truth= is a share between 0 and 1, and got {truth!r}.")
    return np.full(len(part), float(truth))


def _expected(part: Answers, says: str, known: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Both answers of every row that differs in channel or truth: what the design could show."""
    pairs = {
        (int(channel), float(have))
        for channel, have in zip(part.channel, part.channel if known is None else known, strict=True)
    }
    rows = []
    for channel, have in pairs:
        matrix = part.channels[channel].matrix()
        for answer in (0, 1):
            drift = _SAYS[says] if answer else 1.0 - _SAYS[says]
            rows.append([*matrix[:, answer], drift, *([] if known is None else [have])])
    return np.array(rows)


def _told(value: float, error: float | None) -> str:
    return f"{value:.4f}" + ("" if error is None else f" (s.e. {error:.4f})")
