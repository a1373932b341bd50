"""Ed25519 keys and seals: who vouches for a release. The only file that imports cryptography.

It is imported where it is used, so that a reader without keys never loads it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suffice.core.errors import InputError, SealBroken
from suffice.releases.envelope import Envelope, Signature, signed_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

__all__ = ["Key", "Keys", "fits", "key_id", "new_keys", "public_text", "sealed", "sealers", "signature"]

Key = Any  # str | os.PathLike | bytes | Ed25519PrivateKey | Ed25519PublicKey
Keys = Any  # a key, or several
_MOST_BYTES = 1 << 14


def new_keys(name: str, folder: str | os.PathLike[str] = ".") -> tuple[Path, Path]:
    """Write a fresh pair as NAME.key (for its holder alone) and NAME.pub; existing files stay."""
    from cryptography.hazmat.primitives import serialization as form  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    if not re.fullmatch(r"[\w][\w.-]*", name):
        raise InputError(f"A name of keys is made of letters, digits, '.', '_' and '-', and got {name!r}.")
    private, public = Path(folder) / f"{name}.key", Path(folder) / f"{name}.pub"
    for path in (private, public):
        if path.exists():
            raise InputError(
                f"There is a file {str(path)!r} already, and keys are never overwritten. Choose another name."
            )
    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    _write_new(private, secret, 0o600)
    open_part = key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    _write_new(public, open_part, 0o644)
    return private, public


def key_id(key: Ed25519PublicKey) -> str:
    """The SHA-256 of the 32 bytes of the public key, in hexadecimal."""
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()


def public_text(key: Key) -> str:
    """A public key as PEM text."""
    from cryptography.hazmat.primitives import serialization as form  # noqa: PLC0415

    raw = _public(key).public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    return raw.decode("ascii")


def signature(data: bytes, seal: Key) -> Signature:
    """The signature of a private key under these bytes."""
    key = _private(seal)
    return Signature(key_id(key.public_key()), key.sign(data))


def fits(data: bytes, key: Key, value: bytes) -> bool:
    """Whether the signature under these bytes was made by the holder of this public key."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415

    try:
        _public(key).verify(value, data)
    except InvalidSignature:
        return False
    return True


def sealed(payload: bytes, seal: Key | None) -> Envelope:
    """The payload in an envelope, signed if a private key is given."""
    if seal is None:
        return Envelope(payload)
    key = _private(seal)
    return Envelope(payload, (Signature(key_id(key.public_key()), key.sign(signed_bytes(payload))),))


def sealers(envelope: Envelope, trust: Keys) -> tuple[str, ...]:
    """The ids of the trusted keys whose seal holds: at least one, and no trusted key's seal is false."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415

    trusted = {key_id(key): key for key in map(_public, _several(trust))}
    if not trusted:
        raise InputError("trust= names no key. Give the owner's public key, or leave trust= out.")
    held: list[str] = []
    for signature in envelope.signatures:
        key = trusted.get(signature.key_id)
        if key is None:
            continue
        try:
            key.verify(signature.value, signed_bytes(envelope.payload))
        except InvalidSignature as error:
            raise SealBroken(
                f"The seal of key {signature.key_id[:16]} does not fit: the file was changed after sealing."
            ) from error
        held.append(signature.key_id)
    if not held:
        raise SealBroken(_absent(envelope, trusted))
    return tuple(dict.fromkeys(held))


def _absent(envelope: Envelope, trusted: Iterable[str]) -> str:
    wanted = ", ".join(one[:16] for one in trusted)
    if not envelope.signatures:
        return f"The file carries no seal, and one of key {wanted} was asked for."
    found = ", ".join(one.key_id[:16] for one in envelope.signatures)
    return f"The file is sealed by key {found}, and not by {wanted}. Ask the owner which key is theirs."


def _several(keys: Keys) -> list[Key]:
    return list(keys) if isinstance(keys, list | tuple | set | frozenset) else [keys]


def _private(key: Key) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives import serialization as form  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    found = key
    if isinstance(key, str | os.PathLike | bytes):
        try:
            found = form.load_pem_private_key(_pem(key), password=None)
        except (ValueError, TypeError) as error:
            raise InputError(
                f"seal= takes an unencrypted private key in PEM, such as NAME.key: {error}."
            ) from error
    if not isinstance(found, Ed25519PrivateKey):
        raise InputError(f"seal= takes an Ed25519 private key, and got a {type(found).__name__}.")
    return found


def _public(key: Key) -> Ed25519PublicKey:
    from cryptography.hazmat.primitives import serialization as form  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

    found = key
    if isinstance(key, str | os.PathLike | bytes):
        try:
            found = form.load_pem_public_key(_pem(key))
        except (ValueError, TypeError) as error:
            raise InputError(f"trust= takes public keys in PEM, such as NAME.pub: {error}.") from error
    if not isinstance(found, Ed25519PublicKey):
        raise InputError(f"trust= takes Ed25519 public keys, and got a {type(found).__name__}.")
    return found


def _pem(key: str | os.PathLike[str] | bytes) -> bytes:
    if isinstance(key, bytes):
        return key
    try:
        with Path(key).open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError as error:
        raise InputError(f"The key file {str(key)!r} cannot be read: {error.strerror}.") from error


def _write_new(path: Path, data: bytes, mode: int) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except OSError as error:
        raise InputError(f"The key file {str(path)!r} cannot be written: {error.strerror}.") from error
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
