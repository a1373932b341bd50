"""What a database may do to a ledger, each as a sentence, and nothing lost."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sqlite3
import stat
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from suffice.accounting import engine
from suffice.accounting.address import engine_of
from suffice.accounting.disk import mounted_as, refuse_network
from suffice.accounting.engine import SQLite
from suffice.accounting.ledger import Ledger
from suffice.core.errors import FormatTooNew, InputError
from suffice.core.guarantees import PureDP
from suffice.core.units import LabelOf

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
POSIX = pytest.mark.skipif(os.name != "posix", reason="the rights of files are those of POSIX")


def spend(ledger, key="k"):
    return ledger.charge(key, b"", PureDP(0.1), summary="mean")


def test_a_url_and_a_path_name_the_same_file(folder):
    path = folder / "my ledger.db"
    same = [path, str(path), f"sqlite:///{path}", f"sqlite:///{str(path).replace(' ', '%20')}"]
    assert {engine_of(one) for one in same} == {SQLite(path)}


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "mysql://host/db", "sqlite://host/x.db"])
def test_a_url_that_names_no_ledger_is_refused(url):
    with pytest.raises(InputError, match="sqlite:///"):
        engine_of(url)


def test_a_file_has_the_durable_settings(make):
    ledger = make()
    with closing(ledger.engine._open()) as raw:
        settings = [raw.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
        strict = raw.execute("SELECT strict FROM pragma_table_list WHERE name = 'entry'").fetchone()[0]
    assert settings == ["delete", 3]
    assert strict == 1


def test_a_file_that_was_set_to_a_write_ahead_log_is_set_back(make):
    ledger = make()
    with closing(sqlite3.connect(ledger.url)) as raw:
        assert raw.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    spend(ledger)
    with closing(sqlite3.connect(ledger.url)) as raw:
        assert raw.execute("PRAGMA journal_mode").fetchone() == ("delete",)


@POSIX
def test_the_file_is_readable_by_its_owner_alone_and_nothing_else_is_left(make, folder):
    old = os.umask(0)
    try:
        ledger = make()
    finally:
        os.umask(old)
    assert stat.S_IMODE(Path(ledger.url).stat().st_mode) == 0o600
    assert [path.name for path in folder.iterdir()] == ["owner.db"]


def test_a_creation_that_fails_leaves_nothing(folder, monkeypatch):
    monkeypatch.setattr(engine, "FORMAT", engine.FORMAT + 1)  # there is no such migration
    with pytest.raises(ValueError, match="not enough values"):
        Ledger.create(folder / "owner.db", dataset="sales", unit=LabelOf("y"), budget=PureDP(1.0))
    assert list(folder.iterdir()) == []


def test_a_folder_without_hard_links_holds_a_ledger_too(make, folder, monkeypatch):
    def no_links(*_):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    ledger = make()
    spend(ledger)
    with pytest.raises(InputError, match="already"):
        make()
    assert ledger.verify()
    assert [path.name for path in folder.iterdir()] == ["owner.db"]


def test_of_two_that_create_at_once_one_wins(make, monkeypatch):
    monkeypatch.setattr(Path, "exists", lambda path: path.name.startswith("."))
    make()
    with pytest.raises(InputError, match="already"):
        make()


def test_a_missing_file_is_never_made_by_opening(folder):
    with pytest.raises(InputError, match=r"There is no ledger at .*owner.db"):
        Ledger.open(folder / "owner.db")
    with pytest.raises(InputError, match="There is no folder"):
        Ledger.create(folder / "no" / "owner.db", dataset="s", unit=LabelOf("y"), budget=PureDP(1.0))
    assert list(folder.iterdir()) == []


def test_a_file_that_vanished_is_missed_by_a_handle(make):
    ledger = make()
    Path(ledger.url).unlink()
    with pytest.raises(InputError, match="There is no ledger"):
        spend(ledger)
    assert not Path(ledger.url).exists()


@pytest.mark.parametrize("content", [b"", b"hello" * 400, b"SQLite format 3\0" + b"\xff" * 4000])
def test_what_is_not_a_ledger_is_refused_and_left_alone(folder, content):
    path = folder / "owner.db"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"not a ledger|damaged"):
        Ledger.open(path)
    assert path.read_bytes() == content


def test_another_database_and_a_folder_are_not_ledgers(folder):
    with closing(sqlite3.connect(folder / "other.db")) as raw:
        raw.execute("CREATE TABLE ledger (format)")
        raw.commit()
    with pytest.raises(InputError, match="is a database, but not a ledger"):
        Ledger.open(folder / "other.db")
    with pytest.raises(InputError, match="cannot be opened"):
        Ledger.open(folder)


def test_a_newer_format_is_refused_by_open_and_by_handles_that_are_open(make):
    ledger = make()
    with closing(sqlite3.connect(ledger.url)) as raw:
        raw.execute("UPDATE ledger SET format = 99")
        raw.commit()
    with pytest.raises(FormatTooNew, match="has format 99"):
        Ledger.open(ledger.url)
    with pytest.raises(FormatTooNew, match="format 99"):
        spend(ledger)
    assert ledger.charges() == []


def test_a_full_disk_spends_nothing_and_loses_nothing(make, monkeypatch):
    ledger = make()
    spend(ledger)
    pages = Path(ledger.url).stat().st_size // 4096
    monkeypatch.setattr(engine, "_PRAGMAS", (*engine._PRAGMAS, f"PRAGMA max_page_count = {pages}"))
    charge = ledger.charges()[0]
    with pytest.raises(InputError, match="the disk is full"):
        ledger.store(charge, b"x" * 100_000)
    monkeypatch.undo()
    assert ledger.find("k", b"") is None
    assert ledger.verify()
    assert ledger.store(charge, b"x" * 100_000) == b"x" * 100_000


def in_child(work):
    """Return what the work gives in a forked process that is nobody in particular."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()

    def run():
        if ROOT:
            os.seteuid(65534)
        try:
            there.send(("value", work()))
        except Exception as error:  # noqa: BLE001
            there.send((type(error).__name__, str(error)))

    child = context.Process(target=run)
    child.start()
    assert here.poll(30)
    answer = here.recv()
    child.join()
    return answer


