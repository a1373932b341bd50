"""Signed statements: words of a ledger that a key vouches for, such as an approval or a checkpoint.

A ledger speaks of keys and signatures as text, and leaves the signing to these functions.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from suffice.core.errors import InputError, SealBroken
from suffice.releases import file, seal
from suffice.releases.envelope import signed_bytes

__all__ = ["STATEMENT_TYPE", "approved_by", "approved_in", "holds", "opened", "signed", "write"]

STATEMENT_TYPE = "application/vnd.suffice.statement+json"
_MOST_BYTES = 1 << 16


def signed(statement: bytes, key: seal.Key) -> str:
    """The signature of a private key under a statement, in hexadecimal."""
    return seal.signature(signed_bytes(statement, STATEMENT_TYPE), key).value.hex()


def holds(statement: bytes, key: seal.Key, signature: str) -> bool:
    """Whether the holder of the public key, a path or its PEM text or bytes, signed this statement."""
    try:
        value = bytes.fromhex(signature)
    except (ValueError, TypeError):
        return False
    public = key.encode() if isinstance(key, str) and key.startswith("-----BEGIN") else key
    return seal.fits(signed_bytes(statement, STATEMENT_TYPE), public, value)


def write(path: str | os.PathLike[str], statement: bytes, key: seal.Key, *, overwrite: bool = False) -> Path:
    """Write a statement and the private key's signature under it as one small file."""
    page = {"statement": statement.decode(), "signature": signed(statement, key)}
    text = json.dumps(page, indent=2, ensure_ascii=False) + "\n"
    return file.write(Path(path), text.encode(), overwrite=overwrite)


def opened(path: str | os.PathLike[str], trust: seal.Keys) -> bytes:
    """The statement in a file, once one of the trusted public keys has signed it."""
    statement, signature = _page(path)
    keys = trust if isinstance(trust, list | tuple) else [trust]
    if not any(holds(statement, key, signature) for key in keys):
        raise SealBroken(
            f"The statement {str(path)!r} is not signed by a trusted key, or was changed afterwards."
        )
    return statement


def approved_by(key: seal.Key) -> Callable[[bytes, str], str]:
    """An approval by a private key that is at hand."""

    def approve(statement: bytes, approver: str) -> str:
        return _checked(statement, approver, signed(statement, key))

    return approve


def approved_in(path: str | os.PathLike[str]) -> Callable[[bytes, str], str]:
    """An approval that was written to a file elsewhere, for exactly these words."""

    def approve(statement: bytes, approver: str) -> str:
        return _checked(statement, approver, _page(path)[1])

    return approve


def _checked(statement: bytes, approver: str, signature: str) -> str:
    if not holds(statement, approver, signature):
        raise SealBroken(
            "The approval was not given by the ledger's approver for this act as it would be recorded now. "
            "Ask for one again."
        )
    return signature


def _page(path: str | os.PathLike[str]) -> tuple[bytes, str]:
    data = file.read(Path(path), most=_MOST_BYTES)
    try:
        page = json.loads(data)
        return page["statement"].encode(), page["signature"]
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise InputError(f"{str(path)!r} is not a signed statement of a ledger.") from error
