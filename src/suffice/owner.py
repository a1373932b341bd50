"""The owner: the only holder of rows and of a ledger."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, final

import numpy as np

from suffice.accounting.event import event_of
from suffice.channels.together import added
from suffice.core.codec import canonical, encode
from suffice.core.errors import BoundsError, InputError, SchemaError, UnboundedSensitivity, UnsupportedPair
from suffice.core.fold import fold
from suffice.core.guarantees import Guarantee, NotPrivate, Promise
from suffice.core.protocols import Channel
from suffice.core.receipt import Receipt
from suffice.core.request import Auto
from suffice.core.units import LabelOf, RecordOf
from suffice.mechanisms.choice import best
from suffice.releases.release import Grid, Release
from suffice.sources.group import Group
from suffice.statistics.labels import LabelColumn, Labels
from suffice.statistics.person_counts import PersonCounts

if TYPE_CHECKING:
    from collections.abc import Callable

    from suffice.accounting.ledger import Ledger
    from suffice.core.bounds import Sensitivity
    from suffice.core.facts import Facts
    from suffice.core.laws import Law
    from suffice.core.protocols import Additive, Resolved, Source, Statistic
    from suffice.core.units import Unit

__all__ = ["Outcome", "Owner", "Preview"]

_CAPACITY = 1 << 63
_MOST_ROWS = 1 << 38
_SCALES = 64
_UNIFORM = "noise is drawn from the operating system's randomness, which is taken to be uniform"


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
    law: Law | None
    sensitivity: Sensitivity | None
    radius: int | None
    count: int | None
    why: str = ""


@final
@dataclass(frozen=True, slots=True)
class _Terms:
    """To whom a draw is charged, beside the budget of all."""

    part: str | None
    learner: str | None
    unprotected: str | None


@final
class Owner:
    """Rows and the ledger that speaks for them. Releases are paid for before any noise is drawn.

    Asking again is free: a request is looked up by its own words, before any row is read.
    """

    def __init__(self, source: Source, *, ledger: Ledger) -> None:
        ledger.check_source(source.name)
        _refuse_layout(source, ledger.unit)
        _check_people(source, ledger)
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
        key = self.ledger.request_key(request) if key is None else _named(key)
        stored = self.ledger.find(key, request)
        if stored is None:
            self.ledger.bind_source(self.source.name)
            terms, rows = _Terms(part, learner, unprotected), self._rows(part)
            try:
                stored = self._draw(rows, statistic, mechanism, (key, request), terms, progress, workers)
            except SchemaError as error:
                raise rows.located(error) if isinstance(rows, Group) else error from error
        else:
            self.last = Outcome(reused=True, key=key)
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
        key = self.ledger.request_key(request) if key is None else _named(key)
        unit, source = self.ledger.unit, self._rows(part)
        cost, left = str(_promise(mechanism, unit)), str(self.ledger.remaining(part))
        if self.ledger.find(key, request) is not None:
            return Preview("nothing: it was released before", left, True, None, None, None, None)
        if isinstance(statistic, Labels) or isinstance(mechanism, Channel):
            _settled(statistic, mechanism, source, unit)
            return Preview(cost, left, False, None, None, None, getattr(source, "rows", None))
        settled = statistic.resolve(source, unit)
        state = fold(settled.public(), source) if unit.rows_are_public else None
        sensitivity = settled.sensitivity(unit, state)
        chosen, why = _chosen(mechanism, sensitivity, settled.shape)
        rows = getattr(source, "rows", None) if unit.rows_are_public else None
        law = chosen.law(sensitivity, *settled.shape)
        return Preview(cost, left, False, law, sensitivity, settled.radius, rows, why)

    def _request(
        self, statistic: Statistic | Labels, mechanism: Additive | Auto | Channel, part: str | None
    ) -> bytes:
        words = {"statistic": encode(statistic), "mechanism": encode(mechanism), "source": self.source.name}
        return canonical(words if part is None else words | {"part": list(self.ledger.group(part))})

    def _rows(self, part: str | None) -> Source:
        """The rows of a part, or all."""
        return self.source if part is None else Group(self.source, *self.ledger.group(part))

    def _check_persons(self, part: str | None, workers: int) -> None:
        """Refuse a person with more rows than the unit says, or in several groups that are charged apart."""
        unit = self.ledger.unit
        if isinstance(unit, LabelOf | RecordOf) and unit.person is not None:
            counts = PersonCounts(unit.person, None if part is None else self.ledger.group(part)[0])
            counts.check(fold(counts, self.source, workers=workers), unit.at_most)

    def _draw(
        self,
        source: Source,
        statistic: Statistic | Labels,
        mechanism: Additive | Auto | Channel,
        named: tuple[str, bytes],
        terms: _Terms,
        progress: Callable[[int, int | None], None] | None,
        workers: int,
    ) -> bytes:
        if isinstance(statistic, Labels) or isinstance(mechanism, Channel):
            return self._answers(source, statistic, mechanism, named, terms, progress, workers)
        unit, (key, request) = self.ledger.unit, named
        settled = statistic.resolve(source, unit, workers=workers, progress=progress)
        widest, _ = _chosen(mechanism, settled.sensitivity(unit, None), settled.shape)
        _check_capacity(source, settled, widest.law(settled.sensitivity(unit, None), *settled.shape), unit)
        self._check_persons(terms.part, workers)
        state = fold(settled, source, workers=workers, progress=progress)
        total, facts = settled.finalise(state), settled.facts(state, unit)
        sensitivity = settled.sensitivity(unit, state)
        chosen, why = _chosen(mechanism, sensitivity, settled.shape)
        law = chosen.law(sensitivity, *settled.shape)
        also = chosen.also(sensitivity, law)
        charge = self.ledger.charge(
            key,
            request,
            mechanism.promise(),
            also=also,
            summary=_summary(statistic, chosen),
            part=terms.part,
            learner=terms.learner,
            unprotected=terms.unprotected,
            event=event_of(law, sensitivity),
        )
        noisy, assumes = chosen.perturb(total, law), _assumptions(source, facts, mechanism, unit)
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
            guarantee=Guarantee(mechanism.promise(), unit, also, assumes),
            receipt=Receipt(charge.id),
            made_by=f"suffice {version('suffice')}",
            about=facts.about | _told(source),
        )
        self.last = Outcome(reused=False, key=key, why=why)
        return self.ledger.store(charge, release.to_bytes())

    def _answers(
        self,
        source: Source,
        labels: Statistic | Labels,
        channel: Additive | Auto | Channel,
        named: tuple[str, bytes],
        terms: _Terms,
        progress: Callable[[int, int | None], None] | None,
        workers: int,
    ) -> bytes:
        """One noisy answer for each row, in the order of the key, paid for before any is drawn."""
        unit, (key, request) = self.ledger.unit, named
        channel, settled = _settled(labels, channel, source, unit)
        self._check_persons(terms.part, workers)
        keys, codes = settled.sorted(fold(settled, source, workers=workers, progress=progress))
        promise = _promise(channel, unit)
        charge = self.ledger.charge(
            key,
            request,
            promise,
            summary=_summary(labels, channel),
            part=terms.part,
            learner=terms.learner,
            unprotected=terms.unprotected,
        )
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
            guarantee=Guarantee(promise, unit, (), _assumed(source, promise, unit)),
            receipt=Receipt(charge.id),
            made_by=f"suffice {version('suffice')}",
            about=told | _told(source),
            answers=settled.answers(keys, np.asarray(drawn)),
            channel=channel,
        )
        self.last = Outcome(reused=False, key=key)
        return self.ledger.store(charge, release.to_bytes())


def _refuse_layout(source: Source, unit: Unit) -> None:
    """A folder name, a file's place or a join key that reads a protected column would give it away."""
    hidden = unit.protected()
    for role in ("partition_columns", "key_columns"):
        for name in getattr(source, role, ()):
            if hidden is not None and name in hidden:
                what = (
                    "files are sorted into folders by"
                    if role == "partition_columns"
                    else "rows are joined on"
                )
                raise UnboundedSensitivity(
                    f"The {what} {name!r}, which this ledger protects. Lay the rows out by a public column."
                )


