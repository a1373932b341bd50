"""What a command says and how it ends.

Results go to standard output, as text or, with `--json`, as one JSON value; progress, notes and
errors go to standard error. A refusal is one paragraph and an exit code:

0 done · 1 a fault of suffice · 2 the input or the request cannot be used · 3 the ledger refuses ·
4 a file or ledger does not verify · 5 the release does not fit the rows · 130 interrupted
"""

from __future__ import annotations

import json
import math
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, final

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from suffice.core.errors import (
    BudgetExceeded,
    Refused,
    ReleaseError,
    ReleaseMismatch,
    SufficeError,
    UnprotectedRefused,
)

__all__ = ["EXITS", "Output", "columns", "plain", "reported"]

Options = ParamSpec("Options")

EXITS = {
    0: "done",
    1: "a fault of suffice itself",
    2: "the input or the request cannot be used as it is",
    3: "the ledger refuses: too little budget is left, or a release without a guarantee is not allowed",
    4: "a file or a ledger does not verify: damaged, changed, or not sealed by a trusted key",
    5: "the release does not fit the rows",
    130: "interrupted",
}
_CODES: tuple[tuple[type[Exception], int], ...] = (
    (ReleaseMismatch, 5),
    (ReleaseError, 4),
    (BudgetExceeded, 3),
    (Refused, 3),
    (UnprotectedRefused, 3),
    (SufficeError, 2),
    (OSError, 2),
)


@final
@dataclass(frozen=True, slots=True)
class Output:
    """How a command was asked to speak."""

    as_json: bool = False
    quiet: bool = False

    def answer(self, data: Mapping[str, Any], text: str) -> None:
        """What was asked for: always printed."""
        print(_json(data) if self.as_json else plain(text, lines=True))

    def report(self, data: Mapping[str, Any], text: str) -> None:
        """What was done: printed unless the command was asked to be quiet."""
        if self.as_json or not self.quiet:
            self.answer(data, text)

    def note(self, text: str) -> None:
        """A remark on standard error."""
        if not self.quiet:
            print(plain(text, lines=True), file=sys.stderr)

    @contextmanager
    def progress(self, title: str) -> Iterator[Callable[[int, int | None], None] | None]:
        """A bar on standard error if that is a terminal; it is told the rows read and the rows in all."""
        if self.quiet or not sys.stderr.isatty():
            yield None
            return
        parts = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*parts, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(title, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)


def reported(command: Callable[Options, None]) -> Callable[Options, None]:
    """The command, ending with one paragraph and its exit code where it cannot go on."""

    @wraps(command)
    def run(*args: Options.args, **options: Options.kwargs) -> None:
        out = Output(bool(options.get("as_json")), bool(options.get("quiet")))
        try:
            with _warned(out):
                command(*args, **options)
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            print("Interrupted.", file=sys.stderr)
            raise typer.Exit(130) from None
        except Exception as error:  # noqa: BLE001  whatever it is, it ends here
            raise typer.Exit(_refuse(error, out)) from None

    return run


def columns(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in columns of equal width, without lines."""
    table = [list(heads), *([plain(str(cell)) for cell in row] for row in rows)]
    widths = [max(len(row[at]) for row in table) for at in range(len(heads))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in table)


def plain(text: str, *, lines: bool = False) -> str:
    """Text in which whatever could steer a terminal is spelled out; line ends stay where `lines` says so."""
    kept = "\n" if lines else ""
    return "".join(one if one.isprintable() or one in kept else ascii(one)[1:-1] for one in text)


@contextmanager
def _warned(out: Output) -> Iterator[None]:
    """Warnings as notes, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            for text in dict.fromkeys(str(one.message) for one in caught if _matters(one.category)):
                out.note(f"Note: {text}")


def _matters(category: type[Warning]) -> bool:
    return not issubclass(category, DeprecationWarning | PendingDeprecationWarning | ResourceWarning)


def _refuse(error: Exception, out: Output) -> int:
    code = next((code for kind, code in _CODES if isinstance(error, kind)), 1)
    text = _sentence(error, code)
    if out.as_json:
        print(_json({"error": {"kind": type(error).__name__, "message": text, "exit": code}}))
    if code == 1 and os.environ.get("SUFFICE_TRACEBACK"):
        traceback.print_exception(error)
    print(plain(text, lines=True), file=sys.stderr)
    return code


def _sentence(error: Exception, code: int) -> str:
    if code == 1:
        return (
            f"This is a fault of suffice, not of what you gave it: {type(error).__name__}: {error}. "
            "SUFFICE_TRACEBACK=1 shows where it happened."
        )
    if isinstance(error, OSError) and not isinstance(error, SufficeError):
        return f"The file {str(error.filename)!r} cannot be used: {error.strerror or error}."
    return str(error)


def _json(data: Any) -> str:
    return json.dumps(_finite(data), indent=2)


def _finite(data: Any) -> Any:
    """The same, with null for what JSON has no number for."""
    if isinstance(data, float) and not math.isfinite(data):
        return None
    if isinstance(data, Mapping):
        return {str(name): _finite(item) for name, item in data.items()}
    return list(map(_finite, data)) if isinstance(data, list | tuple) else data
