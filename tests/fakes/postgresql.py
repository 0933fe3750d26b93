"""A database of PostgreSQL for each folder of a test, in a run with ``--store=postgresql``."""

import hashlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from orchestrator.journal.postgresql.pg_scratch import ScratchDatabases

SERVER = os.environ.get("TEST_POSTGRESQL", "")  # a server's address, without a database
PROGRAMS = [*Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")]
needs_programs = pytest.mark.skipif(not PROGRAMS, reason="PostgreSQL is not installed")
POSTGRESQL = os.environ.get("TEST_STORE") == "postgresql"  # whether all journals are in it
needs_server = pytest.mark.skipif(not SERVER, reason="PostgreSQL is not there; use scripts/test")
sqlite_only = pytest.mark.skipif(POSTGRESQL, reason="about SQLite's file")
_addresses: dict[Path, str] = {}  # of the databases that there are, by the names of their folders


@cache
def _databases() -> ScratchDatabases:
    """Those of this process; what is left of them goes with the server."""
    return ScratchDatabases(SERVER).__enter__()


def database_of(folder: Path) -> str:
    """The address of a folder's database, which is made when it is first asked for."""
    name = Path(hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:20])
    if name not in _addresses:
        _addresses[name] = _databases().make(name).url
    return _addresses[name]


@pytest.fixture(autouse=True)
def _databases_of_its_own() -> Iterator[None]:
    """No test leaves a database behind; each takes eight megabytes."""
    before = set(_addresses)
    yield
    for name in _addresses.keys() - before:
        _databases().remove(name)
        del _addresses[name]


def store_of(folder: Path) -> dict[str, str]:
    """The variables of a daemon whose home is a folder."""
    return {"ORCHESTRATOR_STORE": database_of(folder)} if POSTGRESQL else {}
