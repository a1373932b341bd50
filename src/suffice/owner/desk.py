"""Where requests are answered: looked up, or paid for and drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from suffice.core.codec import canonical, encode
from suffice.core.errors import SchemaError
from suffice.core.fold import fold
from suffice.core.protocols import Channel
from suffice.owner.admission import check_people, count_people, named, refuse_layout
from suffice.owner.choice import chosen, labels_for, promise_of
from suffice.owner.draw import Draw, draw_answers, draw_sum
from suffice.releases.release import Release
from suffice.sources.group import Group
from suffice.statistics.labels import Labels

if TYPE_CHECKING:
    from collections.abc import Callable

    from suffice.accounting.ledger import Ledger
    from suffice.core.bounds import Sensitivity
    from suffice.core.laws import Law
    from suffice.core.protocols import Additive, Source, Statistic
    from suffice.core.request import Auto

__all__ = ["Outcome", "Owner", "Preview"]


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the last request: served again or drawn anew, under which key, and Auto's reason."""

    reused: bool
    key: str
    why: str = ""


@final
@dataclass(frozen=True, slots=True)
class Preview:
    """What a request would cost and how large its noise would be, from public facts only."""

    cost: str
    remaining: str
    reused: bool
    law: Law | None = None
    sensitivity: Sensitivity | None = None
    radius: int | None = None
    count: int | None = None
    why: str = ""


@final
class Owner:
    """Rows and the ledger that speaks for them. Releases are paid for before any noise is drawn.

    Asking again is free: a request is looked up by its own words, before any row is read.
    """

    def __init__(self, source: Source, *, ledger: Ledger) -> None:
        ledger.check_source(source.name)
        refuse_layout(source, ledger.unit)
        check_people(source, ledger)
        self.source = source
        self.ledger = ledger
        self.last: Outcome | None = None

    def release(
        self,
        statistic: Statistic | Labels,
        mechanism: Additive | Auto | Channel,
        *,
        key: str | None = None,
        part: str | None = None,
        learner: str | None = None,
        unprotected: str | None = None,
        progress: Callable[[int, int | None], None] | None = None,
        workers: int = 1,
    ) -> Release:
        """Release the statistic through the mechanism, or serve again what was released before.

        Labels go through a channel, one noisy answer per row, charged once for them all.

        A new draw needs a `key=` of its own or a new edition of the ledger, and is charged. With
        `part` it is the statistic of the rows of one group, charged to that group alone; with
        `learner` it also counts against that learner's limit.
        """
        if learner is not None:
            self.ledger.admit(learner)
        request = self._request(statistic, mechanism, part)
        key = self.ledger.request_key(request) if key is None else named(key)
        stored, why = self.ledger.find(key, request), ""
        reused = stored is not None
        if stored is None:
            self.ledger.bind_source(self.source.name)
            count_people(self.source, self.ledger, part, workers)
            rows = self._rows(part)
            terms = Draw(key, request, rows, self.ledger, part, learner, unprotected, workers, progress)
            stored, why = _drawn(terms, statistic, mechanism)
        self.last = Outcome(reused, key, why)
        return Release.from_bytes(stored)

    def preview(
        self,
        statistic: Statistic | Labels,
        mechanism: Additive | Auto | Channel,
        *,
        key: str | None = None,
        part: str | None = None,
    ) -> Preview:
        """What `release` would cost. No protected column is opened and nothing is spent."""
        request = self._request(statistic, mechanism, part)
        key = self.ledger.request_key(request) if key is None else named(key)
        unit, source = self.ledger.unit, self._rows(part)
        cost, left = str(promise_of(mechanism, unit)), str(self.ledger.remaining(part))
        if self.ledger.find(key, request) is not None:
            return Preview("nothing: it was released before", left, reused=True)
        rows = getattr(source, "rows", None) if unit.rows_are_public else None
        if isinstance(statistic, Labels) or isinstance(mechanism, Channel):
            labels_for(statistic, mechanism, source, unit)
            return Preview(cost, left, reused=False, count=rows)
        settled = statistic.resolve(source, unit)
        state = fold(settled.public(), source) if unit.rows_are_public else None
        sensitivity = settled.sensitivity(unit, state)
        taken, why = chosen(mechanism, sensitivity, settled.shape)
        law = taken.law(sensitivity, *settled.shape)
        return Preview(cost, left, False, law, sensitivity, settled.radius, rows, why)

    def _request(
        self, statistic: Statistic | Labels, mechanism: Additive | Auto | Channel, part: str | None
    ) -> bytes:
        words = {"statistic": encode(statistic), "mechanism": encode(mechanism), "source": self.source.name}
        return canonical(words if part is None else words | {"part": list(self.ledger.group(part))})

    def _rows(self, part: str | None) -> Source:
        """The rows of a part, or all."""
        return self.source if part is None else Group(self.source, *self.ledger.group(part))


def _drawn(
    terms: Draw, statistic: Statistic | Labels, mechanism: Additive | Auto | Channel
) -> tuple[bytes, str]:
    """The stored bytes; an error that names a row of a group names the row of the whole source."""
    try:
        if isinstance(statistic, Labels) or isinstance(mechanism, Channel):
            return draw_answers(terms, statistic, mechanism)
        return draw_sum(terms, statistic, mechanism)
    except SchemaError as error:
        placed = terms.source.located(error) if isinstance(terms.source, Group) else error
        if placed is error:
            raise
        raise placed from error
