"""`suffice survey`: a form, answers on the respondent's side, their collection, and what they tell."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

import suffice as sf
from suffice.cli.data import Dialect, opened
from suffice.cli.option import Json, Overwrite, Quiet, Trust
from suffice.cli.output import Output, plain, reported
from suffice.core.codec import decode
from suffice.core.errors import InputError
from suffice.core.guarantees import NotPrivate
from suffice.core.randomness import octets
from suffice.releases import file, notation

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Surveys in which everybody protects their own answer.")

_MOST_BYTES = 1 << 20
Source = Annotated[
    str, typer.Argument(metavar="FILE", help="A release of a survey, or a table with one answer per row.")
]
AnswerColumn = Annotated[
    str | None, typer.Option("--answer", help="For a table: the column of answers, 0 and 1.")
]
QuestionColumn = Annotated[
    str | None, typer.Option("--question", help="For a table: the column that says which question.")
]
DesignName = Annotated[
    str | None,
    typer.Option("--design", help="For a table: a design, such as Crosswise or forced-known, or its column."),
]
FirstP = Annotated[str | None, typer.Option("--p1", help="The design's first probability, or its column.")]
SecondP = Annotated[str | None, typer.Option("--p2", help="The design's second probability, or its column.")]
PersonColumn = Annotated[
    str | None, typer.Option("--person", help="For a table: the column that says whose answer it is.")
]
Weight = Annotated[str | None, typer.Option("--weight", help="A column of weights.")]
Cluster = Annotated[str | None, typer.Option("--cluster", help="A column of clusters; else a person is one.")]


@app.command()
@reported
def new(
    spec: Annotated[
        Path,
        typer.Argument(metavar="SPEC", help="A .toml file: title, facts, waves, and [[question]] tables."),
    ],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The form to write.")],
    seal: Annotated[Path | None, typer.Option("--seal", help="Your private key, to sign the form.")] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the form of a survey, to be published before anyone answers.

    A question has a name, a text, and a channel such as {kind = "RandomizedResponse", labels = ["no", "yes"],
    epsilon = 1.0}.
    """
    form = _form(file.read(spec, most=_MOST_BYTES))
    form.save(out, seal=seal, overwrite=overwrite)
    promises = {one.name: str(one.channel.guarantee().promise) for one in form.questions}
    told = "\n".join(f"  {name}: {promise}" for name, promise in promises.items())
    Output(as_json, quiet).report(
        {"file": str(out), "title": form.title, "fingerprint": form.fingerprint, "questions": promises},
        f"{out}: {form.title}, fingerprint {form.fingerprint[:16]}\n{told}",
    )


