"""What a statistic tells of itself, for the release that carries it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from suffice.core.bounds import Bound
    from suffice.core.recipe import Recipe
    from suffice.core.witness import Witness

__all__ = ["Facts"]


@final
@dataclass(frozen=True, slots=True)
class Facts:
    """Public facts of a finished statistic; `assumes` says in words what must be true for the guarantee."""

    kind: str
    names: tuple[str, ...]
    recipe: Recipe | None = None
    bound: Bound | None = None
    bits: int | None = None
    radius: int | None = None
    witness: Witness | None = None
    about: dict[str, Any] = field(default_factory=dict)
    assumes: tuple[str, ...] = ()
