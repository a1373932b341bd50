"""Looking rows up by key gives what a dictionary gives."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.core.errors import SchemaError
from suffice.sources import key
from suffice.sources.key import Keys

texts = st.lists(st.text(st.sampled_from("aäb\0 𝔛"), max_size=5), max_size=30)


def looked_up(known, asked) -> list[int]:
    """Return the row of each key by a dictionary."""
    rows = {one: row for row, one in enumerate(known)}
    return [rows.get(one, -1) for one in asked]


@given(texts, texts)
def test_texts_are_found_letter_by_letter(known, asked):
    known = list(dict.fromkeys(known))
    keys = Keys.of(pa.chunked_array([pa.array(known, pa.string())]), "k")
    column = pa.array(["other", *asked, "other"], pa.string()).slice(1, len(asked))
    assert keys.rows(column, "k").tolist() == looked_up(known, asked)
    assert keys.rows(column.dictionary_encode(), "k").tolist() == looked_up(known, asked)
    assert pickle.loads(pickle.dumps(keys)).rows(column, "k").tolist() == looked_up(known, asked)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), unique=True), st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_whole_numbers_are_found(known, asked):
    keys = Keys.of(pa.chunked_array([pa.array(known, pa.int64())]), "k")
    asked += known
    assert keys.rows(pa.array(asked, pa.int64()), "k").tolist() == looked_up(known, asked)


def test_texts_of_one_hash_are_told_apart(monkeypatch):
    """Under the first two seeds every hash is the length of the text."""
    honest = key._multipliers
    monkeypatch.setattr(
        key,
        "_multipliers",
        lambda count, seed: np.ones(count, np.uint64) if seed < 2 else honest(count, seed),
    )
    keys = Keys.of(pa.chunked_array([pa.array(["ab", "ba", "c"])]), "k")
    assert keys.seed == 2
    assert keys.rows(pa.array(["ba", "bb", "ab"]), "k").tolist() == [1, -1, 0]
    alone = Keys.of(pa.chunked_array([pa.array(["ab", "c"])]), "k")
    assert alone.seed == 0
    assert alone.rows(pa.array(["ba", "ab"]), "k").tolist() == [-1, 0]
    with pytest.raises(SchemaError, match="row 3 there is the key 'ba' for the second time"):
        Keys.of(pa.chunked_array([pa.array(["ab", "ba", "c", "ba"])]), "k")


def test_many_texts_over_many_chunks_are_found():
    known = [f"person-{i}" for i in range(150_000)]
    chunks = [pa.array(known[at : at + 40_000]) for at in range(0, len(known), 40_000)]
    keys = Keys.of(pa.chunked_array(chunks), "k")
    assert keys.seed == 0
    asked = [*known[::-7], "nobody", ""]
    assert keys.rows(pa.array(asked), "k").tolist() == looked_up(known, asked)


def test_a_missing_text_within_a_dictionary_is_a_missing_key():
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["a", None]))
    keys = Keys.of(pa.chunked_array([pa.array(["a"])]), "k")
    with pytest.raises(SchemaError, match="row 1 there is no key"):
        keys.rows(column, "k")
