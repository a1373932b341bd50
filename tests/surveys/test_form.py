from __future__ import annotations

import dataclasses
import json
import stat

import numpy as np
import pyarrow as pa
import pytest

import suffice as sf
from suffice import surveys
from suffice.core.errors import InputError, ReleaseMismatch, ReleaseUnreadable, SchemaError, SealBroken
from suffice.core.guarantees import Guarantee, NotPrivate, PureDP

DRUG = sf.RandomizedResponse(("no", "yes"), epsilon=1.0)


def form(**options):
    questions = [
        surveys.Question("drug", DRUG, "Have you taken it?"),
        surveys.Question("cheat", sf.Crosswise(0.25), "Have you cheated?", only=(("level", ("student",)),)),
    ]
    return sf.Survey(
        questions, **{"title": "Campus", "facts": ["level"], "waves": ["spring", "autumn"]} | options
    )


def records(survey, people=40, wave="spring"):
    return [
        survey.answer(
            {"drug": "yes", "cheat": "no", "level": "student"}, pseudonym=f"p{at}", wave=wave, memory={}
        )
        for at in range(people)
    ]


def test_a_signed_form_is_read_again_and_a_changed_one_is_not(tmp_path):
    private, public = sf.new_keys("owner", tmp_path)
    path = form().save(tmp_path / "form", seal=private)
    assert surveys.load(path, trust=public) == form()
    assert surveys.load(path) == form()
    _, other = sf.new_keys("other", tmp_path)
    with pytest.raises(SealBroken):
        surveys.load(path, trust=other)
    page = json.loads(path.read_text())
    page["payload"] = json.loads(form(title="Other").save(tmp_path / "b").read_text())["payload"]
    path.write_text(json.dumps(page))
    with pytest.raises(SealBroken):
        surveys.load(path, trust=public)


def test_a_file_that_is_no_form_is_refused(tmp_path):
    for text in ("{}", "no json", '{"payload": "AA==", "payloadType": "x", "signatures": []}'):
        (tmp_path / "form").write_text(text)
        with pytest.raises(ReleaseUnreadable):
            surveys.load(tmp_path / "form")
    with pytest.raises(ReleaseUnreadable):
        sf.Survey.from_bytes(form().to_bytes().replace(b'"title"', b'"t"'))


def test_forms_that_differ_in_anything_have_different_fingerprints():
    assert form().fingerprint == form().fingerprint
    assert len({form().fingerprint, form(title="B").fingerprint, form(waves=["spring"]).fingerprint}) == 3


def test_asking_again_sends_the_same_answer_whatever_the_truth():
    survey, memory = form(), {}
    first = [
        survey.answer({"drug": "yes", "level": "x"}, pseudonym=f"p{at}", wave="spring", memory=memory)
        for at in range(60)
    ]
    again = [
        survey.answer({"drug": "no", "level": "x"}, pseudonym=f"p{at}", wave="spring", memory=memory)
        for at in range(60)
    ]
    assert first == again
    autumn = [
        survey.answer({"drug": "yes", "level": "x"}, pseudonym=f"p{at}", wave="autumn", memory=memory)[
            "answers"
        ]
        for at in range(60)
    ]
    assert autumn != [one["answers"] for one in first]


def test_the_memory_is_a_file_for_its_owner_that_never_holds_a_truth(tmp_path):
    survey = sf.Survey({"q": sf.Crosswise(0.25)}, title="T")
    path = tmp_path / "memory.json"
    first = survey.answer({"q": "yes"}, pseudonym="a", memory=path)
    assert survey.answer({"q": "no"}, pseudonym="a", memory=path) == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert set(json.loads(path.read_text()).values()) <= {"same", "different"}
    assert "yes" not in path.read_text()


def test_a_record_holds_the_noise_and_not_the_truth():
    said = [one["answers"]["drug"] for one in records(form(), 400)]
    share = np.mean([one == "yes" for one in said])
    assert share == pytest.approx(np.e / (1 + np.e), abs=0.1)
    assert set(records(form(), 1)[0]) == {"form", "person", "wave", "facts", "answers"}


def test_without_a_memory_the_process_remembers():
    survey = form(title="remembered")
    sent = [survey.answer({"drug": "yes", "level": "x"}, pseudonym="one", wave="spring") for _ in range(30)]
    assert all(one == sent[0] for one in sent)


def test_what_the_form_does_not_ask_is_refused():
    survey = form()
    with pytest.raises(SchemaError, match="Did you mean 'drug'"):
        survey.answer({"drugs": "yes", "level": "x"}, pseudonym="a", wave="spring")
    with pytest.raises(InputError, match="asks for 'level' openly"):
        survey.answer({"drug": "yes"}, pseudonym="a", wave="spring")
    with pytest.raises(InputError, match="asked only of"):
        survey.answer({"cheat": "yes", "level": "staff"}, pseudonym="a", wave="spring")
    with pytest.raises(InputError, match="no wave"):
        survey.answer({"drug": "yes", "level": "x"}, pseudonym="a")
    with pytest.raises(InputError, match="pseudonym"):
        survey.answer({"drug": "yes", "level": "x"}, pseudonym="", wave="spring")


