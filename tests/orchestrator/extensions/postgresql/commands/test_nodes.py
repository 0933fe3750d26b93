"""``orchestrator nodes``: which machines share a journal, and how one of them is drained."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from fakes.control_server import command
from fakes.postgresql import database_of, needs_server, sqlite_only
from fakes.sharing import SharedJournal, session_of

from orchestrator.errors import ExitCode
from orchestrator.journal_address import DatabaseServer


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SharedJournal]:
    """The journal that the environment names, on which two daemons work."""
    url = database_of(tmp_path / "server")
    monkeypatch.setattr("fakes.control_server.store_of", lambda _: {"ORCHESTRATOR_STORE": url})
    with ExitStack() as stack:
        yield SharedJournal(DatabaseServer(url, tmp_path / "journal.db"), stack)


@needs_server
async def test_nodes_are_listed_with_their_groups(journal: SharedJournal, tmp_path: Path) -> None:
    """Also one that has none any more."""
    await journal.take(journal.first, 1, 2)
    await journal.take(journal.second, 3, 4)
    await journal.give(journal.second, 3)
    await journal.give(journal.second, 4)
    done = command(tmp_path, "nodes", "list", "--json")
    nodes = {one["url"]: one for one in json.loads(done.stdout)["nodes"]}
    assert {url: one["groups"] for url, one in nodes.items()} == {"http://one": 2, "http://two": 0}
    assert "http://one" in command(tmp_path, "nodes", "list").stdout


@needs_server
async def test_node_is_drained_until_that_is_ended(journal: SharedJournal, tmp_path: Path) -> None:
    """By its address, as several may be on one machine."""
    await journal.take(journal.first, 1)
    await journal.take(journal.second, 2)

    def drained() -> list[bool]:
        found = json.loads(command(tmp_path, "nodes", "list", "--json").stdout)["nodes"]
        return [one["drained"] for one in found]

    assert drained() == [False, False]
    assert command(tmp_path, "nodes", "drain", "http://one").exit_code == 0
    assert command(tmp_path, "nodes", "drain", "http://one").exit_code == 0
    assert drained() == [True, False]
    assert command(tmp_path, "nodes", "drain", "http://one", "--end").exit_code == 0
    assert drained() == [False, False]
    unknown = command(tmp_path, "nodes", "drain", "http://three")
    assert unknown.exit_code == ExitCode.USAGE
    assert "no nodes of this name; see: orchestrator nodes list" in unknown.stderr
    assert session_of(journal.first).epochs


@sqlite_only
def test_journal_in_a_file_has_no_nodes(tmp_path: Path) -> None:
    """The message says what to set."""
    done = command(tmp_path, "nodes", "list")
    assert done.exit_code == ExitCode.CONFIG
    assert "set ORCHESTRATOR_STORE" in done.stderr
