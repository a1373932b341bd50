"""Answers of very many people as packed bits: randomised and counted in one pass."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, Self, final

import numpy as np

from suffice.channels.interval import whole
from suffice.channels.stream import EXPANDED, Stream
from suffice.core.errors import InputError
from suffice.core.guarantees import Guarantee
from suffice.maths.kernels.bit_plane import BITS, LEAST, turn

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Bitwise", "Packed", "guarantee", "randomised", "totals"]

_PIECE = 8 * LEAST  # random words drawn at once: the part that may be left over is an eighth


class Bitwise(Protocol):
    """A channel that turns each bit on its own: unary encodings and per-value response of zeros and ones."""

    def chances(self) -> tuple[int, int]:
        """Counts over 2^53 of a bit being on: where the truth is on, and where it is off."""
        ...

    def guarantee(self) -> Guarantee:
        """What one row of bits keeps secret."""
        ...


@final
@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """Rows of bits stored column by column, 64 rows to a word; bits beyond the last row are zero."""

    planes: NDArray[np.uint64]
    count: int

    def __post_init__(self) -> None:
        """Refuse words that do not fit the count."""
        wide = self.planes.ndim == 2 and self.planes.dtype == np.uint64
        if not wide or self.planes.shape[1] != -(-self.count // 64) or not self.planes.flags.c_contiguous:
            raise InputError(f"{self.count} rows need {-(-self.count // 64)} words of 64 bits per column.")

    @classmethod
    def of(cls, rows: NDArray[np.bool_]) -> Self:
        """Pack an array of zeros and ones, a row per person."""
        count, width = rows.shape
        planes = np.zeros((width, -(-count // 64) * 8), dtype=np.uint8)
        planes[:, : -(-count // 8)] = np.packbits(rows.astype(np.bool_).T, axis=1, bitorder="little")
        return cls(planes.view(np.uint64), count)

    def rows(self) -> NDArray[np.bool_]:
        """A row per person again."""
        octets = self.planes.view(np.uint8)
        bits = np.unpackbits(octets, axis=1, count=self.count, bitorder="little")
        return bits.T.astype(np.bool_)

    def totals(self) -> NDArray[np.int64]:
        """How many bits are on in each column."""
        return np.asarray(np.bitwise_count(self.planes).sum(axis=1, dtype=np.int64))


def totals(truth: Packed, channel: Bitwise, *, workers: int = 1) -> NDArray[np.int64]:
    """How many noisy bits are on in each column; the noisy bits themselves are kept nowhere.

    Turn them into an estimate of the truth's own totals with the channel's `unbias`, or by
    (totals - count·other) / (own - other).
    """
    return np.array(_each(truth, channel, None, workers), dtype=np.int64)


def randomised(truth: Packed, channel: Bitwise, *, workers: int = 1) -> Packed:
    """The noisy bits of all rows."""
    noisy = np.empty_like(truth.planes)
    _each(truth, channel, noisy, workers)
    return replace(truth, planes=noisy)


def guarantee(channel: Bitwise) -> Guarantee:
    """The channel's own, and what packed draws assume besides."""
    given = channel.guarantee()
    return replace(given, assumes=(*given.assumes, EXPANDED))


def _each(truth: Packed, channel: Bitwise, noisy: NDArray[np.uint64] | None, workers: int) -> list[int]:
    """Go through the columns, shared among threads, each of which has a stream of its own."""
    whole("workers", workers)
    own, other = channel.chances()
    columns = [range(at, len(truth.planes), workers) for at in range(min(workers, len(truth.planes)))]

    def work(mine: range) -> list[tuple[int, int]]:
        stream = _Words()
        return [(at, stream.turn(truth, at, own, other, noisy)) for at in mine]

    if len(columns) <= 1:
        found = [work(mine) for mine in columns]
    else:
        with ThreadPoolExecutor(len(columns), thread_name_prefix="suffice-bits") as pool:
            found = list(pool.map(work, columns))
    return [ones for _, ones in sorted(pair for part in found for pair in part)]


@final
class _Words:
    """A stream and what is left of its present piece."""

    __slots__ = ("left", "stream")

    def __init__(self) -> None:
        self.stream = Stream(_PIECE)
        self.left = self.stream.next()

    def turn(self, truth: Packed, column: int, own: int, other: int, noisy: NDArray[np.uint64] | None) -> int:
        """Turn one column; no random word is used twice, and rows beyond the last are off."""
        plane = truth.planes[column]
        out = None if noisy is None else noisy[column]
        last = truth.count % 64
        words, at, total = plane.size - (last > 0), 0, 0
        while at < words:
            done, used, ones = turn(
                plane[at:words], own, other, self.left, None if out is None else out[at:words]
            )
            at, total, self.left = at + done, total + ones, self.left[used:]
            if at < words:
                self.left = self.stream.next()
        if not last:
            return total
        tail = np.empty(1, dtype=np.uint64)
        if not turn(plane[words:], own, other, self.left, tail)[0]:
            self.left = self.stream.next()
            turn(plane[words:], own, other, self.left, tail)
        self.left = self.left[BITS:]
        tail &= np.uint64((1 << last) - 1)
        if out is not None:
            out[words:] = tail
        return total + int(np.bitwise_count(tail)[0])
