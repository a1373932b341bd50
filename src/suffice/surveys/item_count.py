"""List experiments: people say how many items apply, and a part of them see one item more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy.special import ndtr

from suffice.core.errors import InputError
from suffice.surveys.estimate import numbered
from suffice.surveys.paper import columns_of, gaps
from suffice.surveys.table import probability
from suffice.surveys.variance import covariance

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ListCount", "list_count"]


@final
@dataclass(frozen=True, slots=True)
class ListCount:
    """The prevalence of the item that only the treated saw, and whether counts behave as a list's should.

    `table` has for every count from 0 up the estimated share of people with that many harmless items who
    do not have the sensitive one, and of those who do. None of these shares can be below 0; `p_value`
    bounds the chance that the lowest would fall so low, and a small one says that the longer list changed
    other answers.
    """

    treated: int
    control: int
    missing: int
    prevalence: float
    stderr: float
    table: tuple[tuple[float, float], ...]
    p_value: float

    def __str__(self) -> str:
        """One line."""
        return (
            f"{self.treated} treated, {self.control} control, {self.missing} missing: "
            f"{self.prevalence:.4f} (s.e. {self.stderr:.4f}); design p = {probability(self.p_value)}"
        )


def list_count(frame: Any, *, count: str, treated: str, cluster: str | None = None) -> ListCount:
    """The difference in mean counts: who saw the sensitive item (`treated` is 1) less who did not (0)."""
    columns = columns_of(frame)
    for name in (count, treated, *([] if cluster is None else [cluster])):
        if name not in columns:
            raise InputError(f"There is no column {name!r}. The table has: {', '.join(columns)}.")
    whole = ~(gaps(columns[count]) | gaps(columns[treated]))
    said, saw = columns[count][whole], columns[treated][whole]
    if said.dtype == object or (said != np.round(said)).any() or (said < 0).any():
        raise InputError(f"The column {count!r} counts items: whole numbers from 0 up.")
    if not np.isin(saw, (0, 1)).all() or min((saw == 1).sum(), (saw == 0).sum()) < 2:
        raise InputError(
            f"The column {treated!r} is 1 for who saw the item and 0 else, with two people in each."
        )
    groups = np.arange(said.size) if cluster is None else numbered(columns[cluster][whole])
    one, two = saw == 1, saw == 0
    top = int(said.max())
    below = np.stack([said <= at for at in range(top + 1)], axis=1).astype(float)
    influence = np.concatenate([_about(said[:, None], one, two), _about(below, one, two)], axis=1)
    spread = covariance(influence, groups)
    lower, upper = below[one].mean(axis=0), below[two].mean(axis=0)
    with_item = upper - lower  # harmless at most k and having it, against k + 1 counted
    without = lower - np.concatenate([[0.0], upper[:-1]])
    return ListCount(
        int(one.sum()),
        int(two.sum()),
        int((~whole).sum()),
        float(said[one].mean() - said[two].mean()),
        float(np.sqrt(spread[0, 0])),
        tuple(zip(without.tolist(), with_item.tolist(), strict=True)),
        _lowest(lower, upper, int(one.sum()), int(two.sum())),
    )


def _about(
    values: NDArray[np.float64], one: NDArray[np.bool_], two: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """What each person adds to the difference of two means."""
    mine = (values - values[one].mean(axis=0)) / one.sum()
    others = (values - values[two].mean(axis=0)) / two.sum()
    return np.asarray(np.where(one[:, None], mine, -others))


def _lowest(lower: NDArray[np.float64], upper: NDArray[np.float64], treated: int, control: int) -> float:
    """Bonferroni's bound over one-sided tests that no share is below 0."""
    before = np.concatenate([[0.0], upper[:-1]])
    a = (upper - lower, np.sqrt(upper * (1 - upper) / control + lower * (1 - lower) / treated))
    b = (lower - before, np.sqrt(before * (1 - before) / control + lower * (1 - lower) / treated))
    scores = [value / error for part in (a, b) for value, error in zip(*part, strict=True) if error > 0]
    if not scores:
        return 1.0
    return float(min(1.0, len(scores) * ndtr(min(scores))))
