"""JSON, read strictly."""

from __future__ import annotations

import pytest

from suffice.core.errors import ReleaseUnreadable
from suffice.releases import notation
from suffice.releases.envelope import Envelope

REFUSED = {
    "is not a number": b'{"a": NaN}',
    "not finite": b'{"a": 1e999}',
    "a whole number has 41 digits": b'{"a": ' + b"1" * 41 + b"}",
    "stands twice": b'{"a": 1, "a": 1}',
    "half a character": b'{"a": "\\ud800"}',
    "nested more than 16 deep": b'{"a": ' + b"[" * 16 + b"1" + b"]" * 16 + b"}",
    "an object was expected": b"[]",
    "has 101 bytes": b'{"a": "' + b"x" * 92 + b'"}',
}


@pytest.mark.parametrize("why", list(REFUSED))
def test_what_is_refused_is_refused_for_its_own_reason(why):
    with pytest.raises(ReleaseUnreadable, match=why):
        notation.read(REFUSED[why], what="header", most=100)


def test_what_is_just_within_the_caps_is_read():
    assert notation.read(b'{"a": ' + b"[" * 15 + b"1" + b"]" * 15 + b"}", what="header", most=100)
    assert notation.read(b'{"a": ' + b"1" * 40 + b"}", what="header", most=100) == {"a": int("1" * 40)}


def test_base64_has_one_spelling():
    data = Envelope(b"x").to_bytes()
    assert Envelope.from_bytes(data) == Envelope(b"x")
    for other in (b'"eB=="', b'"eA="', b'"eA==="', b'"eA"', b'"eA==\\n"'):
        with pytest.raises(ReleaseUnreadable, match="should be base64"):
            Envelope.from_bytes(data.replace(b'"eA=="', other))
