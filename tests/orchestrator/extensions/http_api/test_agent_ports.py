"""The ports of the configuration in force are served, and no others."""

import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx
from fakes.agents_file import validate_file
from fakes.commands import NoQueues, command_desk, no_notice
from fakes.journal import store_in
from fakes.time_limit import time_limit

from orchestrator.extensions.http_api.agent_ports import AgentPorts
from orchestrator.inbound.intake import JournalIntake
from orchestrator.testing.loopback import find_free_port
from orchestrator.wakeup import Wakeup


@dataclass
class Edited(Wakeup):
    """agents.json, in which agents have ports."""

    def __init__(self, **ports: int) -> None:
        super().__init__()
        self.edit(**ports)

    def edit(self, **ports: int) -> None:
        """Give these ports to these agents."""
        agents = [
            {"agentId": agent_id, "llmProvider": "demo", "port": port}
            for agent_id, port in ports.items()
        ]
        self.file = validate_file({"agents": agents})
        self.wake()

    async def edited(self) -> None:
        """Wait for the next edit."""
        await self.changed.wait()


def where(agent_id: str, field: str) -> str:
    """The place of a field, as if each agent had a line."""
    return f"agents.json:{agent_id}.{field}"


@asynccontextmanager
async def serving(folder: Path, edited: Edited) -> AsyncIterator[AgentPorts]:
    """The ports of a configuration."""
    store = store_in(folder)
    commands = command_desk(store, lambda: edited.file)
    intake = JournalIntake(
        store, lambda: edited.file, no_notice, NoQueues(), lambda: None, commands
    )
    ports = AgentPorts(store, folder / "http-token", lambda: edited.file, edited.edited, where)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ports.run, intake)
            with time_limit():
                yield ports
            tasks.cancel_scope.cancel()
    finally:
        store.close()


async def health(folder: Path, port: int) -> Sequence[str]:
    """The agent that answers on a port, as soon as one does; the token was written before."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        while True:
            try:
                token = (folder / "http-token").read_text("utf-8")
                response = await client.get("/health", headers={"authorization": f"Bearer {token}"})
            except (OSError, httpx.TransportError):
                await anyio.lowlevel.checkpoint()
            else:
                return str(response.json()["agentId"])


async def test_port_of_another_agent_is_served_after_an_edit(tmp_path: Path) -> None:
    """The first one's server has let go of the number before it is taken again."""
    port = find_free_port()
    edited = Edited(work=port)
    async with serving(tmp_path, edited) as ports:
        assert await health(tmp_path, port) == "work"
        edited.edit(home=port)
        while await health(tmp_path, port) != "home":
            pass
        assert ports.status.state == "ok"
        assert (tmp_path / "http-token").stat().st_mode & 0o777 == 0o600


async def test_taken_port_is_reported_and_others_are_served(tmp_path: Path) -> None:
    """As a degraded channel."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number, port = taken.getsockname()[1], find_free_port()
        edited = Edited(work=number)
        async with serving(tmp_path, edited) as ports:
            while ports.status.state == "ok":
                await anyio.lowlevel.checkpoint()
            assert ports.status.state == "degraded"
            assert ports.status.detail.startswith(
                f"agents.json:work.port: port {number} of agent 'work' is taken by another program;"
            )
            edited.edit(work=number, home=port)
            assert await health(tmp_path, port) == "home"
            assert ports.status.state == "degraded"
            edited.edit(home=port)
            while ports.status.state != "ok":
                await anyio.lowlevel.checkpoint()
            assert ports.status.detail == ""


async def test_port_is_opened_as_soon_as_it_is_free(tmp_path: Path) -> None:
    """It is tried again without an edit, and the channel recovers."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        async with serving(tmp_path, Edited(work=number)) as ports:
            while ports.status.state == "ok":
                await anyio.lowlevel.checkpoint()
            taken.close()
            assert await health(tmp_path, number) == "work"
            assert (ports.status.state, ports.status.detail) == ("ok", "")


def test_daemon_without_ports_and_token_loads_no_web_server() -> None:
    """Its memory is for agents."""
    servers = "{'starlette', 'uvicorn', 'h11'}"
    code = f"import sys, orchestrator.daemon.life; print({servers} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert found.stdout == "set()\n"
