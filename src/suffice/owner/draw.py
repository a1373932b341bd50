"""One draw, from rows to stored bytes: settle, check, read, charge, and only then noise."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, final

import numpy as np

from suffice.accounting.event import event_of
from suffice.core.fold import fold
from suffice.core.guarantees import Guarantee
from suffice.core.receipt import Receipt
from suffice.owner.admission import check_capacity
from suffice.owner.choice import about_rows, assumptions, chosen, labels_for, promise_of, summary
from suffice.releases.release import Grid, Release

if TYPE_CHECKING:
    from collections.abc import Callable

    from suffice.accounting.ledger import Charge, Ledger
    from suffice.core.guarantees import Promise
    from suffice.core.protocols import Additive, Channel, Source, Statistic
    from suffice.core.request import Auto
    from suffice.statistics.labels import Labels

__all__ = ["Draw", "draw_answers", "draw_sum"]


@final
@dataclass(frozen=True, slots=True)
class Draw:
    """A request that has no stored answer: its words, the rows, who pays, and how they are read."""

    key: str
    request: bytes
    source: Source
    ledger: Ledger
    part: str | None
    learner: str | None
    unprotected: str | None
    workers: int
    progress: Callable[[int, int | None], None] | None

    def charge(self, promise: Promise, told: str, **more: Any) -> Charge:
        """Pay; on the disk when this returns."""
        return self.ledger.charge(
            self.key,
            self.request,
            promise,
            summary=told,
            part=self.part,
            learner=self.learner,
            unprotected=self.unprotected,
            **more,
        )


def draw_sum(draw: Draw, statistic: Statistic, mechanism: Additive | Auto) -> tuple[bytes, str]:
    """The stored bytes of a noisy sum, and why Auto chose its mechanism."""
    unit, source = draw.ledger.unit, draw.source
    settled = statistic.resolve(source, unit, workers=draw.workers, progress=draw.progress)
    bound = settled.sensitivity(unit, None)
    widest, _ = chosen(mechanism, bound, settled.shape)
    check_capacity(source, settled, widest.law(bound, *settled.shape), unit)
    state = fold(settled, source, workers=draw.workers, progress=draw.progress)
    total, facts = settled.finalise(state), settled.facts(state, unit)
    sensitivity = settled.sensitivity(unit, state)
    taken, why = chosen(mechanism, sensitivity, settled.shape)
    law, promise = taken.law(sensitivity, *settled.shape), mechanism.promise()
    also = taken.also(sensitivity, law)
    paid = draw.charge(promise, summary(statistic, taken), also=also, event=event_of(law, sensitivity))
    noisy, rest = taken.perturb(total, law), assumptions(source, promise, unit)
    release = Release(
        kind=facts.kind,
        values=noisy.reshape(-1, len(facts.names)) if len(total) > 1 else noisy,
        names=facts.names,
        recipe=facts.recipe,
        bound=facts.bound,
        grid=None if facts.bits is None else Grid(facts.bits, facts.radius),
        sensitivity=sensitivity,
        witness=facts.witness,
        law=law,
        guarantee=Guarantee(promise, unit, also, (*facts.assumes, *rest) if rest else ()),
        receipt=Receipt(paid.id),
        made_by=_maker(),
        about=facts.about | about_rows(source),
    )
    return draw.ledger.store(paid, release.to_bytes()), why


def draw_answers(
    draw: Draw, statistic: Statistic | Labels, mechanism: Additive | Auto | Channel
) -> tuple[bytes, str]:
    """The stored bytes of one noisy answer for each row, in the order of the key."""
    unit, source = draw.ledger.unit, draw.source
    channel, settled = labels_for(statistic, mechanism, source, unit)
    keys, codes = settled.sorted(fold(settled, source, workers=draw.workers, progress=draw.progress))
    promise = promise_of(channel, unit)
    paid = draw.charge(promise, summary(statistic, channel))
    drawn = channel.randomise(np.array(settled.classes.values)[codes])
    told = {"label": settled.classes.column, "key": settled.key, "classes": settled.classes.values}
    release = Release(
        kind="Labels",
        values=np.zeros(0, dtype=np.int64),
        names=(),
        recipe=None,
        bound=None,
        grid=None,
        sensitivity=None,
        witness=None,
        law=None,
        guarantee=Guarantee(promise, unit, (), assumptions(source, promise, unit)),
        receipt=Receipt(paid.id),
        made_by=_maker(),
        about=told | about_rows(source),
        answers=settled.answers(keys, np.asarray(drawn)),
        channel=channel,
    )
    return draw.ledger.store(paid, release.to_bytes()), ""


def _maker() -> str:
    return f"suffice {version('suffice')}"
