"""The mean operator: the sum of label times row, exact on an integer grid.

It is all that a linear-odd loss needs of the labels (docs/proofs/linear_odd.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from suffice.core.bounds import Bound, Radius
from suffice.core.errors import BoundsError, InputError, SchemaError, UnboundedSensitivity
from suffice.core.fold import fold
from suffice.core.recipe import Recipe
from suffice.core.units import FeatureOf, LabelOf, RecordOf
from suffice.statistics.encoder import Encoder
from suffice.statistics.label import Class, Classes
from suffice.statistics.mean_sum import MeanSum
from suffice.statistics.radius import PublicNorms, Sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suffice.core.fold import Progress
    from suffice.core.protocols import Source
    from suffice.core.units import Unit

__all__ = ["MeanOperator"]

_MOST_BITS = 22


@final
@dataclass(frozen=True, slots=True)
class MeanOperator:
    """Σ y·x over the rows, for labels y of two classes (as ±1) or one block Σ x per class.

    `features` is a recipe, or names of columns that are numbers already. `classes=None` means
    (False, True) for a boolean column and (0, 1) for an integer one, decided by its type and
    never by its values.
    """

    features: Recipe | tuple[str, ...]
    label: str
    bound: Bound
    classes: tuple[Class, ...] | None = None
    intercept: bool = True
    bits: int = 20

    def __init__(
        self,
        features: Recipe | Sequence[str],
        label: str,
        *,
        bound: Bound,
        classes: Sequence[Class] | None = None,
        intercept: bool = True,
        bits: int = 20,
    ) -> None:
        if isinstance(features, str):
            raise InputError(f"features= is a recipe or a list of names; write [{features!r}].")
        if not isinstance(bound, Bound):
            raise BoundsError(f"bound= is a Bound, such as Bound(2, Radius.public(0.95)), and got {bound!r}.")
        if isinstance(bits, bool) or not isinstance(bits, int) or not 1 <= bits <= _MOST_BITS:
            raise BoundsError(f"bits= is a whole number from 1 to {_MOST_BITS}, and got {bits!r}.")
        put = object.__setattr__
        put(self, "features", features if isinstance(features, Recipe) else tuple(features))
        put(self, "label", label)
        put(self, "bound", bound)
        put(self, "classes", None if classes is None else tuple(classes))
        put(self, "intercept", intercept)
        put(self, "bits", bits)

    @property
    def recipe(self) -> Recipe:
        """How a row becomes a vector."""
        return Recipe.of(self.features, intercept=self.intercept)

    def resolve(
        self, source: Source, unit: Unit, *, workers: int = 1, progress: Progress | None = None
    ) -> MeanSum:
        """Settle classes and radius, from the schema and from public columns alone."""
        self._check(source, unit)
        classes = Classes.of(source.schema, self.label, self.classes)
        encoder = Encoder(self.recipe, self.bits, saturate=not unit.rows_are_public)
        radius = self._radius(source, unit, encoder, workers, progress)
        return MeanSum(encoder, self.label, classes, self.bound, radius, unit)

    def _check(self, source: Source, unit: Unit) -> None:
        recipe, names = self.recipe, source.schema.names
        for name in (*recipe.reads(), self.label):
            if name not in names:
                raise SchemaError.missing_column(name, names)
        if self.label in recipe.reads():
            raise UnboundedSensitivity(
                f"The label {self.label!r} is among the features. Take it out of the recipe."
            )
        if isinstance(unit, LabelOf):
            _check_label(self.label, recipe, unit)
        elif not isinstance(unit, RecordOf | FeatureOf):
            raise UnboundedSensitivity(
                f"The mean operator is a sum over rows, and the ledger's unit is {unit}."
            )
        hidden = unit.protected()
        learned = recipe.origin == "learned" and (hidden is None or hidden & set(recipe.reads()))
        if learned:
            raise UnboundedSensitivity(
                f"The recipe was learned from columns that this ledger protects ({unit.sentence()}). "
                "State centres, scales and levels instead: Recipe((Numeric('age', centre=40, scale=15),))."
            )

    def _radius(
        self, source: Source, unit: Unit, encoder: Encoder, workers: int, progress: Progress | None
    ) -> int:
        asked = self.bound.radius
        if not isinstance(asked, Radius):
            return max(1, math.floor(asked * 2.0**self.bits))
        if not unit.rows_are_public:
            raise UnboundedSensitivity(
                "Radius.public reads the rows, which this unit protects. State a radius: Bound(2, 1.0)."
            )
        norms = PublicNorms(encoder, self.bound.norm)
        state: Sample = fold(norms, source, workers=workers, progress=progress)
        return norms.quantile(state, asked.quantile)


def _check_label(label: str, recipe: Recipe, unit: LabelOf) -> None:
    seen = sorted(unit.protected() & set(recipe.reads()))
    if seen:
        raise UnboundedSensitivity(
            f"The column {seen[0]!r} is protected by the ledger's unit and is also among the features. "
            "Take it out of the recipe."
        )
    if label not in unit.protected():
        raise UnboundedSensitivity(
            f"The label {label!r} is not what the ledger protects, which is {unit.sentence()}. "
            f"Use a ledger whose unit is LabelOf({label!r})."
        )
