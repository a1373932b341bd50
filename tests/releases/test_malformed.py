"""Malformed files, in two layers: before the seal nothing is read, and behind it only our errors escape.

The second layer is sealed anew after the damage, as a careless or hostile owner could, so that it
reaches the parser. Whatever is accepted there is a release again: it has a card and its bytes
come back as they were.
"""

from __future__ import annotations

import copy
import json
import random

import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from suffice.core.errors import FormatTooNew, ReleaseError, ReleaseUnreadable
from suffice.releases import codec
from suffice.releases.envelope import PAYLOAD_TYPE
from suffice.releases.release import Release, opened
from suffice.releases.seal import sealed
from tests.releases.example import several

PAYLOADS = [one.to_bytes() for one in several().values()]
KEY = Ed25519PrivateKey.generate()
TRUST = KEY.public_key()
NUMBERS = [0, -1, 1, 2**31, 2**62, 2**63, -(2**63), 10**39, 0.1, -0.0, 5e-324, 1e308]
TEXTS = ["", "x", "\x1b[2J", "\u202e", "é" * 50, "x" * 2000, "NaN", "PureDP", "Exact", "add-remove"]
KINDS = [{"kind": "NoLaw"}, {"kind": "os.system"}, {"kind": "Fraction", "value": "9" * 300 + "/1"}]
ODD = [None, True, False, *NUMBERS, *TEXTS, [], [[]], [1, 2], {}, *KINDS]


def blurred(data, dice):
    """Some bytes changed, cut, doubled, moved or put in."""
    data = bytearray(data)
    for _ in range(dice.choice([1, 1, 2, 5, 40])):
        at, size = dice.randrange(len(data) + 1), dice.choice([1, 2, 4, 8, 64, 700])
        cut = data[at : at + size]
        match dice.randrange(6):
            case 0:
                data[at : at + 1] = bytes([dice.randrange(256)])
            case 1:
                del data[at : at + size]
            case 2:
                data[at:at] = cut * dice.choice([1, 1, 3])
            case 3:
                data[at:at] = dice.randbytes(size)
            case 4:
                data[at : at + len(cut)] = dice.choice([b"\x00", b"\xff", b"\x7f"]) * len(cut)
            case _:
                data[at : at + len(cut)] = cut[::-1]
    return bytes(data)


def places(value, path=()):
    """The path of every part of a tree."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in inside:
        yield from places(item, (*path, step))


def bent(header, dice):
    """The header with one part or a few replaced, removed, exchanged or put in."""
    header = copy.deepcopy(header)
    for _ in range(dice.choice([1, 1, 1, 2, 4])):
        *path, last = dice.choice([path for path in places(header) if path] or [("kind",)])
        part = header
        for step in path:
            part = part[step]
        match dice.randrange(4):
            case 0:
                part[last] = copy.deepcopy(dice.choice(ODD))
            case 1:
                del part[last]
            case 2:
                part[last] = copy.deepcopy(dice.choice(list(header.values()) or [1]))
            case _:
                if isinstance(part, dict):
                    part[dice.choice(["kind", "columns", "rows", "at_most", "also"])] = copy.deepcopy(
                        dice.choice(ODD)
                    )
                else:
                    part.insert(last, copy.deepcopy(dice.choice(ODD)))
    return header


def rewritten(payload, dice):
    """The payload with a bent header, as Arrow itself writes it."""
    stream = pa.ipc.open_stream(payload)
    table = stream.read_all()
    header = bent(json.loads(table.schema.metadata[b"suffice"]), dice)
    table = table.replace_schema_metadata({b"suffice": json.dumps(header).encode()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def check_nothing_is_read_before_the_seal(count, seed, monkeypatch):
    dice = random.Random(seed)  # noqa: S311  damage needs no secrecy
    files = [sealed(payload, KEY).to_bytes() for payload in PAYLOADS]
    taken = []
    unpack = codec.unpack

    def watched(payload):
        taken.append(payload)
        return unpack(payload)

    monkeypatch.setattr(codec, "unpack", watched)
    refused = 0
    for _ in range(count):
        try:
            opened(blurred(dice.choice(files), dice), trust=TRUST)
        except ReleaseError:
            refused += 1
    # a space between the members, or a change that changes nothing, leaves the content as it was signed
    assert set(taken) <= set(PAYLOADS)
    assert refused == count - len(taken)
    assert refused > 0.95 * count


def check_only_our_errors_escape(count, seed):
    dice = random.Random(seed)  # noqa: S311  damage needs no secrecy
    accepted = refused = 0
    for _ in range(count):
        payload = dice.choice(PAYLOADS)
        changed = dice.choice([blurred, rewritten])(payload, dice)
        try:
            made = opened(sealed(changed, KEY).to_bytes(), trust=TRUST)
        except (ReleaseUnreadable, FormatTooNew):
            refused += 1
            continue
        accepted += 1
        assert Release.from_bytes(made.to_bytes()) == made
        assert made.card()
        assert made._repr_html_()
    assert accepted > 0
    assert refused > count / 2


def test_of_a_damaged_file_nothing_is_read(monkeypatch):
    check_nothing_is_read_before_the_seal(10_000, 1, monkeypatch)


def test_of_a_malformed_payload_under_a_good_seal_only_our_errors_escape():
    check_only_our_errors_escape(10_000, 2)


@pytest.mark.laws
def test_of_many_damaged_files_nothing_is_read(monkeypatch):
    check_nothing_is_read_before_the_seal(500_000, None, monkeypatch)


@pytest.mark.laws
def test_of_many_malformed_payloads_under_a_good_seal_only_our_errors_escape():
    check_only_our_errors_escape(500_000, None)


def test_the_type_of_the_content_is_part_of_what_is_signed():
    data = sealed(PAYLOADS[0], KEY).to_bytes()
    assert opened(data, trust=TRUST)
    with pytest.raises(ReleaseError):
        opened(data.replace(PAYLOAD_TYPE.encode(), b"application/vnd.suffice.release+arroW"), trust=TRUST)
