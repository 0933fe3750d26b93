"""A hosted channel follows agents.json and keys.env."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from fakes.installed_extensions import install_extensions
from fakes.time_limit import time_limit

from orchestrator.agentsfile.channel_kinds import ChannelKind
from orchestrator.channels.hosted_channel import HostedChannel, HostResources
from orchestrator.configuration import Configuration
from orchestrator.daemon.channels import keep_processes
from orchestrator.extension import DaemonView
from orchestrator.installed import MANIFEST
from orchestrator.processes.child_process import Program, SpawnedChild
from orchestrator.processes.supervisor import Supervisor
from orchestrator.settings import Settings
from orchestrator.testing.memory_wire import MemoryProcess
from orchestrator.tools.remote_tools import NoRemoteTools
from thinker.protocol.liveness import answer_pings
from thinker.protocol.methods import Ready
from thinker.protocol.peer import Peer
from thinker.protocol.sandbox import SandboxReport

FILE = '{"agents": [{"agentId": "a", "llmProvider": "demo"}], "channels": {"dove": {}}}'
KIND = ChannelKind(
    title="Dove", secrets={"COO_TOKEN": "ask"}, limit=1000, id_pattern=".+", id_example="ann"
)


async def serve(process: MemoryProcess, peer: Peer) -> None:
    """Play a channel's process, which only says that it is ready."""
    ready = Ready(pid=process.pid, provider="", model="", sandbox=SandboxReport("off", "a test"))
    await answer_pings(peer, ready)


async def test_an_edit_of_the_keys_alone_replaces_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new secret starts another process, and without the secret there is none."""
    nothing: Any = None
    started: list[str] = []

    async def spawn(program: Program) -> SpawnedChild:
        started.append(program.env["COO_TOKEN"])
        return MemoryProcess(program.name, serve, 1)

    (tmp_path / MANIFEST).write_text(KIND.model_dump_json())
    install_extensions(monkeypatch, channels={"dove": tmp_path})
    settings, environ = Settings(home=tmp_path), dict[str, str]()
    settings.paths.create_directories()
    (tmp_path / "agents.json").write_text(FILE)
    configuration = Configuration(settings, environ)
    resources = HostResources(
        settings, environ, lambda: configuration.file, lambda: 0.0, lambda: 1.0, spawn
    )
    channel = HostedChannel("dove", KIND, resources)
    async with anyio.create_task_group() as tasks, AsyncExitStack() as stack:
        supervisor = Supervisor(tasks, nothing, nothing, nothing, nothing, nothing)
        view = DaemonView(
            settings=settings,
            environ=environ,
            store=nothing,
            machine=nothing,
            configuration=configuration,
            adapters={},
            stack=stack,
            tasks=tasks,
            stopping=anyio.Event(),
        )

        async def edit_keys(text: str) -> None:
            (tmp_path / "keys.env").write_text(text)
            assert await configuration.reread_files()
            await configuration.apply_to_processes(supervisor, NoRemoteTools())

        with time_limit():
            await configuration.read_at_start()
            keep_processes(view, [channel])
            for number, token in enumerate(("first", "second"), 1):
                await edit_keys(f"COO_TOKEN={token}")
                while len(started) < number or channel.child is None:
                    await anyio.lowlevel.checkpoint()
            await edit_keys("")
            while channel.child is not None:
                await anyio.lowlevel.checkpoint()
        assert started == ["first", "second"]
        assert channel.status.state == "degraded"
        tasks.cancel_scope.cancel()
