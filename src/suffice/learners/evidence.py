"""What a moment learner starts from: public vectors, a mean, and the covariance of its error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from suffice.core.bounds import Bound, Radius, clip, integer_norm
from suffice.core.errors import BoundsError, ReleaseMismatch, UnsupportedPair
from suffice.core.moments import Block, Dense, Diagonal, Isotropic
from suffice.maths.even_pass import second_moment
from suffice.maths.piece import in_order
from suffice.sources.frame import batches
from suffice.statistics.encoder import Encoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from suffice.core.laws import Law
    from suffice.core.moments import Covariance, Moments
    from suffice.core.recipe import Recipe
    from suffice.core.witness import Witness
    from suffice.maths.kernels import Vectors
    from suffice.releases.release import Grid, Release

__all__ = [
    "Evidence",
    "clipped",
    "from_labels",
    "from_moments",
    "from_release",
    "mixed_covariance",
    "of_other_rows",
    "vectors",
]

Rows = Literal["same", "sample"]
_WORD = 1 << 64


@final
@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Public vectors (shortened, intercept included), the mean of label times vector, and its error.

    `block` holds the vectors as they are read at each pass: as float32 where a grid makes that exact.
    `count` is the number of rows that the mean is over; `weights`, where given, have mean one, and
    `weight` is what they added up to before. `sampled` says that the mean is over other rows than
    these, of the same population; for two classes `covariance` then bounds what that adds from above.
    For K classes `completion` says how much of the mean row each block was given so that all add up.
    """

    block: NDArray[np.floating[Any]]
    mean: NDArray[np.float64]
    covariance: Covariance
    count: int
    weights: NDArray[np.float64] | None = None
    weight: float | None = None
    sampled: bool = False
    completion: NDArray[np.float64] | None = None

    @property
    def rows(self) -> NDArray[np.float64]:
        """The vectors as float64; a copy where they are read as float32."""
        return np.asarray(self.block, dtype=np.float64)

    @property
    def exact(self) -> bool:
        """Whether the mean is known without error, as from plain labels."""
        return self.covariance.trace() == 0.0

    def second_moment(self) -> float:
        """The mean squared length of a row."""
        lengths = np.einsum("ij,ij->i", self.rows, self.rows)
        return float(lengths.mean() if self.weights is None else lengths @ self.weights / len(lengths))


def from_release(X: object, release: Release, rows: Rows) -> Evidence:
    """The evidence in a release of a mean operator, tied to these rows by its witness."""
    recipe, bound, grid = release.recipe, release.bound, release.grid
    if (
        release.kind != "MeanOperator"
        or recipe is None
        or bound is None
        or grid is None
        or grid.radius is None
    ):
        raise UnsupportedPair(
            f"MeanOperatorClassifier learns from a release of kind MeanOperator, and got {release.kind}."
        )
    if release.law is None:
        raise UnsupportedPair(
            "The release does not say how its noise is distributed, so it cannot be weighed."
        )
    encoder = Encoder(recipe, grid.bits)
    ties = _Ties(recipe.dimension)
    norm, radius = bound.norm, grid.radius
    read = in_order(
        batches(X, recipe.reads(), recipe.reads()), lambda batch: encoder.vectors(batch, norm, radius)
    )
    whole = [ties.add(part) for part in read]
    if not whole:
        raise ReleaseMismatch("X has no rows.")
    if rows == "same":
        ties.check(release.witness)
    kinds = len(release.about["classes"])
    matrix: NDArray[np.floating[Any]] = np.concatenate(whole)
    if kinds > 2:
        matrix = matrix.astype(np.float64)
    mean, covariance, count = _noisy_mean(release, release.law, grid, matrix)
    found = Evidence(matrix, mean, covariance, count)
    if mean.ndim > 1:
        shares = np.eye(kinds)[-1] if len(release.values) < kinds else np.full(kinds, 1.0 / kinds)
        found = replace(found, completion=shares)
    return of_other_rows(found) if rows == "sample" else found


