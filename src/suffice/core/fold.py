"""The one loop over rows.

A statistic is a monoid: the states of fragments may be merged in any order. So fragments can be
read by several threads, or by a cluster engine that retries them, as long as each is counted once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from typing import Any, final

from suffice.core.errors import InputError, SchemaError
from suffice.core.protocols import Fragment, Source, Summable

__all__ = ["Map", "Progress", "Task", "fold"]

Progress = Callable[[int, int | None], None]
Counted = tuple[int, Any]
Map = Callable[["Task", "list[Fragment]"], Iterable[tuple[str, Counted]]]


@final
@dataclass(frozen=True, slots=True)
class Task:
    """What a worker does with a fragment: its id, and the number of its rows with their state."""

    statistic: Summable
    told: Callable[[int], None] | None = None

    def __call__(self, fragment: Fragment) -> tuple[str, Counted]:
        """Sum one fragment; an error that names a row names the row of the source."""
        state, rows = self.statistic.init(), 0
        for batch in fragment.batches():
            try:
                state = self.statistic.update(state, batch)
            except SchemaError as error:
                raise error.moved(fragment.start + rows) from error
            rows += batch.num_rows
            if self.told is not None:
                self.told(batch.num_rows)
        return fragment.id, (rows, state)


def fold(
    statistic: Summable,
    source: Source,
    *,
    workers: int = 1,
    progress: Progress | None = None,
    map: Map | None = None,  # noqa: A002  it is what the builtin is, over fragments
) -> Any:
    """The state of all rows of the source, each counted once; the same for every number of workers.

    `progress` is called with the rows read so far and the rows in all, or None where nobody knows.
    `map` replaces the threads: it takes a picklable task and the fragments, runs the task on each
    wherever it likes, and hands back what the task returned, in any order. A fragment that comes
    back twice is counted once, and one that does not come back is an error.
    """
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InputError(f"workers= is a whole number of threads, 1 or more, and got {workers!r}.")
    columns = statistic.reads()
    for name in columns:
        if name not in source.schema.names:
            raise SchemaError.missing_column(name, source.schema.names)
    fragments = list(source.fragments(columns))
    meter = None if progress is None else _meter(progress, getattr(source, "rows", None))
    if map is not None:
        results: Iterable[tuple[str, Counted]] = _reported(map(Task(statistic), fragments), meter)
    elif workers == 1:
        results = (Task(statistic, meter)(fragment) for fragment in fragments)
    else:
        results = _threaded(Task(statistic, meter), fragments, workers)
    return _merged(statistic, source, [fragment.id for fragment in fragments], results)


def _merged(
    statistic: Summable, source: Source, expected: list[str], results: Iterable[tuple[str, Counted]]
) -> Any:
    """Merge every fragment's state once, whoever delivers it and how often."""
    waiting = set(expected)
    if len(waiting) != len(expected):
        raise InputError(f"The source {source.name!r} gives one id to two fragments; each needs its own.")
    known = frozenset(waiting)
    total, rows = statistic.init(), 0
    for called, (count, state) in results:
        if called not in known:
            raise InputError(f"map= delivered a fragment {called!r} that the source does not have.")
        if called in waiting:
            waiting.remove(called)
            total = statistic.merge(total, state)
            rows += count
    if waiting:
        raise InputError(
            f"map= delivered {len(known) - len(waiting)} of {len(known)} fragments; {min(waiting)!r} is "
            "missing. Run it again: nothing was summed."
        )
    if not rows:
        raise InputError(f"The source {source.name!r} has no rows, so there is nothing to sum.")
    return total


def _meter(progress: Progress, total: int | None) -> Callable[[int], None]:
    """Count the rows of all threads together and tell them one after the other."""
    lock, done = Lock(), 0

    def told(rows: int) -> None:
        nonlocal done
        with lock:
            done += rows
            progress(done, total)

    return told


def _reported(
    results: Iterable[tuple[str, Counted]], meter: Callable[[int], None] | None
) -> Iterator[tuple[str, Counted]]:
    seen: set[str] = set()
    for called, counted in results:
        if meter is not None and called not in seen:
            seen.add(called)
            meter(counted[0])
        yield called, counted


def _threaded(task: Task, fragments: list[Fragment], workers: int) -> Iterator[tuple[str, Counted]]:
    """The results in the order of the fragments, so that the first bad row is the one that is named."""
    left = iter(fragments)
    with ThreadPoolExecutor(workers, thread_name_prefix="suffice-fold") as pool:
        running: deque[Future[tuple[str, Counted]]] = deque(
            pool.submit(task, fragment) for fragment in islice(left, 2 * workers)
        )
        try:
            while running:
                yield running.popleft().result()
                running.extend(pool.submit(task, fragment) for fragment in islice(left, 1))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