def _named(key: str) -> str:
    if not isinstance(key, str) or not key.strip():
        raise InputError(f"key= names a draw of its own, such as 'second draw', and got {key!r}.")
    return f"named:{key}"


def _promise(mechanism: Additive | Auto | Channel, unit: Unit) -> Promise:
    """What is charged; for a channel, as often as one person may have a row."""
    if not isinstance(mechanism, Channel):
        return mechanism.promise()
    return added([mechanism.guarantee().promise] * getattr(unit, "at_most", 1))


def _settled(
    labels: Statistic | Labels, channel: Additive | Auto | Channel, source: Source, unit: Unit
) -> tuple[Channel, LabelColumn]:
    """The channel, and the labels as it takes them."""
    truths = getattr(channel, "truths", None)
    if not isinstance(labels, Labels) or not isinstance(channel, Channel) or truths is None:
        raise UnsupportedPair(
            f"A channel for labels goes with Labels, and got {type(labels).__name__} with "
            f"{type(channel).__name__}. Write Labels('y', key='id') and RandomizedResponse(('no', 'yes'), "
            "epsilon=1.0), or a mechanism for a sum."
        )
    return channel, labels.resolve(source, unit, truths())


def _summary(statistic: Statistic | Labels, mechanism: Additive | Auto | Channel) -> str:
    label = getattr(statistic, "label", None)
    what = type(statistic).__name__ + (f" of {label!r}" if label else "")
    return f"{what} through {type(mechanism).__name__}"