def test_a_refused_truth_is_not_repeated_in_the_message():
    with pytest.raises(InputError) as refusal:
        form().answer({"drug": "seldom", "level": "x"}, pseudonym="a", wave="spring")
    assert "seldom" not in str(refusal.value)


def test_forms_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="a title"):
        sf.Survey({"q": DRUG}, title="")
    with pytest.raises(InputError, match="names of their own"):
        sf.Survey({"q": DRUG}, title="T", facts=["q"])
    with pytest.raises(InputError, match="Name it in facts"):
        sf.Survey([surveys.Question("q", DRUG, only=(("sex", ("f",)),))], title="T")
    with pytest.raises(InputError, match="a channel with a list of answers"):
        sf.Survey({"q": "Warner"}, title="T")
    with pytest.raises(InputError, match="other than"):
        sf.Survey({"answer": DRUG}, title="T")


def test_collected_answers_are_a_release_that_travels(tmp_path):
    survey = form()
    sent = json.loads(json.dumps(records(survey) + records(survey, wave="autumn")))
    path = survey.collect(sent).save(tmp_path / "answers.suffice")
    release = sf.load(path)
    assert release.answers.num_rows == 160
    assert release.answers.column_names == ["person", "wave", "question", "answer", "level"]
    each = DRUG.guarantee().promise.epsilon + sf.Crosswise(0.25).guarantee().promise.epsilon
    assert release.guarantee.promise.epsilon == pytest.approx(2 * each)
    answers = surveys.opened(release)
    assert np.unique(answers.person).size == 40
    found = surveys.estimate(release)
    assert [one.question for one in found.rows] == ["drug", "cheat"]
    assert all(one.count == 80 for one in found.rows)


def test_the_order_in_which_records_arrive_leaves_no_trace():
    survey = form()
    sent = records(survey)
    assert survey.collect(sent).to_bytes() == survey.collect(sent[::-1]).to_bytes()


def test_a_design_that_gives_some_truths_away_says_so():
    survey = sf.Survey({"q": sf.Triangular(0.3), "drug": DRUG}, title="T")
    release = survey.collect([survey.answer({"q": "no"}, pseudonym="a", memory={})])
    assert isinstance(release.guarantee.promise, NotPrivate)
    assert "q" in release.guarantee.promise.reason


FAULTS = {
    "another form": lambda record: record | {"form": "0" * 64},
    "is no answer to 'drug'": lambda record: record | {"answers": {"drug": "perhaps"}},
    "no question 'drugs'": lambda record: record | {"answers": {"drugs": "no"}},
    "wave 'winter'": lambda record: record | {"wave": "winter"},
    "facts are not": lambda record: record | {"facts": {}},
    "not asked of": lambda record: record | {"facts": {"level": "staff"}, "person": "new"},
    "a record has": lambda record: record | {"truth": "yes"},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_record_that_does_not_fit_is_named_and_nothing_is_lost(fault):
    survey = form()
    sent = records(survey, 5)
    odd = FAULTS[fault](sent[2] | {"person": "odd"})
    with pytest.raises(InputError, match=fault) as refusal:
        survey.collect([*sent, odd])
    assert "record 5" in str(refusal.value)
    aside = []
    release = survey.collect([*sent, odd], set_aside=aside)
    assert release.answers.num_rows == 10
    assert [(place, record) for place, _, record in aside] == [(5, odd)]
    assert fault in aside[0][1]


def test_a_second_answer_of_one_person_is_refused_and_a_copy_counts_once():
    survey = form()
    sent = records(survey, 3)
    assert survey.collect([*sent, sent[0]]).answers.num_rows == 6
    other = {"yes": "no", "no": "yes"}[sent[0]["answers"]["drug"]]
    second = sent[0] | {"answers": {"drug": other}}
    with pytest.raises(InputError, match="'p0' has answered 'drug' in wave spring before"):
        survey.collect([*sent, second])


def test_a_release_of_something_else_is_not_opened():
    survey = form()
    release = survey.collect(records(survey, 3))
    with pytest.raises(ReleaseMismatch, match="a Survey is needed"):
        surveys.opened(dataclasses.replace(release, kind="Labels"))
    said = pa.array(["perhaps"] * 6)
    odd = release.answers.set_column(3, "answer", said)
    with pytest.raises(ReleaseMismatch, match="does not know"):
        surveys.opened(dataclasses.replace(release, answers=odd))
    promise = PureDP(0.1)
    with pytest.raises(ReleaseMismatch, match=r"the release says epsilon = 0\.1"):
        surveys.opened(dataclasses.replace(release, guarantee=Guarantee(promise, sf.Answer())))
