"""Many random words from one fresh key: AES-128 in counter mode, for millions of local answers at once.

A key comes from the operating system for every stream and is never kept, so no two calls, threads or
processes share one. Central releases do not use this; they read the operating system's bits.
"""

from __future__ import annotations

from typing import final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from suffice.core.randomness import octets

__all__ = ["EXPANDED", "Stream"]

EXPANDED = (
    "a key of 128 bits from the operating system is expanded by AES in counter mode, whose output is taken "
    "to be uniform"
)


@final
class Stream:
    """Random words of 64 bits, a piece at a time into one buffer; a piece is overwritten by the next."""

    __slots__ = ("_cipher", "_plain", "_room")

    def __init__(self, words: int) -> None:
        self._cipher = Cipher(algorithms.AES(octets(16)), modes.CTR(bytes(16))).encryptor()
        self._plain = bytes(8 * words)
        self._room = bytearray(8 * words + 16)

    def next(self) -> NDArray[np.uint64]:
        """The next piece."""
        self._cipher.update_into(self._plain, self._room)
        return np.frombuffer(self._room, dtype=np.uint64, count=len(self._plain) // 8)
