"""Who vouches for a file: keys, seals, and every way in which a seal can fail."""

from __future__ import annotations

import base64
import json
import stat
import subprocess
import sys

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from suffice.core.errors import InputError, ReleaseError, ReleaseUnreadable, SealBroken
from suffice.releases.envelope import PAYLOAD_TYPE, Envelope, signed_bytes
from suffice.releases.release import Release, load, opened
from suffice.releases.seal import key_id, new_keys
from tests.releases.example import release


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    return new_keys("owner", tmp_path_factory.mktemp("keys"))


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return new_keys("other", tmp_path_factory.mktemp("keys"))


@pytest.fixture
def sealed(tmp_path, keys):
    return release().save(tmp_path / "x.suffice", seal=keys[0])


def test_a_sealed_file_loads_under_its_key_and_says_whose_it_is(sealed, keys):
    made = load(sealed, trust=keys[1])
    assert made == release()
    assert made.verified_by == (key_id(load_pem_public_key(keys[1].read_bytes())),)
    assert load(sealed).verified_by == ()


def test_keys_are_given_as_path_text_pem_or_object(tmp_path, keys):
    private, public = (path.read_bytes() for path in keys)
    files = {
        release().save(tmp_path / f"{at}.suffice", seal=key).read_bytes()
        for at, key in enumerate([keys[0], str(keys[0]), private, load_pem_private_key(private, None)])
    }
    assert len(files) == 1
    for trust in (keys[1], str(keys[1]), public, load_pem_public_key(public), [keys[1]], (public,)):
        assert load(tmp_path / "0.suffice", trust=trust).verified_by


def test_a_file_without_a_seal_is_refused_where_one_is_asked_for(tmp_path, keys):
    path = release().save(tmp_path / "x.suffice")
    assert load(path) == release()
    with pytest.raises(SealBroken, match="carries no seal"):
        load(path, trust=[keys[1]])


def test_the_seal_of_another_key_is_refused(sealed, other):
    with pytest.raises(SealBroken, match=r"sealed by key .* and not by"):
        load(sealed, trust=other[1])


def test_one_of_several_trusted_keys_is_enough(sealed, keys, other):
    assert len(load(sealed, trust=[other[1], keys[1]]).verified_by) == 1


def test_another_payload_under_the_same_signature_is_refused_before_it_is_read(sealed, keys, monkeypatch):
    swapped = Envelope(
        release(made_by="someone").to_bytes(), Envelope.from_bytes(sealed.read_bytes()).signatures
    )
    sealed.write_bytes(swapped.to_bytes())
    monkeypatch.setattr(Release, "from_bytes", lambda *_, **__: pytest.fail("the payload was read"))
    with pytest.raises(SealBroken, match="changed after sealing"):
        load(sealed, trust=keys[1])


def test_a_false_seal_of_a_trusted_key_is_not_made_good_by_a_true_one(sealed, keys, other):
    envelope = Envelope.from_bytes(sealed.read_bytes())
    second = Envelope.from_bytes(
        release().save(sealed.with_name("y"), seal=other[0]).read_bytes()
    ).signatures[0]
    false = type(second)(second.key_id, bytes(64))
    sealed.write_bytes(Envelope(envelope.payload, (*envelope.signatures, false)).to_bytes())
    with pytest.raises(SealBroken):
        load(sealed, trust=[keys[1], other[1]])


def tampered(data, *changes):
    """Every file in which one byte of this one is another; the newline at the end says nothing."""
    for at in range(len(data) - 1):
        for change in changes:
            yield data[:at] + bytes([data[at] ^ change]) + data[at + 1 :]


def check_no_byte_can_change(sealed, keys, monkeypatch, *changes):
    trust = load_pem_public_key(keys[1].read_bytes())
    data = sealed.read_bytes()
    monkeypatch.setattr(Release, "from_bytes", lambda *_, **__: pytest.fail("the payload was read"))
    for changed in tampered(data, *changes):
        with pytest.raises(ReleaseError):
            opened(changed, trust=trust)


def test_no_byte_of_a_sealed_file_can_change(sealed, keys, monkeypatch):
    check_no_byte_can_change(sealed, keys, monkeypatch, 1)


@pytest.mark.laws
def test_no_byte_of_a_sealed_file_can_change_to_any_other(sealed, keys, monkeypatch):
    check_no_byte_can_change(sealed, keys, monkeypatch, *range(1, 256))


def test_no_byte_of_an_unsealed_file_changes_by_accident():
    for changed in tampered(Envelope(release().to_bytes()).to_bytes(), 1):
        with pytest.raises(ReleaseUnreadable):
            opened(changed)