def _assumptions(source: Source, facts: Facts, mechanism: Additive | Auto, unit: Unit) -> tuple[str, ...]:
    told = _assumed(source, mechanism.promise(), unit)
    return (*facts.assumes, *told) if told else ()


def _assumed(source: Source, promise: Promise, unit: Unit) -> tuple[str, ...]:
    """What must be true of the rows and of the randomness, whatever the statistic."""
    person = getattr(unit, "person", None)
    named = () if person is None else (f"{person!r} names one person in one way, in every row",)
    private = not isinstance(promise, NotPrivate)
    return (*named, *getattr(source, "assumes", ()), _UNIFORM) if private else ()


def _told(source: Source) -> dict[str, dict[str, str]]:
    """Which group the rows are of, where they are those of one."""
    return {"group": {source.column: source.value}} if isinstance(source, Group) else {}


def _check_people(source: Source, ledger: Ledger) -> None:
    """The columns that say whose row it is, and in which group, are there and can be relied on."""
    unit, groups = ledger.unit, ledger.partitions
    if groups is not None:
        Group(source, groups[0], "")
    if not isinstance(unit, LabelOf | RecordOf) or unit.person is None:
        return
    PersonCounts(unit.person, None if groups is None else groups[0]).check_schema(source.schema)
    if unit.person in (unit.protected() or ()):
        raise UnboundedSensitivity(
            f"The column {unit.person!r} says whose row it is, and this ledger protects it. "
            "Name a public column."
        )


def _chosen(
    mechanism: Additive | Auto, sensitivity: Sensitivity, shape: tuple[int, int]
) -> tuple[Additive, str]:
    """The mechanism itself, or for Auto the one of least predicted error, and why."""
    return best(mechanism, sensitivity, *shape) if isinstance(mechanism, Auto) else (mechanism, "")


def _check_capacity(source: Source, settled: Resolved, law: Law, unit: Unit) -> None:
    """Sums and noise fit 64 bits, decided from public numbers; the number of rows may be none."""
    hidden = isinstance(unit, RecordOf) and unit.relation == "add-remove"
    rows = None if hidden else getattr(source, "rows", None)
    spread = math.ceil(_SCALES * math.sqrt(law.covariance().trace()))
    if (_MOST_ROWS if rows is None else rows) * settled.radius + spread >= _CAPACITY:
        raise BoundsError(
            f"{rows or 'An unknown number of'} rows of radius {settled.radius} and noise of {spread} grid "
            "units do not fit 64 bits. Use a coarser grid (bits=16) or a larger epsilon."
        )
