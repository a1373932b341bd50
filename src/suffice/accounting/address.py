"""Where a ledger is: a path or a URL, turned into the engine that keeps it."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote

from suffice.accounting.engine import Engine, SQLite
from suffice.accounting.postgres import Postgres
from suffice.core.errors import InputError

__all__ = ["engine_of"]


def engine_of(url: str | os.PathLike[str]) -> Engine:
    """The engine that a URL or a path names."""
    text = os.fspath(url)
    scheme, mark, rest = text.partition("://")
    if not mark:
        return SQLite(Path(text).absolute())
    if scheme in {"postgresql", "postgres"}:
        return Postgres.of(text)
    if scheme != "sqlite":
        raise InputError(f"A ledger is a path, a 'sqlite:///' or a 'postgresql://' URL, and got {text!r}.")
    if not rest.startswith("/") or rest == "/":
        raise InputError(f"A ledger URL is 'sqlite:///' and a path, and got {text!r}.")
    return SQLite(Path(unquote(rest[1:])).absolute())
