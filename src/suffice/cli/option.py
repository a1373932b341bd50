"""Options that several commands take, each explained once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Decimal", "Delimiter", "Encoding", "Json", "Null", "Overwrite", "Quiet", "Trust", "Workers"]

Json = Annotated[
    bool, typer.Option("--json", help="Print the result as one JSON value; all else goes to standard error.")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress, no notes, no report of what was done.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an output file that exists.")]
Workers = Annotated[int, typer.Option("--workers", min=1, help="Threads that read rows.")]
Trust = Annotated[
    list[Path] | None,
    typer.Option("--trust", help="A public key in PEM whose seal is believed; may be given again."),
]
Delimiter = Annotated[
    str | None,
    typer.Option("--delimiter", help="What parts the fields of a text file (a comma; a tab for .tsv)."),
]
Decimal = Annotated[str | None, typer.Option("--decimal", help="The decimal mark of a text file (a point).")]
Encoding = Annotated[str | None, typer.Option("--encoding", help="The encoding of a text file (utf-8).")]
Null = Annotated[
    list[str] | None,
    typer.Option("--null", help="A text that stands for a missing value in a text file; may be given again."),
]