@app.command()
@reported
def answer(
    path: Annotated[Path, typer.Argument(metavar="FORM", help="The published form.")],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The record to send, .json.")],
    truths: Annotated[
        list[str] | None,
        typer.Option("--set", help="NAME=VALUE, an answer or a fact; what is not set is asked for."),
    ] = None,
    pseudonym: Annotated[
        str | None, typer.Option("--pseudonym", help="A name that says nothing of you; else one is drawn.")
    ] = None,
    wave: Annotated[str | None, typer.Option("--wave", help="The round, if the form has several.")] = None,
    memory: Annotated[
        Path, typer.Option("--memory", help="Where this device remembers what it has sent.")
    ] = Path("suffice-answers.json"),
    trust: Trust = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before the record is written.")] = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Answer a survey on your own device, and see what will be sent before it is.

    True answers stay here and are not kept. The noise is drawn once: who asks again gets the same record.
    """
    form = sf.surveys.load(path, trust=trust or None)
    settled = (
        wave if wave is not None or len(form.waves) == 1 else typer.prompt(f"Wave {form.waves}", err=True)
    )
    given = _asked(form, _pairs(truths))
    record = form.answer(given, pseudonym=_pseudonym(pseudonym, memory), wave=settled, memory=memory)
    lines = [f"  {name} = {said}" for part in ("facts", "answers") for name, said in record[part].items()]
    shown = f"This will be sent, under the name {record['person']!r}:\n" + "\n".join(lines)
    print_ = Output(as_json, quiet)
    if not yes:
        typer.echo(plain(f"{shown}\n{_promised(form)}", lines=True), err=True)
        typer.confirm("Write it?", abort=True, err=True)
    file.write(out, notation.canonical(record) + b"\n", overwrite=overwrite)
    print_.report({"file": str(out), "record": record}, f"{out}: written. {_promised(form)}")


@app.command()
@reported
def collect(
    path: Annotated[Path, typer.Argument(metavar="FORM", help="The published form.")],
    records: Annotated[
        list[Path], typer.Argument(metavar="RECORDS...", help="Records as .json, or folders of them.")
    ],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The release to write.")],
    set_aside: Annotated[
        bool, typer.Option("--set-aside", help="Leave out records that do not fit, and say which and why.")
    ] = False,
    seal: Annotated[Path | None, typer.Option("--seal", help="A private key, to seal the release.")] = None,
    trust: Trust = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check records against the form and write them as one release."""
    form = sf.surveys.load(path, trust=trust or None)
    files = [found for one in records for found in (sorted(one.glob("*.json")) if one.is_dir() else [one])]
    aside: list[tuple[int, str, Mapping[str, Any]]] = []
    read = [notation.read(file.read(one, most=_MOST_BYTES), what=str(one), most=_MOST_BYTES) for one in files]
    release = form.collect(read, set_aside=aside if set_aside else None)
    release.save(out, seal=seal, overwrite=overwrite)
    left = [{"file": str(files[place]), "why": why} for place, why, _ in aside]
    told = "".join(f"\n  set aside {one['file']}: {one['why']}" for one in left)
    Output(as_json, quiet).report(
        {"file": str(out), "answers": _count(release), "set_aside": left},
        f"{out}: {_count(release)} answers.{told}\n{release.guarantee.sentence()}",
    )


@app.command()
@reported
def estimate(
    source: Source,
    *,
    answer_column: AnswerColumn = None,
    question: QuestionColumn = None,
    design: DesignName = None,
    p1: FirstP = None,
    p2: SecondP = None,
    person: PersonColumn = None,
    by: Annotated[
        str | None, typer.Option("--by", help="A column: an estimate for each of its values.")
    ] = None,
    weight: Weight = None,
    cluster: Cluster = None,
    strata: Annotated[str | None, typer.Option("--strata", help="A column of strata.")] = None,
    trust: Trust = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Estimate how many people have the trait, and test whether the answers fit their channel."""
    answers = _answers(source, (answer_column, question, design, p1, p2, person), trust)
    found = sf.surveys.estimate(answers, by=by, weight=weight, cluster=cluster, strata=strata)
    fits = sf.surveys.fit(answers)
    told = "\n".join(f"fit of {one}" for one in fits)
    facts = {"estimates": [asdict(one) for one in found.rows], "fit": [asdict(one) for one in fits]}
    Output(as_json, quiet).answer(facts, f"{found}\n{told}")


@app.command()
@reported
def regress(
    source: Source,
    formula: Annotated[str, typer.Argument(metavar="FORMULA", help="Such as 'drug ~ age + C(region)'.")],
    *,
    answer_column: AnswerColumn = None,
    question: QuestionColumn = None,
    design: DesignName = None,
    p1: FirstP = None,
    p2: SecondP = None,
    person: PersonColumn = None,
    weight: Weight = None,
    cluster: Cluster = None,
    robust: Annotated[
        bool, typer.Option("--robust", help="Robust errors, though nobody answered twice.")
    ] = False,
    trust: Trust = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fit a logistic regression to truths that nobody saw; each answer's channel is in the likelihood."""
    answers = _answers(source, (answer_column, question, design, p1, p2, person), trust)
    found = sf.surveys.regress(answers, formula, weight=weight, cluster=cluster, robust=robust or None)
    columns = zip(
        found.names,
        *(
            one.tolist()
            for one in (found.coefficients, found.stderr, found.z, found.p_values, found.odds_ratios)
        ),
        strict=True,
    )
    heads = ("name", "coefficient", "stderr", "z", "p_value", "odds_ratio")
    facts = {
        "formula": found.formula,
        "coefficients": [dict(zip(heads, row, strict=True)) for row in columns],
        "answers": found.answers,
        "left_out": found.left_out,
        "robust": found.robust,
        "log_likelihood": found.log_likelihood,
        "aic": found.aic,
    }
    Output(as_json, quiet).answer(facts, str(found))


def _form(data: bytes) -> Any:
    """The form that a spec describes."""
    try:
        spec = tomllib.loads(data.decode())
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(f"The spec is not TOML: {error}.") from error
    odd = sorted(set(spec) - {"title", "facts", "waves", "question"})
    if odd or not isinstance(spec.get("question"), list):
        raise InputError(
            f"A spec has title, facts, waves and [[question]] tables; look at {odd or 'question'}."
        )
    questions = [_question(one) for one in spec["question"]]
    return sf.Survey(
        questions, title=spec.get("title", ""), facts=spec.get("facts", ()), waves=spec.get("waves", ("1",))
    )


def _question(table: Any) -> Any:
    odd = sorted(set(table) - {"name", "text", "channel", "only"})
    if odd or not {"name", "channel"} <= set(table):
        raise InputError(f"A question has name, channel, and perhaps text and only; got {sorted(table)}.")
    only = {
        fact: values if isinstance(values, list) else [values]
        for fact, values in table.get("only", {}).items()
    }
    channel = decode(table["channel"], sf.surveys.CHANNELS)
    return sf.surveys.Question(
        table["name"], channel, table.get("text", ""), tuple((k, tuple(v)) for k, v in only.items())
    )


def _pairs(words: list[str] | None) -> dict[str, str]:
    pairs = [word.split("=", 1) for word in words or []]
    if any(len(pair) != 2 for pair in pairs):
        raise InputError("--set takes NAME=VALUE, such as --set drug=no.")
    return {name: value for name, value in pairs}  # noqa: C416  pairs are lists


def _asked(form: Any, given: dict[str, str]) -> dict[str, Any]:
    """What was set, and for the rest what the person says; an empty line leaves a question out."""
    found: dict[str, Any] = {name: value for name, value in given.items() if name in form.facts}
    for name in form.facts:
        if name not in found:
            found[name] = typer.prompt(f"{plain(name)} (sent as it is)", err=True)
    for one in form.questions:
        if not one.asked_of(found) and one.name not in given:
            continue
        labels = {str(label): label for label in one.channel.truths()}
        said = given.get(one.name)
        if said is None:
            text = f"{plain(one.text or one.name)} ({'/'.join(map(plain, labels))}, empty for no answer)"
            said = typer.prompt(text, default="", show_default=False, err=True)
        if said and said not in labels:
            raise InputError(f"An answer to {one.name!r} is one of {list(labels)}.")
        if said:
            found[one.name] = labels[said]
    known = {*form.facts, *(one.name for one in form.questions)}
    return found | {name: value for name, value in given.items() if name not in known}


def _pseudonym(given: str | None, memory: Path) -> str:
    """The name that was given, or one that this device drew once and keeps beside its memory."""
    if given is not None:
        return given
    kept = memory.with_name(memory.name + ".name")
    if kept.exists():
        return file.read(kept, most=100).decode("ascii", "replace").strip()
    drawn = octets(8).hex()
    file.write(kept, f"{drawn}\n".encode(), overwrite=False)
    return drawn


def _promised(form: Any) -> str:
    promises = [one.channel.guarantee().promise for one in form.questions]
    bare = [
        one.name
        for one, promise in zip(form.questions, promises, strict=True)
        if isinstance(promise, NotPrivate)
    ]
    if bare:
        return plain(f"Some answers to {', '.join(bare)} give the truth away.")
    most = max(promise.epsilon for promise in promises)
    return f"One answer changes anybody's odds about your truth at most as epsilon = {most:.4g} allows."


def _answers(source: str, columns: tuple[str | None, ...], trust: list[Path] | None) -> Any:
    """The answers of a release, or of a table whose columns were named."""
    answer_column, question, design, p1, p2, person = columns
    if answer_column is None and design is None:
        return sf.load(source, trust=trust or None)
    if answer_column is None or design is None:
        raise InputError("A table of answers needs --answer and --design.")
    rows = opened(
        {"path": source, **Dialect().options(source)} if Path(source).suffix != ".parquet" else source
    )
    names = list(rows.schema.names)
    batches = [batch for part in rows.fragments(names) for batch in part.batches()]
    table: dict[str, list[Any]] = {name: [] for name in names}
    for batch in batches:
        for name in names:
            table[name] += batch.column(name).to_pylist()
    numbers = {name: _numbers(values) for name, values in table.items()}
    return sf.surveys.read(
        numbers,
        answer=answer_column,
        question=question,
        design=design,
        p1=_number(p1, names),
        p2=_number(p2, names),
        person=person,
    )


def _numbers(values: list[Any]) -> list[Any]:
    """A text column of numbers as numbers; nothing for an empty cell."""
    if not any(isinstance(one, str) for one in values):
        return values
    try:
        return [None if one is None or not one.strip() else float(one) for one in values]
    except ValueError:
        return [None if one == "" else one for one in values]


def _number(given: str | None, names: list[str]) -> str | float | None:
    if given is None or given in names:
        return given
    try:
        return float(given)
    except ValueError as error:
        raise InputError(
            f"{given!r} is neither a number nor a column. Columns: {', '.join(names)}."
        ) from error


def _count(release: Any) -> int:
    return int(release.answers.num_rows)
