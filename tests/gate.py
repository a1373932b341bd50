"""The record of the gates: what each law was to show, what it showed, when, and at which commit.

A test that is a gate takes the fixture `gate` and says what it saw. With `--gates FILE` every test that is
marked `laws` leaves a line in that file as soon as it ends, so that a run that is stopped goes on where it
stopped: what passed at the same commit is left out, unless `--fresh` asks for all of it.
"""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RUNNING: list[Record] = []

# the gate of a file whose tests do not say it themselves
FILES = {
    "tests/accounting/test_concurrency.py": "G13",
    "tests/accounting/test_machine.py": "G16",
    "tests/accounting/test_migration.py": "G17",
    "tests/accounting/test_pld.py": "G11",
    "tests/accounting/test_policy.py": "G18",
    "tests/accounting/test_postgres.py": "G13",
    "tests/accounting/test_power.py": "G15",
    "tests/auditing/test_audit.py": "G8",
    "tests/auditing/test_one_run.py": "G8",
    "tests/laws/test_channel.py": "G6",
    "tests/laws/test_fold.py": "G1",
    "tests/laws/test_kernels_agree.py": "G1",
    "tests/laws/test_killed_releases.py": "G14",
    "tests/laws/test_noise_law.py": "G6",
    "tests/laws/test_sensitivity.py": "G3",
    "tests/laws/test_sources_agree.py": "G1",
    "tests/releases/test_malformed.py": "G21",
    "tests/releases/test_rederive.py": "G23",
    "tests/testing/test_mechanism.py": "G5",
}


def commit() -> str:
    """The commit of the code that runs, with a plus if the tree differs from it."""
    git = ["git", "-C", str(ROOT)]
    head = subprocess.run(
        [*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False
    )
    changed = subprocess.run(
        [*git, "status", "--porcelain", "--untracked-files=no", "--", "src", "tests", "pyproject.toml"],
        capture_output=True,
        text=True,
        check=False,
    )
    return (head.stdout.strip() or "unknown") + ("+" if changed.stdout.strip() else "")


class Record:
    """Lines by test, kept in a file that is written whole after each of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.commit = commit()
        text = path.read_text("utf-8") if path.exists() else "{}"
        self.lines: dict[str, dict] = json.loads(text)

    def done(self, test: str) -> bool:
        line = self.lines.get(test, {})
        return line.get("outcome") == "passed" and line.get("commit") == self.commit

    def keep(self, report: pytest.TestReport) -> None:
        told = dict(report.user_properties)
        if "laws" not in told:
            return
        said = told.get("gate", {"gate": FILES.get(report.nodeid.split("::", maxsplit=1)[0], "other")})
        self.lines[report.nodeid] = said | {
            "outcome": report.outcome,
            "seconds": round(report.duration, 1),
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "commit": self.commit,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(".part")
        draft.write_text(json.dumps(self.lines, indent=1, sort_keys=True) + "\n", "utf-8")
        draft.replace(self.path)


def pytest_addoption(parser):
    """Where the lines go, and whether to run what has passed already."""
    group = parser.getgroup("gates")
    group.addoption("--gates", type=Path, help="write a line per law into this file, and go on from it")
    group.addoption("--fresh", action="store_true", help="run every law, passed ones too")


def pytest_configure(config):
    """Open the record in the process that sees all reports."""
    if config.getoption("--gates") and not hasattr(config, "workerinput"):
        RUNNING[:] = [Record(config.getoption("--gates"))]


def leave_out_what_passed(config, items):
    """Deselect the laws that passed at this commit."""
    path = config.getoption("--gates")
    if not path or config.getoption("--fresh"):
        return
    record = Record(path)
    passed = [item for item in items if record.done(item.nodeid)]
    if passed:
        config.hook.pytest_deselected(items=passed)
        items[:] = [item for item in items if not record.done(item.nodeid)]


def pytest_runtest_setup(item):
    """Tell the report that this test is a law."""
    if item.get_closest_marker("laws"):
        item.user_properties.append(("laws", True))


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    """Keep a line of every law that ended."""
    if RUNNING and (report.when == "call" or report.outcome == "failed"):
        RUNNING[0].keep(report)


@pytest.fixture
def gate(request):
    """Say what a gate was to show and what it showed: gate("G5", required, seen, mutant)."""

    def said(number: str, required: str, seen: str, mutant: str = "") -> None:
        line = {"gate": number, "required": required, "seen": seen, "mutant": mutant}
        request.node.user_properties.append(("gate", line))

    return said
