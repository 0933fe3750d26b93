"""Run a channel of the channel host inside this process."""

import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from orchestrator.agentsfile import AgentsFile
from orchestrator.agentsfile.channel_kinds import ChannelKind, load_channel_kinds
from orchestrator.agentsfile.mounting import build_file_model
from orchestrator.channelhost.channel_wire import OPTIONS_VARIABLE
from orchestrator.channelhost.foreign_channel import Connect
from orchestrator.extensions.channel_folders.channel_host import ChannelHost
from orchestrator.extensions.channel_folders.hosted_channel import HostedChannel, HostResources
from orchestrator.extensions.channel_folders.testing.memory_wire import MemoryProcess
from orchestrator.processes.child_process import Program, SpawnedChild
from orchestrator.settings import Settings
from orchestrator.testing.time_limit import time_limit
from thinker.protocol.peer import Peer
from thinker.protocol.sandbox import SandboxReport

UNJAILED = SandboxReport("off", "it is a part of the tests")


@asynccontextmanager
async def open_tasks() -> AsyncIterator[TaskGroup]:
    """Open a task group that is cancelled at its end; a single fault is raised as itself."""
    try:
        async with anyio.create_task_group() as tasks:
            yield tasks
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        if len(group.exceptions) > 1:
            raise
        raise group.exceptions[0] from None


def build_agents(name: str, options: Mapping[str, str]) -> AgentsFile:
    """Return an agents.json with one agent and this channel."""
    return build_file_model().model_validate(
        {
            "agents": [{"agentId": "main", "llmProvider": "demo"}],
            "channels": {name: dict(options)},
        }
    )


@asynccontextmanager
async def hosted_channel(
    kind: ChannelKind,
    name: str,
    agents: Callable[[], AgentsFile],
    secrets: Mapping[str, str],
    connect: Connect,
) -> AsyncIterator[tuple[HostedChannel, Callable[[], None]]]:
    """Run a channel's process; yield its adapter once it can send, and an apply function."""

    async def spawn(program: Program) -> SpawnedChild:
        given = {secret: program.env[secret] for secret in secrets}
        options = json.loads(program.env[OPTIONS_VARIABLE])
        host = ChannelHost(connect(options, given), UNJAILED)

        async def serve(process: MemoryProcess, peer: Peer) -> None:
            del process
            peer.requests |= host.requests
            await host.serve_peer(peer)

        return MemoryProcess(program.name, serve, os.getpid())

    means = HostResources(
        settings=Settings(home=Path.cwd()),
        environ=secrets,
        agents=agents,
        clock=lambda: 0.0,
        jitter=lambda: 1.0,
        spawn=spawn,
        is_stopping=lambda: True,  # when it receives no more
    )
    channel = HostedChannel(name, kind, means)
    async with open_tasks() as tasks:
        tasks.start_soon(channel.keep_process, anyio.sleep_forever)
        with time_limit():
            while channel.child is None:
                await anyio.lowlevel.checkpoint()
        yield channel, channel.apply_settings


@asynccontextmanager
async def hosted_adapter(
    name: str, options: Mapping[str, str], secrets: Mapping[str, str], connect: Connect
) -> AsyncIterator[HostedChannel]:
    """Run a channel's process with these options."""
    agents = build_agents(name, options)
    kind = load_channel_kinds()[name]
    async with hosted_channel(kind, name, lambda: agents, secrets, connect) as (channel, _):
        yield channel
