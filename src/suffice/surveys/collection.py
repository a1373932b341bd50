"""Noisy answers collected against their form, and made into a release."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableSequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from suffice.channels.together import added
from suffice.core.errors import InputError
from suffice.core.guarantees import Guarantee, NotPrivate, Promise
from suffice.core.units import Answer
from suffice.releases.release import Release

if TYPE_CHECKING:
    from suffice.surveys.form import Question, Survey

__all__ = ["KIND", "collect", "guarantee_of"]

KIND = "Survey"
_PARTS = {"form", "person", "wave", "facts", "answers"}
_MOST_SHOWN = 5


def collect(
    form: Survey,
    records: Iterable[Mapping[str, Any]],
    *,
    set_aside: MutableSequence[tuple[int, str, Mapping[str, Any]]] | None = None,
) -> Release:
    """A release of the answers, each checked against the form; people may stand in several records.

    A record that does not fit the form, or that answers a question a second time for the same person and
    wave, is refused with all its faults, and nothing is made. With a list as `set_aside` such records go
    there with their place and the reason, and the others are released. A record that was sent twice, the
    same in everything, counts once.
    """
    checked: dict[tuple[str, str, str], tuple[Any, tuple[str, ...]]] = {}
    faults: list[tuple[int, str, Mapping[str, Any]]] = []
    for place, record in enumerate(records):
        fault = _fault(form, record, checked)
        if fault is None:
            facts = tuple(record["facts"][name] for name in form.facts)
            for name, said in record["answers"].items():
                checked[record["person"], record["wave"], name] = (said, facts)
        else:
            faults.append((place, fault, record))
    if faults and set_aside is None:
        shown = "; ".join(f"record {place}: {fault}" for place, fault, _ in faults[:_MOST_SHOWN])
        raise InputError(
            f"{len(faults)} of the records do not fit the form: {shown}. Correct them, or collect the others "
            "with set_aside=[], a list that these go to."
        )
    if set_aside is not None:
        set_aside.extend(faults)
    if not checked:
        raise InputError("There is no answer to collect.")
    return _release(form, checked)


def _fault(
    form: Survey, record: Mapping[str, Any], checked: Mapping[tuple[str, str, str], Any]
) -> str | None:
    """What is wrong with a record, or None."""
    if not isinstance(record, Mapping) or set(record) != _PARTS:
        return f"a record has {', '.join(sorted(_PARTS))}"
    if record["form"] != form.fingerprint:
        return f"it answers another form ({str(record['form'])[:16]}, and this is {form.fingerprint[:16]})"
    facts, answers = record["facts"], record["answers"]
    if not isinstance(record["person"], str) or not record["person"] or record["wave"] not in form.waves:
        return f"wave {record['wave']!r} is not of the form, or the person has no pseudonym"
    if not isinstance(facts, Mapping) or set(facts) != set(form.facts):
        return f"its facts are not {', '.join(form.facts) or 'empty'}"
    if not all(isinstance(one, str) for one in facts.values()):
        return "its facts are not all text"
    if not isinstance(answers, Mapping):
        return "its answers are not a mapping from questions to answers"
    return _fault_of_answers(form, record, checked)


def _fault_of_answers(
    form: Survey, record: Mapping[str, Any], checked: Mapping[tuple[str, str, str], Any]
) -> str | None:
    known = {one.name: one for one in form.questions}
    facts = tuple(record["facts"][name] for name in form.facts)
    for name, said in record["answers"].items():
        if name not in known:
            return f"the form has no question {name!r}"
        question: Question = known[name]
        if not any(type(said) is type(one) and said == one for one in question.channel.answers()):
            return f"{said!r} is no answer to {name!r}, which is one of {list(question.channel.answers())}"
        if not question.asked_of(record["facts"]):
            return f"{name!r} is not asked of a person with its facts"
        before = checked.get((record["person"], record["wave"], name))
        if before is not None and before != (said, facts):
            return f"{record['person']!r} has answered {name!r} in wave {record['wave']} before, differently"
    return None


def _release(form: Survey, checked: Mapping[tuple[str, str, str], tuple[Any, tuple[str, ...]]]) -> Release:
    order = {one.name: at for at, one in enumerate(form.questions)}
    keys = sorted(checked, key=lambda key: (key[0], key[1], order[key[2]]))
    columns: dict[str, list[str]] = {
        "person": [key[0] for key in keys],
        "wave": [key[1] for key in keys],
        "question": [key[2] for key in keys],
        "answer": [str(checked[key][0]) for key in keys],
    }
    for at, name in enumerate(form.facts):
        columns[name] = [checked[key][1][at] for key in keys]
    channels = {one.channel for one in form.questions}
    return Release(
        kind=KIND,
        values=np.zeros(0, np.int64),
        names=(),
        recipe=None,
        bound=None,
        grid=None,
        sensitivity=None,
        witness=None,
        law=None,
        guarantee=guarantee_of(form),
        receipt=None,
        made_by=f"suffice {version('suffice')}",
        about={"title": form.title, "form": form.to_bytes().decode("ascii")},
        answers=pa.table({name: pa.array(column, pa.string()) for name, column in columns.items()}),
        channel=channels.pop() if len(channels) == 1 else None,
    )


def guarantee_of(form: Survey) -> Guarantee:
    """What a person who answers all there is gives away: the sum over questions and waves."""
    each: list[Promise] = [one.channel.guarantee().promise for one in form.questions] * len(form.waves)
    asked = f"{len(form.questions)} question(s) in {len(form.waves)} wave(s)"
    total: Promise = added(each)
    if isinstance(total, NotPrivate):
        open_ = [
            one.name for one in form.questions if isinstance(one.channel.guarantee().promise, NotPrivate)
        ]
        total = NotPrivate(f"some answers to {', '.join(open_)} give the truth away for certain")
    assumes = (
        f"the promise is for all answers of one person together: {asked}, each answered once",
        "facts and pseudonyms are sent as they are and are not protected",
        "noise is drawn on each person's own device, from uniform randomness of its operating system",
    )
    return Guarantee(total, Answer(), assumes=assumes)
