"""A published form: what is asked, through which channel, of whom, and how often."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable, Mapping, MutableSequence, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, final

from suffice.channels import DESIGNS, Matrix, RandomizedResponse
from suffice.core.codec import decode, encode
from suffice.core.errors import InputError, ReleaseUnreadable, SchemaError, SealBroken
from suffice.releases import file, notation
from suffice.releases import seal as seals
from suffice.releases.envelope import signed_bytes
from suffice.surveys.collection import collect
from suffice.surveys.design import Design
from suffice.surveys.memory import Memory, remembered

if TYPE_CHECKING:
    from suffice.channels.label import Label
    from suffice.releases.release import Release

__all__ = ["CHANNELS", "FORM_TYPE", "Question", "Survey", "load"]

CHANNELS: tuple[type, ...] = (RandomizedResponse, Matrix, *DESIGNS)
FORM_TYPE = "application/vnd.suffice.survey+json"
RESERVED = {"person", "wave", "question", "answer", "design"}
_MOST_BYTES = 1 << 22


@final
@dataclass(frozen=True, slots=True)
class Question:
    """A question, the channel that its answers go through, and who may answer it.

    `only` lists, for facts that are sent openly, the values that a person must have: (("sex", ("f",)),).
    """

    name: str
    channel: Design
    text: str = ""
    only: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __post_init__(self) -> None:
        """Refuse what is no question: no name, or a channel without a list of answers."""
        if not isinstance(self.name, str) or not self.name.strip() or self.name in RESERVED:
            raise InputError(f"A question has a name other than {sorted(RESERVED)}, and got {self.name!r}.")
        if not isinstance(self.channel, CHANNELS):
            raise InputError(
                f"Question {self.name!r} takes a channel with a list of answers, such as "
                f"RandomizedResponse or Crosswise, and got a {type(self.channel).__name__}."
            )
        if not isinstance(self.text, str):
            raise InputError(f"The text of question {self.name!r} is text, and got {self.text!r}.")
        only = self.only.items() if isinstance(self.only, Mapping) else self.only
        settled = tuple((str(fact), tuple(map(str, values))) for fact, values in only)
        object.__setattr__(self, "only", settled)

    def asked_of(self, facts: Mapping[str, str]) -> bool:
        """Whether a person with these facts may answer."""
        return all(facts.get(fact) in values for fact, values in self.only)


@final
@dataclass(frozen=True, slots=True)
class Survey:
    """A form that is published before anyone answers; whoever holds it can check each answer against it.

    `questions` is a mapping from names to channels, or a list of Question. `facts` names what people send
    openly beside their answers, such as an age group; `waves` names the rounds in which they are asked.
    """

    questions: tuple[Question, ...]
    title: str
    facts: tuple[str, ...]
    waves: tuple[str, ...]

    def __init__(
        self,
        questions: Mapping[str, Design] | Sequence[Question],
        *,
        title: str,
        facts: Sequence[str] = (),
        waves: Sequence[str | int] = ("1",),
    ) -> None:
        put = object.__setattr__
        if isinstance(questions, Mapping):
            questions = [Question(name, channel) for name, channel in questions.items()]
        put(self, "questions", tuple(questions))
        put(self, "title", title)
        put(self, "facts", tuple(facts))
        put(self, "waves", tuple(map(str, waves)))
        self._check()

    def _check(self) -> None:
        if not self.questions or not all(isinstance(one, Question) for one in self.questions):
            raise InputError("A survey has questions: a mapping from names to channels, or Question values.")
        if not isinstance(self.title, str) or not self.title.strip() or not self.waves:
            raise InputError("A survey has a title and at least one wave.")
        names = [*(one.name for one in self.questions), *self.facts]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice or RESERVED & set(self.facts) or len(set(self.waves)) < len(self.waves):
            raise InputError(f"Questions, facts and waves have names of their own; look at {twice or names}.")
        for one in self.questions:
            odd = [fact for fact, _ in one.only if fact not in self.facts]
            if odd:
                raise InputError(f"Question {one.name!r} depends on {odd[0]!r}. Name it in facts=.")

    def question(self, name: str) -> Question:
        """The question of this name."""
        for one in self.questions:
            if one.name == name:
                return one
        raise SchemaError.missing_column(name, [one.name for one in self.questions])

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the form: two forms that differ in anything have different ones."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def answer(
        self,
        truths: Mapping[str, Any],
        *,
        pseudonym: str,
        wave: str | int | None = None,
        memory: Memory | str | os.PathLike[str] | None = None,
    ) -> dict[str, Any]:
        """The record that leaves: facts as they are, and one noisy answer for every truth that was given.

        This runs on the respondent's side, and no truth is kept. What was answered once is remembered by
        form, pseudonym, question and wave, never by the truth, so asking again, even with another truth,
        sends the same answer. `memory` is a mapping or a file; without it this process remembers.
        """
        if not isinstance(pseudonym, str) or not pseudonym.strip():
            raise InputError(f"pseudonym= is a name that says nothing of the person, and got {pseudonym!r}.")
        wave = self.wave(wave)
        facts = self._facts(truths)
        asked = [one for one in self.questions if truths.get(one.name) is not None]
        for one in asked:
            self._check_asked(one, facts, truths[one.name])
        keys = {one.name: f"{self.fingerprint}|{wave}|{one.name}|{pseudonym}" for one in asked}
        draws = {keys[one.name]: (one.channel, truths[one.name]) for one in asked}
        noisy = remembered(memory, draws)
        return {
            "form": self.fingerprint,
            "person": pseudonym,
            "wave": wave,
            "facts": facts,
            "answers": {name: noisy[key] for name, key in keys.items()},
        }

    def collect(
        self,
        records: Iterable[Mapping[str, Any]],
        *,
        set_aside: MutableSequence[tuple[int, str, Mapping[str, Any]]] | None = None,
    ) -> Release:
        """A release of these answers, each checked against the form; people may stand in several records.

        A record that does not fit, or that answers a question again for the same person and wave, is
        refused with its fault, and nothing is made. With a list as `set_aside` such records go there,
        with their place and the reason, and the others are released. A record that was sent twice, the
        same in everything, counts once.
        """
        return collect(self, records, set_aside=set_aside)

    def wave(self, wave: str | int | None) -> str:
        """The wave of this name; the only one if none is named."""
        if wave is None and len(self.waves) == 1:
            return self.waves[0]
        if str(wave) not in self.waves:
            raise InputError(f"There is no wave {wave!r}. The form has {', '.join(self.waves)}.")
        return str(wave)

    def _facts(self, truths: Mapping[str, Any]) -> dict[str, str]:
        known = {*self.facts, *(one.name for one in self.questions)}
        odd = [name for name in truths if name not in known]
        if odd:
            raise SchemaError.missing_column(odd[0], sorted(known))
        absent = [name for name in self.facts if truths.get(name) is None]
        if absent:
            raise InputError(f"The form asks for {absent[0]!r} openly, and it was not given.")
        return {name: str(truths[name]) for name in self.facts}

    @staticmethod
    def _check_asked(question: Question, facts: Mapping[str, str], truth: Label) -> None:
        if not question.asked_of(facts):
            raise InputError(
                f"Question {question.name!r} is asked only of {dict(question.only)}. Leave it out."
            )
        if truth not in question.channel.truths():
            raise InputError(
                f"A true answer to {question.name!r} is one of {list(question.channel.truths())}. "
                "What was given is not."
            )

    def to_bytes(self) -> bytes:
        """The form in its one spelling."""
        return notation.canonical(encode(self))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The form of these bytes, or ReleaseUnreadable."""
        read = notation.read(data, what="form", most=_MOST_BYTES)
        try:
            form = decode(read, (cls, Question, *CHANNELS))
            same = isinstance(form, cls) and form.to_bytes() == data
        except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:
            raise ReleaseUnreadable(f"The form does not fit together: {error}") from error
        if not same:
            raise ReleaseUnreadable("The form is not spelled as one is written.")
        made: Self = form
        return made

    @classmethod
    def from_fields(
        cls, questions: tuple[Question, ...], title: str, facts: tuple[str, ...], waves: tuple[str, ...]
    ) -> Self:
        """Build from the fields by name, as the codec does."""
        return cls(questions, title=title, facts=facts, waves=waves)

    def save(
        self, path: str | os.PathLike[str], *, seal: seals.Key | None = None, overwrite: bool = False
    ) -> Path:
        """Write the form whole or not at all, signed if a private key is given."""
        data = _signed(self.to_bytes(), seal)
        return file.write(Path(path), data, overwrite=overwrite)


