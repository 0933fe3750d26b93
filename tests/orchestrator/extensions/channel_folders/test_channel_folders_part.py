"""A hosted channel follows agents.json and keys.env."""

from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest
from fakes.installed_extensions import install_extensions
from fakes.time_limit import time_limit

from orchestrator.agentsfile import parse_agents_file
from orchestrator.agentsfile.channel_kinds import ChannelKind
from orchestrator.channel_api import Adapter
from orchestrator.configuration import Configuration
from orchestrator.daemon.channels import ChannelSet
from orchestrator.extension import DaemonView
from orchestrator.extensions.channel_folders.channel_folders_part import ChannelFoldersPart
from orchestrator.extensions.channel_folders.hosted_channel import HostedChannel, HostResources
from orchestrator.extensions.channel_folders.testing.memory_wire import MemoryProcess
from orchestrator.installed import MANIFEST
from orchestrator.processes.child_process import Program, SpawnedChild
from orchestrator.processes.supervisor import Supervisor
from orchestrator.settings import Settings
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
    async with anyio.create_task_group() as tasks:
        supervisor = Supervisor(tasks, nothing, nothing, nothing, nothing, nothing)

        async def edit_keys(text: str) -> None:
            (tmp_path / "keys.env").write_text(text)
            assert await configuration.reread_files()
            await configuration.apply_to_processes(supervisor, NoRemoteTools())

        with time_limit():
            await configuration.read_at_start()
            tasks.start_soon(channel.keep_process, configuration.wait_for_change)
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


async def test_account_that_is_added_later_is_a_channel_with_secrets_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process gets them by the names that the chat system's package knows."""
    nothing: Any = None
    (tmp_path / MANIFEST).write_text(KIND.model_dump_json())
    install_extensions(monkeypatch, channels={"dove": tmp_path})
    environ = {"COO_TOKEN": "first", "COO_TOKEN_WORK": "second"}
    current = [parse_agents_file(FILE.encode(), environ=environ).file]
    started: dict[str, str] = {}

    async def spawn(program: Program) -> SpawnedChild:
        started[program.name] = program.env["COO_TOKEN"]
        assert "COO_TOKEN_WORK" not in program.env
        return MemoryProcess(program.name, serve, 1)

    machine: Any = SimpleNamespace(
        monotonic=lambda: 0.0, draw_fraction=lambda: 0.0, spawn_channel=spawn
    )
    sent: list[Adapter] = []
    async with anyio.create_task_group() as tasks, AsyncExitStack() as stack:
        view = DaemonView(
            settings=Settings(home=tmp_path),
            environ=environ,
            store=nothing,
            machine=machine,
            configuration=nothing,
            adapters={},
            stack=stack,
            tasks=tasks,
            stopping=anyio.Event(),
        )
        view.get_agents_file = lambda: current[0]
        view.configuration = cast("Any", SimpleNamespace(wait_for_change=anyio.sleep_forever))
        view.delivery = cast(
            "Any", SimpleNamespace(add_channel=sent.append, run=lambda _: anyio.sleep_forever())
        )
        view.intake = nothing
        part = ChannelFoldersPart(view)
        view.parts = (part,)
        channels = ChannelSet(view)
        view.add_adapter = channels.add_adapter
        await channels.make_channels()
        await part.open()
        assert set(view.adapters) == {"console", "dove"}
        file = FILE.replace("{}", '{"accounts": {"work": {}}}')
        current[0] = parse_agents_file(file.encode(), environ=environ).file
        for _ in range(2):
            part.adopt_configuration(current[0], current[0])
        assert set(view.adapters) == {"console", "dove", "dove@work"}
        assert [adapter.name for adapter in sent] == ["dove@work"]
        with time_limit():
            while len(started) < 2:
                await anyio.lowlevel.checkpoint()
        assert started == {"channel dove": "first", "channel dove@work": "second"}
        view.stopping.set()
        current[0] = parse_agents_file(file.replace("work", "late").encode()).file
        part.adopt_configuration(current[0], current[0])
        assert "dove@late" not in view.adapters
        tasks.cancel_scope.cancel()


async def test_process_that_received_is_replaced_when_another_node_receives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new one sends, and gets no cursor from which to receive; the last one of a stop stays."""
    nothing: Any = None
    started: list[str] = []

    async def spawn(program: Program) -> SpawnedChild:
        started.append(program.name)
        return MemoryProcess(program.name, serve, len(started))

    (tmp_path / MANIFEST).write_text(KIND.model_dump_json())
    install_extensions(monkeypatch, channels={"dove": tmp_path})
    environ = {"COO_TOKEN": "first"}
    file = parse_agents_file(FILE.encode(), environ=environ).file
    stopping = anyio.Event()
    resources = HostResources(
        Settings(home=tmp_path),
        environ,
        lambda: file,
        lambda: 0.0,
        lambda: 1.0,
        spawn,
        stopping.is_set,
    )
    channel = HostedChannel("dove", KIND, resources)

    async def receive_for_a_while() -> None:
        async with anyio.create_task_group() as receiving:
            receiving.start_soon(channel.run, nothing)
            await anyio.wait_all_tasks_blocked()
            receiving.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        with time_limit():
            tasks.start_soon(channel.keep_process, anyio.sleep_forever)
            while channel.child is None:
                await anyio.lowlevel.checkpoint()
            first = channel.child
            await receive_for_a_while()
            while channel.child in (None, first):
                await anyio.lowlevel.checkpoint()
            second = channel.child
            stopping.set()
            await receive_for_a_while()
            assert channel.child is second
        tasks.cancel_scope.cancel()