@POSIX
def test_a_file_that_may_only_be_read_can_be_read_and_not_spent_from():
    folder = Path(tempfile.mkdtemp(prefix="suffice-"))
    try:
        ledger = Ledger.create(folder / "owner.db", dataset="s", unit=LabelOf("y"), budget=PureDP(1.0))
        spend(ledger)
        Path(ledger.url).chmod(0o444)
        folder.chmod(0o555)
        assert in_child(lambda: str(Ledger.open(ledger.url).remaining())) == ("value", "epsilon = 0.9")
        kind, text = in_child(lambda: spend(ledger, "other"))
        assert kind == "InputError"
        assert "it may not be written to" in text
        Path(ledger.url).chmod(0o000)
        kind, text = in_child(lambda: Ledger.open(ledger.url))
        assert (kind, "cannot be opened" in text) == ("InputError", True)
        Path(ledger.url).chmod(0o600)
        assert len(ledger.charges()) == 1
        kind, text = in_child(
            lambda: Ledger.create(folder / "new.db", dataset="s", unit=LabelOf("y"), budget=PureDP(1.0))
        )
        assert (kind, "Permission denied" in text) == ("InputError", True)
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_another_process_that_holds_the_file_too_long_is_named(make, monkeypatch):
    ledger = make()
    monkeypatch.setattr(engine, "_PATIENCE", 0.05)
    with closing(sqlite3.connect(ledger.url, isolation_level=None)) as raw:
        raw.execute("BEGIN IMMEDIATE")
        with pytest.raises(InputError, match="another process held it"):
            spend(ledger)
        raw.execute("ROLLBACK")
    spend(ledger)


MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
tmpfs /srv tmpfs rw 0 0
server:/export /srv/with\\040space nfs4 rw 0 0
//host/share /mnt/share cifs rw 0 0
user@host: /mnt/share/deep fuse.sshfs rw 0 0
/dev/sdb1 /mnt/share/deep/local xfs rw 0 0
odd
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/elsewhere/owner.db", "ext4"),
        ("/srv/owner.db", "tmpfs"),
        ("/srv/with space/owner.db", "nfs4"),
        ("/mnt/share/owner.db", "cifs"),
        ("/mnt/shared/owner.db", "ext4"),
        ("/mnt/share/deep/owner.db", "fuse.sshfs"),
        ("/mnt/share/deep/local/owner.db", "xfs"),
    ],
)
@POSIX
def test_a_network_file_system_is_seen_and_refused(folder, path, kind):
    table = folder / "mounts"
    table.write_text(MOUNTS)
    assert mounted_as(Path(path), table) == kind
    if kind in {"nfs4", "cifs", "fuse.sshfs"}:
        with pytest.raises(InputError, match=f"network file system .{kind}."):
            refuse_network(Path(path), table)
    else:
        refuse_network(Path(path), table)


def test_a_system_that_does_not_say_is_trusted(folder):
    assert mounted_as(folder, folder / "nothing") is None
    refuse_network(folder, folder / "nothing")


def test_a_ledger_on_a_network_is_neither_made_nor_opened(make, monkeypatch):
    ledger = make()

    def network(path):
        raise InputError(f"{path} lies on a network file system")

    monkeypatch.setattr(engine, "refuse_network", network)
    with pytest.raises(InputError, match="network"):
        make("other.db")
    with pytest.raises(InputError, match="network"):
        Ledger.open(ledger.url)


def test_a_transaction_that_is_broken_off_leaves_nothing(make):
    ledger = make()

    def interrupted():
        with ledger.engine.transaction(write=True) as db:
            db.change("UPDATE account SET spent = 5")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert ledger.remaining().epsilon == 1.0