def load(path: str | os.PathLike[str], *, trust: seals.Keys | None = None) -> Survey:
    """The form in a file. With `trust`, public keys, nothing is read before one of their seals holds."""
    page = notation.read(file.read(Path(path), most=_MOST_BYTES), what="form", most=_MOST_BYTES)
    try:
        payload = base64.b64decode(page["payload"], validate=True)
        kind, signatures = page["payloadType"], [(one["keyid"], one["sig"]) for one in page["signatures"]]
    except (ValueError, TypeError, LookupError) as error:
        raise ReleaseUnreadable(f"{str(path)!r} is not the form of a survey.") from error
    if kind != FORM_TYPE:
        raise ReleaseUnreadable(f"{str(path)!r} holds {str(kind)[:60]!r}, and not the form of a survey.")
    if trust is not None:
        keys = trust if isinstance(trust, list | tuple) else [trust]
        if not any(
            seals.fits(signed_bytes(payload, FORM_TYPE), key, _raw(sig))
            for key in keys
            for _, sig in signatures
        ):
            raise SealBroken(f"The form {str(path)!r} is not signed by a trusted key, or was changed since.")
    return Survey.from_bytes(payload)


def _signed(payload: bytes, key: seals.Key | None) -> bytes:
    signatures = []
    if key is not None:
        made = seals.signature(signed_bytes(payload, FORM_TYPE), key)
        signatures = [{"keyid": made.key_id, "sig": base64.b64encode(made.value).decode()}]
    page = {"payload": base64.b64encode(payload).decode(), "payloadType": FORM_TYPE, "signatures": signatures}
    return notation.canonical(page) + b"\n"


def _raw(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, TypeError):
        return b""
