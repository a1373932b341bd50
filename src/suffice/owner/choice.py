"""What a request comes to: the mechanism that serves it, what it promises, and on what that rests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suffice.channels.together import added
from suffice.core.errors import UnsupportedPair
from suffice.core.guarantees import NotPrivate, Promise
from suffice.core.protocols import Channel
from suffice.core.request import Auto
from suffice.mechanisms.choice import best
from suffice.sources.group import Group
from suffice.statistics.labels import LabelColumn, Labels

if TYPE_CHECKING:
    from suffice.core.bounds import Sensitivity
    from suffice.core.protocols import Additive, Source, Statistic
    from suffice.core.units import Unit

__all__ = ["about_rows", "assumptions", "chosen", "labels_for", "promise_of", "summary"]

_UNIFORM = "noise is drawn from the operating system's randomness, which is taken to be uniform"


def chosen(
    mechanism: Additive | Auto, sensitivity: Sensitivity, shape: tuple[int, int]
) -> tuple[Additive, str]:
    """The mechanism itself, or for Auto the one of least predicted error, and why."""
    return best(mechanism, sensitivity, *shape) if isinstance(mechanism, Auto) else (mechanism, "")


def promise_of(mechanism: Additive | Auto | Channel, unit: Unit) -> Promise:
    """What is charged; for a channel, as often as one person may have a row."""
    if not isinstance(mechanism, Channel):
        return mechanism.promise()
    return added([mechanism.guarantee().promise] * getattr(unit, "at_most", 1))


def labels_for(
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


def summary(statistic: Statistic | Labels, mechanism: Additive | Auto | Channel) -> str:
    """One line for the ledger."""
    label = getattr(statistic, "label", None)
    what = type(statistic).__name__ + (f" of {label!r}" if label else "")
    return f"{what} through {type(mechanism).__name__}"


def assumptions(source: Source, promise: Promise, unit: Unit) -> tuple[str, ...]:
    """What must be true of the rows and of the randomness, whatever the statistic."""
    person = getattr(unit, "person", None)
    named = () if person is None else (f"{person!r} names one person in one way, in every row",)
    private = not isinstance(promise, NotPrivate)
    return (*named, *getattr(source, "assumes", ()), _UNIFORM) if private else ()


def about_rows(source: Source) -> dict[str, dict[str, str]]:
    """Which group the rows are of, where they are those of one."""
    return {"group": {source.column: source.value}} if isinstance(source, Group) else {}
