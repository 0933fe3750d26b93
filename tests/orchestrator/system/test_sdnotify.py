"""Notifications to systemd, over a socket as systemd opens one."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from fakes.time_limit import time_limit

from orchestrator.system.sdnotify import Notifier


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    """The socket that a service manager listens on."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))
        sock.setblocking(False)  # noqa: FBT003 - the standard library takes it by position
        yield sock


def test_state_is_sent_in_one_message(systemd: socket.socket) -> None:
    """One line for each variable."""
    Notifier({"NOTIFY_SOCKET": systemd.getsockname()}).send_state("READY=1", "STATUS=serving")
    assert systemd.recv(4096) == b"READY=1\nSTATUS=serving"


def test_abstract_socket_is_reached_by_its_name() -> None:
    """Systemd writes the zero byte of its name as ``@``."""
    name = f"orchestrator-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(f"\0{name}")
        Notifier({"NOTIFY_SOCKET": f"@{name}"}).send_state("READY=1")
        assert sock.recv(4096) == b"READY=1"


@pytest.mark.parametrize("environ", [{}, {"NOTIFY_SOCKET": "/missing/socket"}])
def test_daemon_without_a_service_manager_sends_nothing(environ: dict[str, str]) -> None:
    """A missing socket is no error."""
    Notifier(environ).send_state("READY=1")


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_watchdog_is_fed_if_it_watches_this_process(
    environ: dict[str, str], seconds: float | None
) -> None:
    """Its period comes in microseconds."""
    assert Notifier(environ).watchdog == seconds


async def test_watchdog_is_fed_until_the_daemon_stops(systemd: socket.socket) -> None:
    """More than once, as long as the event loop runs."""
    notifier = Notifier({"NOTIFY_SOCKET": systemd.getsockname(), "WATCHDOG_USEC": "1000"})
    with time_limit():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(notifier.run)
            for _ in range(3):
                await anyio.wait_readable(systemd)
                assert systemd.recv(4096) == b"WATCHDOG=1"
            tasks.cancel_scope.cancel()
