"""Files written whole or not at all, and read up to a cap."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from suffice.core.errors import InputError
from suffice.core.randomness import octets

__all__ = ["read", "write"]


def read(path: Path, *, most: int) -> bytes:
    """The bytes, and one more than `most` at most, so that the reader can tell."""
    try:
        with path.open("rb") as file:
            return file.read(most + 1)
    except OSError as error:
        raise InputError(f"The file {str(path)!r} cannot be read: {error.strerror}.") from error


def write(path: Path, data: bytes, *, overwrite: bool) -> Path:
    """The file holds the data; one that held something else stays unless it may be overwritten."""
    try:
        if not overwrite and path.exists():
            _check_same(path, data)
        else:
            _replace(path, data)
    except OSError as error:
        raise InputError(f"The file {str(path)!r} cannot be written: {error.strerror}.") from error
    return path


def _check_same(path: Path, data: bytes) -> None:
    with path.open("rb") as file:
        if file.read(len(data) + 1) == data:
            return
    raise InputError(
        f"There is a file {str(path)!r} already, and it holds something else. "
        "Choose another name, or save with overwrite=True."
    )


def _replace(path: Path, data: bytes) -> None:
    """A new file beside the target, on disk, then renamed over it in one step."""
    beside = path.with_name(f".{path.name}.{octets(8).hex()}.tmp")
    try:
        with beside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
    with contextlib.suppress(OSError):  # not every system can sync a folder
        _sync(path.parent)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
