"""The one place where chance enters a release: the operating system's generator.

Nothing here takes a seed, keeps a state or buffers bytes, so a forked, copied or restored
process cannot repeat what another one drew.
"""

from __future__ import annotations

import os

from suffice.core.errors import InputError

__all__ = ["bits", "octets"]


def octets(count: int) -> bytes:
    """`count` fresh uniform bytes."""
    if count < 0:
        raise InputError(f"A number of random bytes cannot be negative; got {count}.")
    return os.urandom(count)


def bits(count: int) -> int:
    """A fresh integer, uniform on 0, ..., 2**count - 1."""
    surplus = -count % 8
    return int.from_bytes(octets((count + surplus) // 8), "big") >> surplus
