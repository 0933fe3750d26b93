"""A database of PostgreSQL for each folder of a test, in a run with ``--store=postgresql``.

With ``TEST_SHARING=1`` as well, each daemon shares its journal, and the server refuses what it
writes for agents that it has not taken.

Every test imports this file, also where the driver or the extension is missing, so it imports
nothing before it is asked for a database.
"""

import hashlib
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from orchestrator.extensions.postgresql.pg_scratch import ScratchDatabases
    from orchestrator.journal.db.database import Connection
    from orchestrator.journal.db.store import Storage
    from orchestrator.journal_address import DatabaseServer

EXTENSION = "orchestrator.extensions.postgresql"

SERVER = os.environ.get("TEST_POSTGRESQL", "")  # a server's address, without a database
PROGRAMS = [*Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")]
needs_programs = pytest.mark.skipif(not PROGRAMS, reason="PostgreSQL is not installed")
POSTGRESQL = os.environ.get("TEST_STORE") == "postgresql"  # whether all journals are in it
SHARES = {"ORCHESTRATOR_NODE_URL": "http://127.0.0.1:1"} if os.environ.get("TEST_SHARING") else {}
LOCKS = (
    "FROM pg_locks WHERE locktype = 'advisory' AND database ="
    " (SELECT oid FROM pg_database WHERE datname = current_database())"
)
needs_server = pytest.mark.skipif(not SERVER, reason="PostgreSQL is not there; use scripts/test")
sqlite_only = pytest.mark.skipif(POSTGRESQL, reason="about SQLite's file")
# What a rule of the tables raises.
BROKEN_RULES = (import_module("psycopg").IntegrityError,) if POSTGRESQL else ()
_addresses: dict[Path, str] = {}  # of the databases that there are, by the names of their folders


@cache
def _databases() -> "ScratchDatabases":
    """Those of this process; what is left of them goes with the server."""
    databases: ScratchDatabases = import_module(f"{EXTENSION}.pg_scratch").ScratchDatabases(SERVER)
    return databases.__enter__()


def database_of(folder: Path) -> str:
    """The address of a folder's database, which is made when it is first asked for."""
    name = Path(hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:20])
    if name not in _addresses:
        _addresses[name] = _databases().make_journal(name).url
        if SHARES:
            import_module("fakes.sharing").guard_journal(_addresses[name])
    return _addresses[name]


@pytest.fixture(autouse=True)
def _databases_of_its_own() -> Iterator[None]:
    """No test leaves a database behind; each takes eight megabytes."""
    before = set(_addresses)
    yield
    for name in _addresses.keys() - before:
        _databases().remove_journal(name)
        del _addresses[name]


def store_of(folder: Path) -> dict[str, str]:
    """The variables of a daemon whose home is a folder."""
    return {"ORCHESTRATOR_STORE": database_of(folder), **SHARES} if POSTGRESQL else {}


def connect_to(address: str) -> "Connection":
    """A session of a database."""
    session: Connection = import_module(f"{EXTENSION}.pg_connection").PostgresConnection(address)
    return session


def follow(server: "DatabaseServer") -> "Storage":
    """What a daemon that stands by has once the server ended the session of the other one."""
    engine = import_module("orchestrator.journal.opening").find_engine(server)
    with ThreadPoolExecutor(1) as other:
        storage = other.submit(engine.open_storage, lambda: None)
        with import_module("psycopg").connect(server.url, autocommit=True) as session:
            while session.execute(f"SELECT count(*) {LOCKS} AND NOT granted").fetchone() != (1,):
                assert not storage.done()
            session.execute(f"SELECT pg_terminate_backend(pid) {LOCKS} AND granted")
        followed: Storage = storage.result()
        return followed


def sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a minute pass on the clock of this machine that counts on while it sleeps."""
    real = time.clock_gettime
    monkeypatch.setattr(time, "clock_gettime", lambda clock: real(clock) + 60)
