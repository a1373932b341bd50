"""Long arrays in pieces, on every processor there is.

How many pieces there are depends on the number of rows alone, and what is found comes back in their
order, so that the same rows give the same floats on every machine.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, pairwise
from typing import TypeVar

__all__ = ["in_order", "in_pieces"]

Found = TypeVar("Found")
Item = TypeVar("Item")

_ROWS = 1 << 17


def in_pieces(rows: int, run: Callable[[slice], Found]) -> list[Found]:
    """What `run` finds in each piece of so many rows, in order; it should hold no lock while it works."""
    count = max(1, -(-rows // _ROWS))
    cuts = [rows * at // count for at in range(count + 1)]
    pieces = [slice(start, stop) for start, stop in pairwise(cuts)]
    workers = min(count, _processors())
    if workers == 1:
        return [run(piece) for piece in pieces]
    with ThreadPoolExecutor(workers, thread_name_prefix="suffice-rows") as pool:
        return list(pool.map(run, pieces))


def in_order(items: Iterable[Item], run: Callable[[Item], Found]) -> Iterator[Found]:
    """What `run` finds in each item, in order; a few items are under way at a time."""
    workers, left = _processors(), iter(items)
    with ThreadPoolExecutor(workers, thread_name_prefix="suffice-rows") as pool:
        running = deque(pool.submit(run, item) for item in islice(left, 2 * workers))
        while running:
            yield running.popleft().result()
            running.extend(pool.submit(run, item) for item in islice(left, 1))


def _processors() -> int:
    """Those that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
