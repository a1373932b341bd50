"""The outside of a release file: one DSSE envelope (github.com/secure-systems-lab/dsse) as JSON.

The payload stays undecoded text until someone asks for it, and nothing here looks inside it. A
file may have no signature; `sha256`, a member that DSSE readers pass over, then still tells a
damaged file from a sound one.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from typing import Any, final

from suffice.core.errors import ReleaseUnreadable
from suffice.releases import notation

__all__ = ["MOST_BYTES", "PAYLOAD_TYPE", "Envelope", "Signature", "signed_bytes"]

PAYLOAD_TYPE = "application/vnd.suffice.release+arrow"
MOST_BYTES = 3 << 27
_MOST_SIGNATURES = 16
_KEY_ID = re.compile(r"[0-9a-f]{64}")
_SIGNATURE_BYTES = 64


def signed_bytes(payload: bytes, payload_type: str = PAYLOAD_TYPE) -> bytes:
    """What a seal signs: DSSE's pre-authentication encoding, lengths in front of the parts.

    The type is part of it, so that a signature of one kind of thing never fits another.
    """
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


@final
@dataclass(frozen=True, slots=True)
class Signature:
    """A signature, and the id of the key that it says made it."""

    key_id: str
    value: bytes


@final
@dataclass(frozen=True, slots=True)
class Envelope:
    """Payload bytes with their signatures."""

    payload: bytes
    signatures: tuple[Signature, ...] = ()

    def to_bytes(self) -> bytes:
        """The file: canonical JSON and a newline."""
        signatures = [{"keyid": one.key_id, "sig": _text(one.value)} for one in self.signatures]
        return (
            notation.canonical(
                {
                    "payload": _text(self.payload),
                    "payloadType": PAYLOAD_TYPE,
                    "sha256": hashlib.sha256(self.payload).hexdigest(),
                    "signatures": signatures,
                }
            )
            + b"\n"
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Envelope:
        """The envelope, its form and its hash checked, its payload not looked at."""
        members = notation.read(data, what="file", most=MOST_BYTES)
        if set(members) != {"payload", "payloadType", "sha256", "signatures"}:
            raise ReleaseUnreadable("The file is not a release: its members are not those of an envelope.")
        if members["payloadType"] != PAYLOAD_TYPE:
            raise ReleaseUnreadable(
                f"The file holds {str(members['payloadType'])[:60]!r}, and not a release."
            )
        payload = _bytes(members["payload"])
        if members["sha256"] != hashlib.sha256(payload).hexdigest():
            raise ReleaseUnreadable("The file is damaged: its content does not fit its hash. Fetch it again.")
        given = members["signatures"]
        if not isinstance(given, list) or len(given) > _MOST_SIGNATURES:
            raise ReleaseUnreadable(f"The file's signatures are not a list of at most {_MOST_SIGNATURES}.")
        return cls(payload, tuple(map(_signature, given)))


def _signature(given: Any) -> Signature:
    if not isinstance(given, dict) or set(given) != {"keyid", "sig"}:
        raise ReleaseUnreadable("A signature of the file is not a key id and its bytes.")
    if not isinstance(given["keyid"], str) or not _KEY_ID.fullmatch(given["keyid"]):
        raise ReleaseUnreadable("A key id in the file is not 64 hexadecimal digits.")
    value = _bytes(given["sig"])
    if len(value) != _SIGNATURE_BYTES:
        raise ReleaseUnreadable(
            f"A signature in the file has {len(value)} bytes, and not {_SIGNATURE_BYTES}."
        )
    return Signature(given["keyid"], value)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _bytes(text: Any) -> bytes:
    """The bytes of base64 text in its one spelling."""
    try:
        data = base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except (binascii.Error, ValueError):
        data = None
    if data is None or _text(data) != text:
        raise ReleaseUnreadable("The file is damaged: a member that should be base64 is not.")
    return data
