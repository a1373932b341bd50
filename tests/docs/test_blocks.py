"""Every block of Python and of the command line that a page shows is executed, page by page.

A page is one namespace and one folder (see `folder`): what an early block makes, a later one
may use. A block that cannot run here carries `<!-- no-run: the reason -->` on the line before
it; a command that is shown to be refused carries `<!-- exit: 3 -->` with its exit code.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import EXECUTED, NO_RUN, ROOT, SHOWN, Block, blocks, pages

AT_MOST_NOT_RUN = 5
RUN = "import sys; from suffice.cli import main; sys.argv[0] = 'suffice'; sys.exit(main())"

PAGE = r"""Text.

```python
a = 1
```

<!-- no-run: it needs a second machine -->

```console
$ suffice show \
    x.suffice
its output
$ ls
```
<!-- exit: 3 -->
```console
$ suffice fit
```
"""


def label(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def run_python(block: Block, namespace: dict, page: Path) -> None:
    """Execute a block with the line numbers of its page, so that a traceback points there."""
    code = compile("\n" * (block.line - 1) + block.text, str(page), "exec", dont_inherit=True)
    exec(code, namespace)  # noqa: S102  the reader would run it


def run_console(block: Block) -> None:
    """Run each command of a block in the folder, and expect the exit code that the page states."""
    source = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    for command in block.commands():
        words = shlex.split(command, comments=True)[1:]
        run = subprocess.run(
            [sys.executable, "-c", RUN, *words],
            env={**os.environ, "PYTHONPATH": source, "COLUMNS": "120"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert run.returncode == block.exit_code, f"$ {command}\n{run.stdout}\n{run.stderr}"


def pages_that_run() -> list[Path]:
    return [page for page in pages() if page.exists() and any(block.runs for block in blocks(page))]


@pytest.mark.parametrize("page", pages_that_run(), ids=label)
@pytest.mark.usefixtures("folder")
def test_what_a_page_shows_runs(page):
    namespace = {"__name__": "__main__"}
    for block in blocks(page):
        if block.runs and block.language == "python":
            run_python(block, namespace, page)
        elif block.runs:
            run_console(block)


def test_a_block_hides_from_the_tests_only_in_the_open_and_seldom():
    hidden = [b for page in pages() for b in blocks(page) if NO_RUN.fullmatch(b.before)]
    assert len(hidden) <= AT_MOST_NOT_RUN


def test_every_block_is_of_a_language_that_is_executed_or_only_shown():
    strange = [
        f"{label(page)}:{block.line} {block.language!r}"
        for page in pages()
        for block in blocks(page)
        if block.language not in EXECUTED | SHOWN and not block.language.startswith("{")
    ]
    assert strange == []


def test_the_readme_shows_both_faces():
    assert {"python", "console"} <= {block.language for block in blocks(ROOT / "README.md") if block.runs}


def test_blocks_are_read_as_a_reader_reads_them(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE, "utf-8")
    first, second, third = blocks(page)
    assert (first.language, first.text, first.line, first.runs) == ("python", "a = 1\n", 4, True)
    assert (second.runs, second.commands()) == (False, ["suffice show x.suffice"])
    assert (third.runs, third.exit_code, third.commands()) == (True, 3, ["suffice fit"])
