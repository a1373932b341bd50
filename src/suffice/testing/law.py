"""A law that a part must keep, and the error that names the one it broke."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

__all__ = ["LawBroken", "choices", "must", "trying"]


class LawBroken(AssertionError):
    """A check failed: `law` is the law in one sentence, the message adds what was seen."""

    def __init__(self, law: str, seen: str) -> None:
        self.law = law
        self.seen = seen
        super().__init__(f"Broken law: {law}. {seen}")

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the parts, so that workers can hand the error back."""
        return type(self), (self.law, self.seen)


def must(holds: object, law: str, seen: str) -> None:
    """Raise LawBroken unless it holds."""
    if not holds:
        raise LawBroken(law, seen)


@contextmanager
def trying(law: str, what: str) -> Iterator[None]:
    """Turn whatever goes wrong inside into the law that it breaks."""
    try:
        yield
    except LawBroken:
        raise
    except Exception as error:
        raise LawBroken(law, f"{what} raised {type(error).__name__}: {error}") from error


def choices(seed: str) -> Callable[[int], int]:
    """A function that picks a number below its argument: the same picks in every run."""
    state: dict[str, Any] = {"drawn": 0}

    def pick(below: int) -> int:
        state["drawn"] += 1
        told = blake2b(f"{seed} {state['drawn']}".encode(), digest_size=8).digest()
        return int.from_bytes(told, "big") % below

    return pick