def test_the_signed_bytes_are_those_of_the_envelope_standard():
    kind = PAYLOAD_TYPE.encode()
    assert signed_bytes(b"hello") == b"DSSEv1 " + str(len(kind)).encode() + b" " + kind + b" 5 hello"


def test_a_second_implementation_agrees_on_the_seal(sealed, keys):
    members = json.loads(sealed.read_text())
    payload, kind = base64.b64decode(members["payload"]), members["payloadType"].encode()
    signed = b" ".join([b"DSSEv1", str(len(kind)).encode(), kind, str(len(payload)).encode(), payload])
    public = load_pem_public_key(keys[1].read_bytes())
    public.verify(base64.b64decode(members["signatures"][0]["sig"]), signed)


ENVELOPES = {
    "no object": b"[]",
    "nothing": b"",
    "other members": b"{}",
    "one member more": {"rows": [1]},
    "another type": {"payloadType": "application/json"},
    "a payload that is no text": {"payload": 5},
    "url-safe base64": {"payload": "__--"},
    "base64 with a line break": {"payload": "AAAA\nAAAA"},
    "loose base64": {"payload": "AB=="},
    "letters beyond ASCII": {"payload": "é"},
    "signatures that are no list": {"signatures": {}},
    "a signature that is no object": {"signatures": ["x"]},
    "a short signature": {"signatures": [{"keyid": "0" * 64, "sig": "AAAA"}]},
    "a short key id": {"signatures": [{"keyid": "0", "sig": "A" * 86 + "=="}]},
    "very many signatures": {"signatures": [{"keyid": "0" * 64, "sig": "A" * 86 + "=="}] * 17},
}


@pytest.mark.parametrize("name", list(ENVELOPES))
def test_an_envelope_that_is_not_one_is_unreadable(tmp_path, name):
    odd = ENVELOPES[name]
    if isinstance(odd, dict):
        odd = json.dumps(json.loads(Envelope(release().to_bytes()).to_bytes()) | odd).encode()
    (tmp_path / "x").write_bytes(odd)
    with pytest.raises(ReleaseUnreadable):
        load(tmp_path / "x")


def test_a_file_beyond_the_cap_is_refused_before_it_is_parsed(tmp_path, monkeypatch):
    path = release().save(tmp_path / "x.suffice")
    monkeypatch.setattr("suffice.releases.envelope.MOST_BYTES", 1000)
    monkeypatch.setattr("suffice.releases.notation.json.loads", lambda *_, **__: pytest.fail("it was parsed"))
    with pytest.raises(ReleaseUnreadable, match="at most 1000 are read"):
        load(path)


def test_new_keys_are_for_their_holder_alone_and_never_overwrite(tmp_path):
    private, public = new_keys("owner", tmp_path)
    assert (private.name, public.name) == ("owner.key", "owner.pub")
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    before = private.read_bytes()
    with pytest.raises(InputError, match="never overwritten"):
        new_keys("owner", tmp_path)
    private.unlink()
    with pytest.raises(InputError, match="never overwritten"):
        new_keys("owner", tmp_path)
    assert not private.exists()
    public.unlink()
    assert new_keys("owner", tmp_path)[0].read_bytes() != before


@pytest.mark.parametrize("name", ["", "../owner", "a/b", ".hidden", "-x"])
def test_a_name_of_keys_cannot_lead_elsewhere(tmp_path, name):
    with pytest.raises(InputError, match="A name of keys"):
        new_keys(name, tmp_path)


def test_keys_in_the_wrong_place_are_refused_with_a_remedy(tmp_path, keys, sealed):
    curve = ec.generate_private_key(ec.SECP256R1())
    secret = load_pem_private_key(keys[0].read_bytes(), None)
    locked = secret.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"word"))
    for seal in (keys[1], b"x", locked, curve, 5, tmp_path / "absent.key"):
        with pytest.raises(InputError):
            release().save(tmp_path / "y.suffice", seal=seal)
    assert not (tmp_path / "y.suffice").exists()
    for trust in (keys[0], b"x", curve, 5, [], tmp_path / "absent.pub"):
        with pytest.raises(InputError):
            load(sealed, trust=trust)


def test_reading_without_keys_loads_no_cryptography(tmp_path):
    path = release().save(tmp_path / "x.suffice")
    code = (
        "import sys; from suffice.releases.release import load; load(sys.argv[1]).card();"
        "heavy = ('cryptography', 'sklearn', 'scipy', 'flint', 'pandas', 'pyarrow.dataset');"
        "print([name for name in heavy if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True)
    assert run.stdout == "[]\n"