def of_other_rows(evidence: Evidence) -> Evidence:
    """The same mean as one over other rows: both samples stray from the population, by XᵀX/m at most."""
    if evidence.mean.ndim > 1:
        return replace(evidence, sampled=True)
    rows = evidence.block
    share = 1.0 / evidence.count + 1.0 / len(rows)
    wider = Dense(evidence.covariance.dense() + second_moment(rows, rows.shape[1]) * share)
    return replace(evidence, covariance=wider, sampled=True)


def _noisy_mean(
    release: Release, law: Law, grid: Grid, rows: NDArray[np.floating[Any]]
) -> tuple[NDArray[np.float64], Covariance, int]:
    """The mean in units of the recipe, the covariance of its error, and the number of rows it is over."""
    values, kinds = release.values.astype(np.float64), len(release.about["classes"])
    weight = release.about.get("count_weight")
    if weight is None:
        count = int(release.about["count"])
    else:
        count = max(1, round(float(values[..., -1].sum()) / weight))
        values = values[..., :-1]
    scale = 2.0**-grid.bits / count
    if kinds == 2:
        spread = law.covariance()
        variance = spread.variance if isinstance(spread, Isotropic) else spread.trace() / len(release.names)
        return values * scale, Isotropic(variance * scale**2, values.size), count
    means, classes = _class_means(values * scale, law, rows.mean(axis=0, dtype=np.float64), kinds)
    return means, Block(classes * scale**2, rows.shape[1]), count


