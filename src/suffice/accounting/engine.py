"""The one door to a database: a transaction, its statements, and what went wrong in plain words.

A handle holds no connection: each transaction opens one and closes it, so a handle can be copied,
pickled and used after a fork, in any thread.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, Protocol, final

from suffice.accounting import statement
from suffice.accounting.disk import refuse_network, sync_folder
from suffice.core.errors import FormatTooNew, InputError

__all__ = ["FORMAT", "Connection", "Engine", "SQLite", "check_format", "migrate"]

FORMAT = 2  # the number of the newest migration
_PATIENCE = 60.0  # seconds to wait for another process that writes
_WORDS = {"integer": "INTEGER", "bytes": "BLOB", "strict": "STRICT"}
_PRAGMAS = (
    "PRAGMA journal_mode = DELETE",
    "PRAGMA synchronous = EXTRA",
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
)


class Connection(Protocol):
    """Statements inside one transaction."""

    def rows(self, text: str, *values: object) -> list[tuple[Any, ...]]:
        """What the statement finds."""
        ...

    def change(self, text: str, *values: object) -> int:
        """How many rows the statement changed."""
        ...

    def undo(self) -> None:
        """Take back what the transaction did; what follows only reads."""
        ...


class Engine(Protocol):
    """A place that holds one ledger."""

    @property
    def url(self) -> str:
        """Where it is."""
        ...

    @property
    def words(self) -> dict[str, str]:
        """What a migration's placeholders are called here."""
        ...

    def create(self, fill: Callable[[Connection], None]) -> bool:
        """Make the ledger whole or not at all; False when there is one already."""
        ...

    def transaction(self, *, write: bool = False) -> AbstractContextManager[Connection]:
        """Statements that take effect together when the block ends, and not at all when it raises."""
        ...

    def format(self) -> int:
        """The format that the ledger was written in."""
        ...


def migrate(db: Connection, words: dict[str, str], since: int) -> None:
    """Bring the tables from one format to the newest."""
    folder = resources.files("suffice.accounting") / "migrations"
    for number in range(since + 1, FORMAT + 1):
        (file,) = (one for one in folder.iterdir() if one.name.startswith(f"{number:04d}_"))
        for command in Template(file.read_text("utf-8")).substitute(words).split(";\n"):
            if command.strip():
                db.change(command)
        if number == 1:
            db.change(statement.BEGIN_LEDGER)
        db.change(statement.MIGRATED, number)


@final
@dataclass(frozen=True, slots=True)
class SQLite:
    """A ledger in one file of this machine, through the sqlite3 of Python."""

    path: Path

    @property
    def url(self) -> str:
        """The path."""
        return str(self.path)

    @property
    def words(self) -> dict[str, str]:
        """The names of types, and strict tables."""
        return _WORDS

    def create(self, fill: Callable[[Connection], None]) -> bool:
        """Write the ledger under a passing name, then give it its own name if that is free."""
        if not self.path.parent.is_dir():
            raise InputError(
                f"There is no folder {str(self.path.parent)!r} to put the ledger in. Make it first."
            )
        refuse_network(self.path)
        if self.path.exists():
            return False
        draft = SQLite(self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}"))
        try:
            with _plainly(self.path):
                os.close(os.open(draft.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            with draft.transaction(write=True) as db:
                fill(db)
            with _plainly(self.path):
                return _named(draft.path, self.path)
        finally:
            draft.path.unlink(missing_ok=True)

    @contextmanager
    def transaction(self, *, write: bool = False) -> Iterator[Connection]:
        """A transaction that is on the disk before the block is left."""
        with _plainly(self.path), contextlib.closing(self._open()) as raw:
            raw.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                yield _Statements(raw)
                if raw.in_transaction:
                    raw.execute("COMMIT")
            except BaseException:
                if raw.in_transaction:
                    raw.execute("ROLLBACK")
                raise

    def format(self) -> int:
        """The format of the file; an error when it holds no ledger that can be used here."""
        refuse_network(self.path)
        with self.transaction() as db:
            tables = db.rows(
                "SELECT COUNT(*) FROM sqlite_master WHERE name IN ('ledger', 'entry', 'account')"
            )
            found = db.rows(statement.FORMAT) if tables == [(3,)] else []
        if not found:
            raise InputError(f"{str(self.path)!r} is a database, but not a ledger. Ledger.create makes one.")
        return int(found[0][0])

    def _open(self) -> sqlite3.Connection:
        if not self.path.exists():
            raise InputError(f"There is no ledger at {str(self.path)!r}. Ledger.create makes one.")
        raw = sqlite3.connect(
            f"{self.path.as_uri()}?mode=rw", uri=True, timeout=_PATIENCE, isolation_level=None
        )
        try:
            for pragma in _PRAGMAS:
                raw.execute(pragma)
        except BaseException:
            raw.close()
            raise
        return raw


@final
@dataclass(frozen=True, slots=True)
class _Statements:
    """A connection of sqlite3 while its transaction lasts."""

    raw: sqlite3.Connection

    def rows(self, text: str, *values: object) -> list[tuple[Any, ...]]:
        """What the statement finds."""
        return self.raw.execute(text, values).fetchall()

    def change(self, text: str, *values: object) -> int:
        """How many rows the statement changed."""
        return self.raw.execute(text, values).rowcount

    def undo(self) -> None:
        """Take back what the transaction did."""
        if self.raw.in_transaction:
            self.raw.execute("ROLLBACK")


def check_format(found: int, url: str) -> None:
    """Refuse a ledger that a newer version of suffice wrote."""
    if found > FORMAT:
        raise FormatTooNew(
            f"The ledger {url!r} has format {found}, and this version knows formats up to {FORMAT}. "
            "Nothing was changed. Install a newer suffice."
        )


def _named(draft: Path, path: Path) -> bool:
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            return False
        draft.replace(path)
    sync_folder(path.parent)
    return True


_CAUSES = {
    "SQLITE_READONLY": "it may not be written to. Its owner needs the right to write it and its folder",
    "SQLITE_TOOBIG": "a release of this size cannot be kept in it. Release less at a time",
    "SQLITE_FULL": "the disk is full. Make room, then ask again",
    "SQLITE_IOERR": "the disk did not do what it was asked. Look after the disk, then ask again",
    "SQLITE_CANTOPEN": "it cannot be opened. Look at the rights of the file and its folder",
    "SQLITE_PERM": "it may not be opened. Look at the rights of the file and its folder",
    "SQLITE_NOTADB": "it is not a ledger. Give the path of a file that Ledger.create made",
    "SQLITE_CORRUPT": "it is damaged. Put back a copy, and run `suffice ledger verify` on it",
    "SQLITE_BUSY": "another process held it for a minute. Let that end, then ask again",
    "SQLITE_LOCKED": "another process held it for a minute. Let that end, then ask again",
}


@contextmanager
def _plainly(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", None) or ""
        cause = _CAUSES.get("_".join(name.split("_")[:2]))
        if cause is None:
            raise
        raise InputError(f"The ledger {str(path)!r} cannot be used: {cause}. Nothing was spent.") from error
    except OSError as error:
        raise InputError(
            f"The ledger {str(path)!r} cannot be used: {error.strerror or error}. Look at its folder."
        ) from error
