"""A disk that loses power: a layer under SQLite that knows what was made durable and what was not.

It is pessimistic. After a loss each write since the last sync is there, gone or torn by sectors; a
file whose name was never synced may be missing, and one that was deleted without a sync of
the folder may come back.
"""

from __future__ import annotations

import random
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import apsw

SECTOR = 512


@dataclass
class Disk:
    """Contents that are durable, changes that are not yet, and the losses that were drawn."""

    seed: int
    chance: float
    durable: dict[str, bytes] = field(default_factory=dict)
    pending: dict[str, list[tuple[int, bytes | None]]] = field(default_factory=dict)
    limbo: dict[str, bytes] = field(default_factory=dict)
    acknowledged: list[tuple[str, ...]] = field(default_factory=list)
    losses: list[tuple[dict[str, bytes], int]] = field(default_factory=list)

    def __post_init__(self):
        self.draw = random.Random(self.seed)  # noqa: S311

    def changed(self, name, offset, data):
        self.pending.setdefault(name, []).append((offset, data))
        self.maybe_lost()

    def synced(self, name):
        """What was written to the file is durable, and so is its name."""
        content = self.durable.get(name, b"")
        for offset, data in self.pending.pop(name, []):
            content = applied(content, offset, data)
        self.durable[name] = content
        self.limbo.pop(name, None)
        self.maybe_lost()

    def deleted(self, name, sync):
        content = self.durable.pop(name, None)
        self.pending.pop(name, None)
        if content is not None and not sync:
            self.limbo[name] = content
        if sync:
            self.limbo.pop(name, None)
        self.maybe_lost()

    def maybe_lost(self):
        if self.draw.random() < self.chance:
            self.losses.append((self.after_loss(), len(self.acknowledged)))

    def after_loss(self):
        """Return what a machine that lost power now would find."""
        files = dict(self.durable)
        for name, changes in self.pending.items():
            if name not in files and self.draw.random() < 0.5:
                continue
            content = files.get(name, b"")
            for offset, data in changes:
                content = self.partly(content, offset, data)
            files[name] = content
        back = {
            name: content
            for name, content in self.limbo.items()
            if name not in self.durable and self.draw.random() < 0.5
        }
        return files | back

    def partly(self, content, offset, data):
        """Apply a change, or none of it, or some of its sectors."""
        fate = self.draw.choice(["all", "none", "torn"])
        if fate == "none":
            return content
        if fate == "all" or data is None:
            return applied(content, offset, data)
        for at in range(0, len(data), SECTOR):
            if self.draw.random() < 0.5:
                content = applied(content, offset + at, data[at : at + SECTOR])
        return content


def applied(content, offset, data):
    """Return the content after a write, or after a cut at the offset where there are no data."""
    if data is None:
        return content[:offset]
    return content[:offset].ljust(offset, b"\0") + data + content[offset + len(data) :]


class File(apsw.VFSFile):
    """A file of the usual layer, watched."""

    def __init__(self, name, flags, disk):
        self.name = name.filename() if isinstance(name, apsw.URIFilename) else name
        self.disk = disk
        super().__init__("", name, flags)

    def xWrite(self, data, offset):  # noqa: N802
        super().xWrite(data, offset)
        self.disk.changed(self.name, offset, bytes(data))

    def xTruncate(self, size):  # noqa: N802
        super().xTruncate(size)
        self.disk.changed(self.name, size, None)

    def xSync(self, flags):  # noqa: N802
        super().xSync(flags)
        self.disk.synced(self.name)


class Layer(apsw.VFS):
    """The usual layer with watched files."""

    def __init__(self, disk):
        self.disk = disk
        super().__init__("power", "")

    def xOpen(self, name, flags):  # noqa: N802
        return File(name, flags, self.disk)

    def xDelete(self, name, sync):  # noqa: N802
        super().xDelete(name, sync)
        self.disk.deleted(name, sync)


@dataclass
class Raw:
    """A connection of apsw that answers as one of sqlite3."""

    inner: apsw.Connection

    def execute(self, text, values=()):
        found = self.inner.execute(text, values).fetchall()
        return SimpleNamespace(
            fetchall=lambda: found,
            fetchone=lambda: found[0] if found else None,
            rowcount=self.inner.changes(),
        )

    @property
    def in_transaction(self):
        return self.inner.in_transaction

    def close(self):
        self.inner.close()


def library():
    """Return what the engine takes for sqlite3: its errors, and connections over the watched layer."""

    def connect(place, **_):
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
        return Raw(apsw.Connection(place, flags=flags, vfs="power"))

    return SimpleNamespace(connect=connect, Error=sqlite3.Error, Connection=sqlite3.Connection)


def lay_out(files, home):
    """Write the files that a loss left into a folder."""
    home.mkdir()
    for name, content in files.items():
        (home / Path(name).name).write_bytes(content)
