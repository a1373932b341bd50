"""A design whose settings differ from record to record, as a column of a survey says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from suffice.channels.finite import Finite, logs
from suffice.channels.label import Label, named, places
from suffice.core.errors import InputError
from suffice.core.guarantees import Guarantee, NotPrivate, Promise

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Varying"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Varying:
    """One finite channel per record: the distinct ones, and which of them each record has."""

    channels: tuple[Finite, ...]
    which: NDArray[np.intp]

    def __post_init__(self) -> None:
        """Refuse records without a channel, and channels with other truths or answers."""
        which = np.array(self.which, dtype=np.intp)
        which.flags.writeable = False
        object.__setattr__(self, "channels", tuple(self.channels))
        object.__setattr__(self, "which", which)
        if not self.channels or which.ndim != 1 or not ((which >= 0) & (which < len(self.channels))).all():
            raise InputError("Varying takes channels, and for each record the place of its own among them.")
        if len({(one.truths(), one.answers()) for one in self.channels}) > 1:
            raise InputError(
                "The records' channels have different truths or answers. Give them one spelling, for "
                "example Crosswise(p, replies=('no', 'yes'))."
            )

    @classmethod
    def of(cls, design: Callable[..., Finite], /, **columns: ArrayLike) -> Self:
        """The design with one value of each setting per record: Varying.of(Warner, ask=frame["p1"])."""
        if not columns:
            raise InputError("Varying.of takes a design and its settings, a column each: ask=frame['p1'].")
        settings = np.stack(np.broadcast_arrays(*map(np.asarray, columns.values())), axis=-1)
        if settings.ndim != 2 or settings.dtype.kind not in "iuf" or not np.isfinite(settings).all():
            raise InputError("Every setting is a column of numbers, one per record, none of them missing.")
        rows, which = np.unique(settings, axis=0, return_inverse=True)
        made = [design(**dict(zip(columns, row, strict=True))) for row in rows.tolist()]
        return cls(tuple(made), which.reshape(-1))

    def truths(self) -> tuple[Label, ...]:
        """The labels that a truth may have."""
        return self.channels[0].truths()

    def answers(self) -> tuple[Label, ...]:
        """The labels that an answer may have."""
        return self.channels[0].answers()

    def matrix(self) -> NDArray[np.float64]:
        """For each record the probability of each answer, a row per truth."""
        return np.asarray(np.stack([one.matrix() for one in self.channels])[self.which])

    def guarantee(self) -> Guarantee:
        """The weakest of the records' promises, which holds for everybody."""
        given = [one.guarantee() for one in self.channels]
        return max(given, key=lambda one: _strength(one.promise))

    def randomise(self, truth: Any) -> Any:
        """A fresh answer for each record, by its own channel."""
        codes = self._matched(places(self.truths(), truth, "truth"))
        drawn = np.empty_like(codes)
        for at, one in enumerate(self.channels):
            mine = self.which == at
            drawn[mine] = one.table().draw(codes[mine])
        return named(self.answers(), drawn)

    def log_density(self, answer: Any, truth: Any) -> NDArray[np.float64]:
        """The logarithm of the probability of each record's answer given its truth."""
        rows = self._matched(places(self.truths(), truth, "truth"))
        columns = self._matched(places(self.answers(), answer, "answer"))
        laws = np.stack([logs(one.matrix()) for one in self.channels])
        return np.asarray(laws[self.which, rows, columns])

    def unbias(self, answer: Any) -> NDArray[np.float64]:
        """A row per record and a column per truth; its mean given a truth is 1 there and 0 elsewhere."""
        columns = self._matched(places(self.answers(), answer, "answer"))
        each = np.stack([one.unbias(np.array(self.answers())) for one in self.channels])
        return np.asarray(each[self.which, columns])

    def _matched(self, codes: NDArray[np.intp]) -> NDArray[np.intp]:
        if codes.shape != self.which.shape:
            raise InputError(f"There are {self.which.size} records, and got values of shape {codes.shape}.")
        return codes


def _strength(promise: Promise) -> float:
    return float("inf") if isinstance(promise, NotPrivate) else float(getattr(promise, "epsilon", 0.0))
