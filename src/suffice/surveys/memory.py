"""What was answered once, so that asking again does not draw new noise."""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suffice.core.errors import InputError
from suffice.releases import file, notation

if TYPE_CHECKING:
    from suffice.surveys.design import Design

__all__ = ["Memory", "remembered"]

Memory = MutableMapping[str, Any]
_HERE: dict[str, Any] = {}
_MOST_BYTES = 1 << 24


def remembered(
    memory: Memory | str | os.PathLike[str] | None, draws: Mapping[str, tuple[Design, Any]]
) -> dict[str, Any]:
    """The noisy answer under each key: the one that was given before, or a fresh one that is kept now.

    A file is written before anything is returned, so no answer leaves that would be drawn anew.
    """
    if memory is None:
        memory = _HERE
    if not isinstance(memory, str | os.PathLike):
        return _drawn(memory, draws)
    path = Path(memory)
    kept: dict[str, Any] = (
        dict(notation.read(file.read(path, most=_MOST_BYTES), what="memory", most=_MOST_BYTES))
        if path.exists()
        else {}
    )
    before = len(kept)
    found = _drawn(kept, draws)
    if len(kept) > before:
        file.write(path, notation.canonical(kept) + b"\n", overwrite=True)
        path.chmod(0o600)
    return found


def _drawn(memory: Memory, draws: Mapping[str, tuple[Design, Any]]) -> dict[str, Any]:
    for key, (channel, truth) in draws.items():
        if key not in memory:
            memory[key] = channel.randomise(truth)
        if memory[key] not in channel.answers():
            raise InputError("The memory holds an answer that the form does not know. Was the file changed?")
    return {key: memory[key] for key in draws}
