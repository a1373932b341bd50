"""Answers with the law that each of them went through: what every estimate starts from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from suffice.core.errors import InputError, SchemaError
from suffice.surveys.design import Design, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from suffice.channels.label import Label

__all__ = ["Answers"]

MISSING = -1


@final
@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """One row per answer: its question, the place of the answer, its channel, whose it is, and facts.

    `code` is the place among the answers of the row's channel, and -1 where the person gave none.
    `person` numbers the people; `facts` are columns that are known as they are, one value per row.
    """

    questions: tuple[str, ...]
    question: NDArray[np.intp]
    code: NDArray[np.intp]
    channels: tuple[Design, ...]
    channel: NDArray[np.intp]
    person: NDArray[np.intp]
    facts: dict[str, NDArray[Any]]

    def __post_init__(self) -> None:
        """Refuse columns of different lengths, and a question whose channels have different truths."""
        sizes = {len(one) for one in (self.question, self.code, self.channel, self.person)}
        sizes |= {len(one) for one in self.facts.values()}
        if len(sizes) > 1:
            raise InputError(f"The columns of the answers have different lengths: {sorted(sizes)}.")
        for at, name in enumerate(self.questions):
            used = {self.channels[one].truths() for one in np.unique(self.channel[self.question == at])}
            if len(used) > 1:
                raise InputError(f"The channels of question {name!r} have different truths: {sorted(used)}.")

    def __len__(self) -> int:
        """How many rows there are, missing answers included."""
        return int(self.code.size)

    def __repr__(self) -> str:
        """One line."""
        people = np.unique(self.person).size
        return f"<{len(self)} answers of {people} people to {', '.join(self.questions)}>"

    def rows(self, keep: NDArray[np.bool_]) -> Self:
        """These rows alone."""
        facts = {name: column[keep] for name, column in self.facts.items()}
        return replace(
            self,
            question=self.question[keep],
            code=self.code[keep],
            channel=self.channel[keep],
            person=self.person[keep],
            facts=facts,
        )

    def where(self, **values: Any) -> Self:
        """The rows whose facts have these values; `question` and `design` count as facts."""
        keep = np.ones(len(self), dtype=bool)
        for name, value in values.items():
            wanted = [value] if isinstance(value, str) or not hasattr(value, "__iter__") else list(value)
            keep &= np.isin(self.fact(name), wanted)
        if not keep.any():
            raise InputError(f"No answer has {values}. Look at the values of these facts.")
        return self.rows(keep)

    def fact(self, name: str) -> NDArray[Any]:
        """A column by its name; `question`, `design` and `person` are always there."""
        if name in self.facts:
            return self.facts[name]
        if name == "question":
            return np.array(self.questions, dtype=object)[self.question]
        if name == "design":
            return np.array([name_of(one) for one in self.channels], dtype=object)[self.channel]
        if name == "person":
            return self.person
        raise SchemaError.missing_column(name, [*self.facts, "question", "design", "person"])

    def given(self) -> Self:
        """The rows with an answer."""
        return self.rows(self.code != MISSING)

    def of(self, question: str | None) -> Self:
        """The rows of one question; None stands for the only one there is."""
        if question is None:
            used = np.unique(self.question)
            if used.size != 1:
                raise InputError(f"Say which question: {', '.join(self.questions)}.")
            return self.rows(self.question == used[0])
        if question not in self.questions:
            raise SchemaError.missing_column(question, self.questions)
        return self.rows(self.question == self.questions.index(question))

    def truths(self) -> tuple[Label, ...]:
        """The truths that the channels of these rows have in common."""
        used = {self.channels[at].truths() for at in np.unique(self.channel)}
        if len(used) != 1:
            raise InputError(f"These answers have different truths: {sorted(used)}. Take one question.")
        found: tuple[Label, ...] = used.pop()
        return found

    def each(self) -> Iterator[tuple[str, Self]]:
        """Question by question, those that have rows."""
        for at, name in enumerate(self.questions):
            mine = self.question == at
            if mine.any():
                yield name, self.rows(mine)

    def likelihood(self) -> NDArray[np.float64]:
        """The probability of each row's answer under every truth: a row per answer."""
        return self._looked_up([one.matrix().T for one in self.channels])

    def unbiased(self) -> NDArray[np.float64]:
        """A row per answer and a column per truth, whose mean given a truth is 1 there and 0 elsewhere."""
        return self._looked_up([one.unbias(np.array(one.answers())) for one in self.channels])

    def _looked_up(self, tables: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """The row of each answer's own table."""
        if (self.code == MISSING).any():
            raise InputError("Some answers are missing: take given() first.")
        found = np.empty((len(self), len(self.truths())))
        for at in np.unique(self.channel):
            mine = self.channel == at
            found[mine] = tables[at][self.code[mine]]
        return found
