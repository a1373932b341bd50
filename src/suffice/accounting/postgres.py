"""A ledger in a schema of a PostgreSQL database, through psycopg."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from suffice.accounting import statement
from suffice.accounting.engine import Connection
from suffice.core.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from psycopg import Connection as Raw

__all__ = ["Postgres"]

_WORDS: Final = {"integer": "BIGINT", "bytes": "BYTEA", "strict": ""}
_SCHEMA: Final = "suffice"  # where the ledger lies when the URL does not say
_ISOLATION: Final = {True: "READ COMMITTED", False: "REPEATABLE READ READ ONLY"}
_MAKING: Final = 7_310_579_611_263_842_357  # the advisory lock of those who make a ledger
_SETTINGS: Final = (
    "SET LOCAL synchronous_commit = on",
    "SET LOCAL lock_timeout = '60s'",
)


@final
@dataclass(frozen=True, slots=True)
class Postgres:
    """A ledger in one schema; the address may hold a password, which is never shown."""

    address: str = field(repr=False)
    schema: str = _SCHEMA

    @classmethod
    def of(cls, url: str) -> Postgres:
        """Read 'postgresql://user@host/database?schema=name'; all but the schema is for the server."""
        parts = urlsplit(url)
        words = parse_qsl(parts.query, keep_blank_values=True)
        schema = dict(words).get("schema", _SCHEMA)
        if not schema or "\0" in schema:
            raise InputError("schema= in the URL of a ledger names a schema, and got nothing.")
        rest = urlencode([word for word in words if word[0] != "schema"], quote_via=quote)
        return cls(_joined(parts.scheme, parts.netloc, parts.path, rest), schema)

    @property
    def url(self) -> str:
        """The address without its password, and the schema."""
        parts = urlsplit(self.address)
        user, mark, host = parts.netloc.rpartition("@")
        words = [word for word in parse_qsl(parts.query, keep_blank_values=True) if word[0] != "password"]
        shown = urlencode([*words, ("schema", self.schema)], quote_via=quote)
        return _joined(parts.scheme, user.partition(":")[0] + mark + host, parts.path, shown)

    @property
    def words(self) -> dict[str, str]:
        """The names of types."""
        return _WORDS

    def create(self, fill: Callable[[Connection], None]) -> bool:
        """Make the schema and the ledger in one transaction; False when a ledger is there."""
        with self.transaction(write=True) as db:
            self._refuse_forgetful(db)
            db.rows("SELECT pg_advisory_xact_lock(?)", _MAKING)
            if db.rows("SELECT to_regclass(?)", f"{_quoted(self.schema)}.ledger") != [(None,)]:
                return False
            db.change(f"CREATE SCHEMA IF NOT EXISTS {_quoted(self.schema)}")
            fill(db)
            return True

    @contextmanager
    def transaction(self, *, write: bool = False) -> Iterator[Connection]:
        """A transaction that is on the server's disk before the block is left."""
        psycopg = _library()
        with _plainly(psycopg, self.url), contextlib.closing(self._open(psycopg)) as raw:
            raw.execute(f"SET TRANSACTION ISOLATION LEVEL {_ISOLATION[write]}")
            for setting in (*_SETTINGS, f"SET LOCAL search_path = {_quoted(self.schema)}"):
                raw.execute(setting)
            yield _Statements(raw, self.schema)
            raw.commit()

    def format(self) -> int:
        """The format of the ledger; an error when the schema holds none."""
        with self.transaction() as db:
            self._refuse_forgetful(db)
            there = db.rows("SELECT to_regclass('ledger'), to_regclass('entry'), to_regclass('account')")
            found = db.rows(statement.FORMAT) if None not in there[0] else []
        if not found:
            raise InputError(f"There is no ledger at {self.url!r}. Ledger.create makes one.")
        return int(found[0][0])

    def _open(self, psycopg: ModuleType) -> Raw[tuple[Any, ...]]:
        try:
            raw: Raw[tuple[Any, ...]] = psycopg.connect(self.address)
        except psycopg.ProgrammingError:
            raise InputError(f"{self.url!r} is not a URL that PostgreSQL understands.") from None
        return raw

    def _refuse_forgetful(self, db: Connection) -> None:
        if db.rows("SHOW fsync") != [("on",)]:
            raise InputError(
                f"The server of {self.url!r} runs with fsync = off, so a loss of power could undo a spend. "
                "Turn fsync on."
            )


@final
@dataclass(frozen=True, slots=True)
class _Statements:
    """A connection of psycopg while its transaction lasts."""

    raw: Raw[tuple[Any, ...]]
    schema: str

    def rows(self, text: str, *values: object) -> list[tuple[Any, ...]]:
        """What the statement finds."""
        return self.raw.execute(_marked(text), values or None).fetchall()

    def change(self, text: str, *values: object) -> int:
        """How many rows the statement changed."""
        return self.raw.execute(_marked(text), values or None).rowcount

    def undo(self) -> None:
        """Take back what the transaction did; what follows is a transaction of its own."""
        self.raw.rollback()
        self.raw.execute(f"SET LOCAL search_path = {_quoted(self.schema)}")


def _marked(text: str) -> bytes:
    """The statement with the marks that psycopg knows; no statement of ours has either in a literal."""
    return text.replace("?", "%s").encode()


def _joined(scheme: str, place: str, path: str, query: str) -> str:
    return f"{scheme}://{place}{path}" + (f"?{query}" if query else "")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _library() -> ModuleType:
    try:
        import psycopg  # noqa: PLC0415  it loads a library of the system's, and few ledgers need it
    except ImportError as error:
        raise MissingExtra.named("psycopg", "postgres") from error
    return psycopg


@contextmanager
def _plainly(psycopg: ModuleType, url: str) -> Iterator[None]:
    try:
        yield
    except psycopg.errors.LockNotAvailable as error:
        raise InputError(
            f"The ledger {url!r} cannot be used: another process held it for a minute. Nothing was spent. "
            "Let that end, then ask again."
        ) from error
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction) as error:
        raise InputError(
            f"The ledger {url!r} cannot be used: it may not be written to. Nothing was spent. "
            "Its owner needs the right to write in its schema."
        ) from error
    except psycopg.OperationalError as error:
        why = str(error).strip().partition("\n")[0]
        raise InputError(
            f"The ledger {url!r} cannot be used: {why}. "
            "Ask again: a key that was paid for is not charged twice."
        ) from error
