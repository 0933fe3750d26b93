"""Whom the supervisor lets in by the word of a proxy, and by which connection."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from fakes.journal import store_in
from fakes.page import NOW
from fakes.time_limit import LIMIT

from orchestrator.child_signals import stop_child
from orchestrator.extensions.page.daemon_side.page_identity import PageIdentities
from orchestrator.extensions.page.daemon_side.page_protocol import ProxiedPerson
from orchestrator.extensions.page.page_settings import PageIdentity, PageSettings
from orchestrator.extensions.page.reads import web_sessions
from orchestrator.journal.db import audit
from orchestrator.journal.db.store import Store

ANN = "ann@example.org"
IDENTITY = PageIdentity(header="X-Forwarded-Email", users={ANN: "approver"})
CONNECT = """
import socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
connection.recv(1)
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty journal."""
    found = store_in(tmp_path)
    yield found
    found.close()


def identities(
    store: Store, sent: dict[int, socket.socket], *, socket: bool = True
) -> PageIdentities:
    """The supervisor's side, with connections by their numbers."""
    web = PageSettings(names=("page.example",), socket=socket, identity=IDENTITY)
    numbers = iter(range(1, 100))
    return PageIdentities(
        store=store,
        settings=lambda: web,
        sent=lambda number: sent.pop(number, None),
        clock=lambda: NOW,
        secret=lambda: f"{next(numbers):064x}",
    )


async def let_in(desk: PageIdentities, named: str, connection: int = 0) -> bool:
    """Whether a person gets a token."""
    person = ProxiedPerson(named=named, connection=connection, label="192.0.2.9 Browser")
    return (await desk.identify_person(person.model_dump(mode="json"))).token is not None


async def test_role_is_that_of_agents_json(store: Store) -> None:
    """Over a port by the header alone; capital letters do not count."""
    desk = identities(store, {}, socket=False)
    assert await let_in(desk, ANN.upper())
    assert not await let_in(desk, "eve@example.org")
    (session,) = await store.read(web_sessions.list_sessions, NOW)
    assert (session.user, session.role, session.made_by) == (ANN, "approver", "identity")
    assert await store.read(audit.find_broken_entry) is None


@pytest.mark.process
async def test_connection_tells_who_speaks_over_the_socket(store: Store, tmp_path: Path) -> None:
    """A child of the daemon is refused, and a request without its connection."""
    path = tmp_path.parent / "s"
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as own:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(LIMIT)
        own.connect(str(path))
        mine, _ = listener.accept()
        child = await anyio.open_process((sys.executable, "-c", CONNECT, str(path)))
        try:
            childs, _ = listener.accept()
            with childs.dup():
                desk = identities(store, {1: mine, 2: childs})
                assert await let_in(desk, ANN, 1)
                assert not await let_in(desk, ANN, 2)
                assert not await let_in(desk, ANN, 3)
        finally:
            await stop_child(child, 0)
            await child.aclose()
    path.unlink()
    assert len(await store.read(web_sessions.list_sessions, NOW)) == 1
    assert mine.fileno() == childs.fileno() == -1
