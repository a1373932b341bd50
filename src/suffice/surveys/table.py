"""Tables in plain text, for what an estimate or a regression prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["lined", "probability"]


def lined(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns of equal width, numbers to four digits and to the right; nothing in it can steer a terminal."""
    table = [list(heads), *([_cell(one) for one in row] for row in rows)]
    widths = [max(len(row[at]) for row in table) for at in range(len(heads))]
    return "\n".join("  ".join(map(str.rjust, row, widths)).rstrip() for row in table)


def probability(value: float) -> str:
    """A p-value as it is printed."""
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 1000 else f"{value:.1f}"
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in str(value))