def _class_means(
    blocks: NDArray[np.float64], law: Law, mean: NDArray[np.float64], kinds: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """All K class means, adding up to the mean of the rows, and the class covariance of their error."""
    spread = law.covariance()
    if len(blocks) == kinds - 1:  # noise in contrast: the last block is what is left
        completed = np.vstack([np.eye(kinds - 1), -np.ones(kinds - 1)])
        inner = spread.classes if isinstance(spread, Block) else np.zeros((kinds - 1, kinds - 1))
        return np.vstack([blocks, mean - blocks.sum(axis=0)]), completed @ inner @ completed.T
    variance = spread.variance if isinstance(spread, Isotropic) else 0.0
    return blocks + (mean - blocks.sum(axis=0)) / kinds, variance * (np.eye(kinds) - 1.0 / kinds)


def from_moments(X: NDArray[np.float64], moments: Moments, rows: Rows = "same") -> Evidence:
    """The evidence in moments over these vectors, or over others like them, which are taken as they are."""
    mean = np.asarray(moments.mean, dtype=np.float64)
    if mean.shape[-1:] != (X.shape[1],):
        raise ReleaseMismatch(
            f"The moments have {mean.size} coordinates ({', '.join(map(str, moments.names[:6]))}), "
            f"and the rows {X.shape[1]}. Give the vectors that the moments are of, intercept included."
        )
    kinds = len(mean)
    if mean.ndim == 1:
        found = Evidence(X, mean, moments.covariance, moments.count)
    elif kinds == 2:
        mixed = mixed_covariance(moments.covariance, np.array([[-1.0], [1.0]]))
        found = Evidence(X, mean[1] - mean[0], mixed, moments.count)
    else:
        mean = mean + (X.mean(axis=0) - mean.sum(axis=0)) / kinds
        mixed = mixed_covariance(moments.covariance, np.eye(kinds) - 1.0 / kinds)
        found = Evidence(X, mean, mixed, moments.count, completion=np.full(kinds, 1.0 / kinds))
    return of_other_rows(found) if rows == "sample" else found


def mixed_covariance(covariance: Covariance, classes: NDArray[np.float64]) -> Covariance:
    """The covariance of class means that are mixed by this matrix, a column for each new mean."""
    if isinstance(covariance, Diagonal | Dense):
        matrix = covariance.dense()
        whole = np.kron(classes, np.eye(len(matrix) // len(classes)))
        return Dense(whole.T @ matrix @ whole)
    if isinstance(covariance, Block):
        mixed, width = classes.T @ covariance.classes @ classes, covariance.dimension
    else:
        mixed, width = covariance.variance * classes.T @ classes, covariance.dimension // len(classes)
    return Isotropic(float(mixed[0, 0]), width) if classes.shape[1] == 1 else Block(mixed, width)


def from_labels(
    rows: NDArray[np.float64], codes: NDArray[np.intp], kinds: int, weights: NDArray[np.float64] | None
) -> Evidence:
    """The evidence in plain labels: the exact mean operator, signed for two classes, by class for K."""
    total = float(len(rows) if weights is None else weights.sum())
    share = None if weights is None else weights * (len(rows) / total)
    if kinds == 2:
        signs = 2.0 * codes - 1.0
        mean = (signs if share is None else signs * share) @ rows / len(rows)
        return Evidence(rows, mean, Isotropic(0.0, rows.shape[1]), len(rows), share, total)
    chosen = (codes[:, None] == np.arange(kinds)) * (1.0 if share is None else share[:, None])
    means = chosen.T @ rows / len(rows)
    return Evidence(rows, means, Block(np.zeros((kinds, kinds)), rows.shape[1]), len(rows), share, total)


def vectors(X: object, recipe: Recipe, bits: int = 20) -> NDArray[np.float64]:
    """The vectors of rows under a recipe, on the grid and not shortened, as they are predicted from."""
    encoder = Encoder(recipe, bits)
    whole = [encoder.rows(batch, 2) for batch in batches(X, recipe.reads(), recipe.reads())]
    if not whole:
        return np.zeros((0, recipe.dimension))
    return np.concatenate(whole).astype(np.float64) * 2.0**-bits


def clipped(rows: NDArray[np.float64], bound: Bound, bits: int = 20) -> NDArray[np.float64]:
    """Vectors shortened by the rule of the grid, for a bound given to `fit` beside plain labels."""
    grid = np.rint(rows * 2.0**bits).astype(np.int64)
    norms = integer_norm(grid, bound.norm)
    if isinstance(bound.radius, Radius):
        place = max(1, int(np.ceil(bound.radius.quantile * len(norms))))
        radius = int(np.partition(norms, place - 1)[place - 1])
    else:
        radius = int(np.floor(bound.radius * 2.0**bits))
    if radius < 1:
        raise BoundsError(f"The radius {bound.radius!r} is less than one grid unit.")
    return clip(grid, bound.norm, radius).astype(np.float64) * 2.0**-bits


@final
class _Ties:
    """The witness of the rows at hand, to be compared with that of a release."""

    def __init__(self, dimension: int) -> None:
        self.count = 0
        self.total = np.zeros(dimension, np.int64)
        self.lanes = (0, 0)

    def add(self, part: Vectors) -> NDArray[np.float32]:
        """These rows too, which are handed back."""
        self.count += len(part.rows)
        self.total += part.feature_sum
        low, high = self.lanes
        self.lanes = (low + part.fingerprint[0]) % _WORD, (high + part.fingerprint[1]) % _WORD
        return part.rows

    def check(self, witness: Witness | None) -> None:
        """Refuse other rows than the release is of, saying what differs."""
        if witness is None:
            raise ReleaseMismatch(
                "This release does not say which rows it is of, since they are protected. If X is a public "
                "sample of the same population, say so: fit(X, release, rows='sample')."
            )
        if self.count != witness.count:
            raise ReleaseMismatch(
                f"The release is of {witness.count} rows, and X has {self.count}. {_ADVICE}"
            )
        low, high = self.lanes
        if f"{low:016x}{high:016x}" != witness.fingerprint:
            off = int(np.sum(self.total != np.array(witness.feature_sum)))
            where = f"{off} of {len(self.total)} column sums differ" if off else "single rows differ"
            raise ReleaseMismatch(f"X holds other rows than the release is of: {where}. {_ADVICE}")


_ADVICE = (
    "Give the rows that the owner holds, in any order and untransformed: the release brings its own recipe, "
    "so no scaler or encoder belongs in front. If X is another sample of the same population, "
    "say rows='sample'."
)
