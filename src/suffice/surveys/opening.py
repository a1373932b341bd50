"""The answers in a survey's release, each with its channel again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.core.errors import ReleaseMismatch
from suffice.surveys.answers import Answers
from suffice.surveys.collection import KIND, guarantee_of
from suffice.surveys.form import Survey

if TYPE_CHECKING:
    from suffice.releases.release import Release

__all__ = ["opened"]


def opened(release: Release) -> Answers:
    """The answers of a survey's release, each with its channel."""
    if release.kind != KIND or release.answers is None or not isinstance(release.about.get("form"), str):
        raise ReleaseMismatch(f"This is a release of {release.kind}, and a Survey is needed.")
    form = Survey.from_bytes(release.about["form"].encode())
    keeps, says = guarantee_of(form).promise, release.guarantee.promise
    if keeps != says:
        raise ReleaseMismatch(f"The form's channels keep {keeps}, and the release says {says}.")
    columns = {name: release.answers[name].to_pylist() for name in release.answers.column_names}
    names = [one.name for one in form.questions]
    places = [{str(said): at for at, said in enumerate(one.channel.answers())} for one in form.questions]
    people: dict[str, int] = {}
    try:
        question = [names.index(name) for name in columns["question"]]
        code = [places[at][said] for at, said in zip(question, columns["answer"], strict=True)]
    except (KeyError, ValueError) as error:
        raise ReleaseMismatch(
            f"The release has a question or an answer that its form does not know: {error}."
        ) from error
    facts = {name: _column(columns[name]) for name in (*form.facts, "wave")}
    return Answers(
        tuple(names),
        np.array(question, dtype=np.intp),
        np.array(code, dtype=np.intp),
        tuple(one.channel for one in form.questions),
        np.array(question, dtype=np.intp),
        np.array([people.setdefault(one, len(people)) for one in columns["person"]], dtype=np.intp),
        facts,
    )


def _column(values: list[str]) -> Any:
    """Numbers where all are numbers, else text."""
    try:
        return np.array([float(one) for one in values])
    except ValueError:
        return np.array(values, dtype=object)
