"""The audit of a release as it is: whether what it says of itself can be true."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from suffice.core.bounds import Sensitivity
from suffice.core.errors import SufficeError
from suffice.core.fold import fold
from suffice.core.guarantees import ApproxDP, NotPrivate, PureDP, ZeroConcentratedDP
from suffice.core.laws import Cube, Gaussian, L2Laplace, Laplace, NoLaw
from suffice.core.units import Answer, FeatureOf, LabelOf, RecordOf
from suffice.mechanisms.calibration import (
    gaussian_delta,
    gaussian_rho,
    l2_laplace_delta,
    laplace_rho,
    pure_rho,
)
from suffice.sources.frame import is_source
from suffice.sources.table import Table
from suffice.statistics.encoder import Encoder
from suffice.statistics.label import Classes
from suffice.statistics.mean_sum import MeanSum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from suffice.core.guarantees import Promise
    from suffice.core.laws import Law
    from suffice.releases.release import Release

__all__ = ["Examination", "Point", "audit_release", "kept"]

_FAR = 1e-15  # a chance so small that noise does not reach there


@final
@dataclass(frozen=True, slots=True)
class Point:
    """One thing that was looked at: whether it holds (None: it could not be told), and what was seen."""

    name: str
    holds: bool | None
    seen: str


@final
@dataclass(frozen=True, slots=True)
class Examination:
    """All that was looked at in one release."""

    promise: Promise
    points: tuple[Point, ...]

    @property
    def falsified(self) -> bool:
        """Whether something that the release says of itself cannot be true."""
        return any(point.holds is False for point in self.points)

    def sentence(self) -> str:
        """The verdict in plain words; passing every point is not a proof."""
        wrong = [point for point in self.points if point.holds is False]
        if wrong:
            return "Falsified: " + " ".join(point.seen for point in wrong)
        if isinstance(self.promise, NotPrivate):
            return "Nothing is claimed: the release says itself that it protects nothing."
        told = sum(point.holds is not None for point in self.points)
        return (
            f"Not falsified: {self.promise} is claimed, and {told} of {len(self.points)} points hold, the "
            "others cannot be told from the file. Whether the noise was drawn as the law says, no file shows."
        )


def audit_release(release: Release, *, rows: object = None) -> Examination:
    """Work out again what the release claims, from the numbers that it carries.

    `rows` are the public feature rows, for a label unit: with them the sensitivity and the witness are
    computed again, too.
    """
    points = [*_promises(release), *_shape(release), *_sensitivity(release), *_witness(release)]
    points += [*_columns(release), *_size(release), *_unnoised(release)]
    if rows is not None:
        points += _against(release, rows)
    return Examination(release.guarantee.promise, tuple(points))


def _promises(release: Release) -> Iterator[Point]:
    """What law and sensitivity give, beside what is promised."""
    law, moved = release.law, release.sensitivity
    for promise in (release.guarantee.promise, *release.guarantee.also):
        if isinstance(promise, NotPrivate):
            yield Point("promise", None, "No promise is made.")
        elif law is None or moved is None:
            yield Point("promise", None, f"{promise} is promised by a law that is not in the file.")
        else:
            yield kept(promise, law, moved)


def kept(promise: Promise, law: Law, moved: Sensitivity) -> Point:
    """Whether noise of this law keeps the promise for this sensitivity."""
    given = _given(promise, law, moved)
    if given is None:
        return Point("promise", None, f"There is no formula here for {promise} under {type(law).__name__}.")
    name, asked = _bound(promise)
    text = f"law and sensitivity give {name} = {_number(given)}, and {promise} is promised."
    return Point("promise", given <= asked, text[0].upper() + text[1:])


def _bound(promise: Promise) -> tuple[str, Fraction]:
    if isinstance(promise, ApproxDP):
        return "delta", Fraction(promise.delta)
    if isinstance(promise, ZeroConcentratedDP):
        return "rho", Fraction(promise.rho)
    return ("epsilon", Fraction(promise.epsilon)) if isinstance(promise, PureDP) else ("", Fraction(0))


def _given(promise: Promise, law: Law, moved: Sensitivity) -> Fraction | float | None:
    """The epsilon, delta or rho of this law for this sensitivity, never understated; None if unknown."""
    pure = _pure(law, moved)
    if isinstance(promise, PureDP):
        return pure
    if isinstance(promise, ZeroConcentratedDP):
        return _rho(law, moved, pure)
    if not isinstance(promise, ApproxDP):
        return None
    if isinstance(law, Gaussian):
        return gaussian_delta(moved.l2, law.stddev, promise.epsilon)
    if isinstance(law, L2Laplace):
        return l2_laplace_delta(moved.l2, law.scale, promise.epsilon, law.freedom)
    return None if pure is None or pure > Fraction(promise.epsilon) else Fraction(0)


def _pure(law: Law, moved: Sensitivity) -> Fraction | float | None:
    if isinstance(law, Laplace):
        return Fraction(moved.l1) / law.scale
    if isinstance(law, L2Laplace):
        return Fraction(moved.l2) / law.scale
    if isinstance(law, Cube):
        return Fraction(moved.linf) / law.scale
    return math.inf if isinstance(law, Gaussian | NoLaw) else None


def _rho(law: Law, moved: Sensitivity, pure: Fraction | float | None) -> Fraction | float | None:
    if isinstance(law, Gaussian):
        return gaussian_rho(moved.l2, law.stddev)
    if pure is None or pure == math.inf:
        return pure
    return laplace_rho(pure) if isinstance(law, Laplace) else pure_rho(pure)


def _shape(release: Release) -> Iterator[Point]:
    law = release.law
    if law is None or release.answers is not None:
        return
    blocks = getattr(law, "classes", 2) - 1
    width = getattr(law, "dimension", 0) * blocks
    fits = width == release.values.size
    yield Point("law", fits, f"The law speaks of {width} coordinates, and there are {release.values.size}.")


def _sensitivity(release: Release) -> Iterator[Point]:
    """Beside what the bound admits: never more; and where the rows are protected, never less."""
    moved, bound, grid, unit = release.sensitivity, release.bound, release.grid, release.guarantee.unit
    if moved is None or bound is None or grid is None or grid.radius is None or release.recipe is None:
        yield Point("sensitivity", None, "The file has no bound to derive a sensitivity from.")
        return
    most = _admitted(release, Sensitivity.of_row(bound.norm, grid.radius, release.recipe.dimension))
    if most is None or isinstance(unit, Answer):
        yield Point("sensitivity", None, "There is no formula here for the sensitivity under this unit.")
        return
    pairs = [(getattr(moved, norm), getattr(most, norm)) for norm in ("l1", "l2", "linf")]
    least = 1 if unit.rows_are_public else None
    holds = all(low <= high if least else low >= high for low, high in pairs) and min(moved.l1, moved.l2) > 0
    what = "at most" if least else "at least"
    yield Point(
        "sensitivity",
        holds,
        f"The bound admits a sensitivity of {most.l1}, {most.l2}, {most.linf} in the three norms; "
        f"{what} that is expected, and {moved.l1}, {moved.l2}, {moved.linf} is stated.",
    )


def _admitted(release: Release, row: Sensitivity) -> Sensitivity | None:
    """The sensitivity of a mean operator from its bound alone; without that of the count."""
    unit = release.guarantee.unit
    if release.kind != "MeanOperator":
        return None
    if isinstance(unit, LabelOf):
        two = len(release.about.get("classes", (0, 1))) == 2
        root = math.isqrt(2 * row.l2**2 - 1) + 1
        flip = row.times(2) if two else Sensitivity(2 * row.l1, root, row.linf)
        return flip.times(unit.at_most)
    if isinstance(unit, RecordOf):
        return row.times(unit.at_most * (2 if unit.relation == "replace" else 1))
    return row.times(2) if isinstance(unit, FeatureOf) else None


def _witness(release: Release) -> Iterator[Point]:
    witness, unit = release.witness, release.guarantee.unit
    if witness is None:
        yield Point("witness", None, "There is no witness of the rows.")
        return
    if not unit.rows_are_public:
        yield Point("witness", False, f"A witness of the rows is given, and {unit.sentence()} is protected.")
        return
    width = None if release.recipe is None else release.recipe.dimension
    count = release.about.get("count", witness.count)
    fits = count == witness.count and width in {None, len(witness.feature_sum)}
    yield Point(
        "witness",
        fits,
        f"The witness counts {witness.count} rows in {len(witness.feature_sum)} columns; the release says "
        f"{count} rows in {width} columns.",
    )


def _columns(release: Release) -> Iterator[Point]:
    """No protected column among the features, and none that a recipe was learned from."""
    recipe, unit = release.recipe, release.guarantee.unit
    if recipe is None:
        return
    hidden = unit.protected()
    if recipe.origin == "learned":
        seen = sorted(recipe.reads() if hidden is None else hidden & set(recipe.reads()))
        words = f"The recipe was learned from {seen}, which {'are' if seen else 'is none'} protected."
        yield Point("recipe", not seen, words)
    if isinstance(unit, LabelOf):
        shared = sorted(unit.protected() & set(recipe.reads()))
        yield Point("features", not shared, f"{shared or 'No'} protected column is among the features.")
    exact = not unit.rows_are_public and isinstance(unit, RecordOf) and unit.relation == "add-remove"
    if exact:
        yield Point(
            "count", "count" not in release.about, "The number of rows is protected, and is it in the file?"
        )


def _size(release: Release) -> Iterator[Point]:
    """No value lies further out than the rows and the noise reach together."""
    if release.law is None or release.witness is None or release.grid is None or release.grid.radius is None:
        return
    most = release.witness.count * release.grid.radius + release.law.quantile(1 - _FAR)
    largest = int(abs(release.values).max())
    yield Point("size", largest <= most, f"The largest value is {largest}; rows and noise reach {most:.6g}.")


def _unnoised(release: Release) -> Iterator[Point]:
    """The sum of the constant column is a whole number of rows only if nothing was added to it."""
    recipe, witness = release.recipe, release.witness
    if recipe is None or witness is None or release.grid is None or isinstance(release.law, NoLaw):
        return
    if not recipe.intercept or release.values.ndim != 1 or release.kind != "MeanOperator":
        return
    step = round(recipe.unit(release.grid.bits))
    constant = int(release.values[len(recipe.names) - 1])
    whole = step > 1 << 10 and constant % step == 0 and abs(constant) <= witness.count * step
    yield Point(
        "noise",
        False if whole else None,
        "The sum of the constant column is a whole number of rows: it seems that no noise was added."
        if whole
        else "The sum of the constant column is not a whole number of rows, as noise leaves it.",
    )


def _against(release: Release, rows: object) -> list[Point]:
    """Sensitivity and witness, computed again from the feature rows."""
    unit, bound, grid = release.guarantee.unit, release.bound, release.grid
    if not isinstance(unit, LabelOf) or bound is None or grid is None or grid.radius is None:
        return [Point("rows", None, "Under this unit nothing follows from the feature rows.")]
    if release.recipe is None or release.kind != "MeanOperator":
        return [Point("rows", None, "There is no recipe to carry out on the rows.")]
    classes = Classes(release.about["label"], tuple(release.about["classes"]))
    settled = MeanSum(Encoder(release.recipe, grid.bits), classes.column, classes, bound, grid.radius, unit)
    try:
        state = fold(settled.public(), rows if is_source(rows) else Table(rows))
    except SufficeError as error:
        return [Point("rows", None, f"The rows cannot be read as the recipe says: {error}")]
    again, same = settled.sensitivity(unit, state), settled.witness(state) == release.witness
    if not same:
        return [Point("rows", None, "These are other rows than those of the release, by its witness.")]
    stated = release.sensitivity or Sensitivity(0, 0, 0)
    enough = min(stated.l1 - again.l1, stated.l2 - again.l2, stated.linf - again.linf) >= 0
    return [
        Point("rows", True, "The witness fits these rows."),
        Point(
            "sensitivity of the rows",
            enough,
            f"These rows have the sensitivity {again.l1}, {again.l2}, {again.linf}; stated is "
            f"{stated.l1}, {stated.l2}, {stated.linf}.",
        ),
    ]


def _number(value: Fraction | float) -> str:
    return f"{float(value):.6g}"
