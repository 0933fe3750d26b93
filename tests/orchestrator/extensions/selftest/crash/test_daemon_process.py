"""A forked daemon of the self-test differs from an executed one in the time it takes only."""

import json
import os
import signal
import socket
from pathlib import Path

import anyio
import pytest
from fakes.inspection import looks_inside
from fakes.time_limit import time_limit

from orchestrator.child_signals import signal_child
from orchestrator.extensions.selftest.crash import process_tree
from orchestrator.extensions.selftest.crash.daemon_process import (
    ForkServer,
    StartDaemon,
    execute_daemon,
)
from orchestrator.extensions.selftest.crash.home_mark import list_marked_processes
from orchestrator.extensions.selftest.crash.ledger import Ledger
from orchestrator.extensions.selftest.crash.scenario import POISON, build_agents_file

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="operations")]


def furnished(home: Path) -> Path:
    """Return a new home with an agents.json."""
    home.mkdir()
    agents = build_agents_file(POISON, "http://127.0.0.1:1", Ledger(home / "ledger").path)
    (home / "agents.json").write_text(json.dumps(agents), "utf-8")
    return home


def shown(pid: int, home: Path) -> dict[str, object]:
    """Return what /proc and the crash log show of a daemon."""
    proc = Path(f"/proc/{pid}")
    return {
        "environment": {
            item.decode().replace(str(home), "~")
            for item in (proc / "environ").read_bytes().split(b"\0")
            if item
        },
        "arguments": (proc / "cmdline").read_text("utf-8").rstrip("\0").split("\0"),
        "folder": (proc / "cwd").resolve() == home,
        "input": str((proc / "fd/0").resolve()),
        "log": (proc / "fd/2").resolve() == home / "log",
        "found": pid in list_marked_processes(home),
        "boundaries": (home / "boundaries").read_text("utf-8").partition("ready#1")[0],
    }


async def facts(start: StartDaemon, home: Path) -> dict[str, object]:
    """Kill a daemon once it is ready, and return what was seen of it."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "ORCHESTRATOR_HOME": str(home),
        "ORCHESTRATOR_CRASH_LOG": str(home / "boundaries"),
        "NOTIFY_SOCKET": str(home / "notify"),
    }
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
        notices.bind(str(home / "notify"))
        daemon = await start(environ, home, home / "log")
        await anyio.wait_readable(notices)
        found = shown(daemon.pid, home)
        signal_child(daemon, signal.SIGKILL)
        found["code"] = await daemon.wait(), daemon.returncode
    found["left"] = await process_tree.list_survivors(list_marked_processes(home), 10)
    return found


@looks_inside
async def test_forked_daemon_is_as_an_executed_one(tmp_path: Path) -> None:
    """Its environment, folder, descriptors, crash points and end; and it leaves nothing behind."""
    with time_limit():
        executed = await facts(execute_daemon, furnished(tmp_path / "executed"))
        with ForkServer() as server:
            homes = map(furnished, (tmp_path / "first", tmp_path / "second"))
            forked = [await facts(server.start, home) for home in homes]
    assert executed["code"] == (-signal.SIGKILL, -signal.SIGKILL)
    assert executed["found"]
    assert executed["left"] == []
    assert forked == [executed, executed]


async def test_forked_daemon_that_cannot_start_says_why(tmp_path: Path) -> None:
    """It ends with the exit code of a wrong configuration, and its log has the reason."""
    (tmp_path / "agents.json").write_text('{"agents": 1, "mcpServers": {}}', "utf-8")
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ORCHESTRATOR_SPAWN": "never"}
    with time_limit(), ForkServer() as server:
        daemon = await server.start(environ, tmp_path, tmp_path / "log")
        assert await daemon.wait() == 78
    assert "SPAWN" in (tmp_path / "log").read_text("utf-8")
