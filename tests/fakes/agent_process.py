"""Launch specs of worker processes for tests: the real one, and ones that misbehave."""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup
from fakes.time_limit import time_limit

from orchestrator.agentsfile import AgentDefinition
from orchestrator.agentsfile.agents_file import SandboxMode
from orchestrator.processes.child_process import Spawn, execute_program
from orchestrator.processes.launch import LaunchSpec, build_launch_spec, resolve_endpoint
from orchestrator.processes.restarts import WorkerState
from orchestrator.processes.supervisor import Supervisor
from orchestrator.processes.zygotes import ZygoteClient, Zygotes
from orchestrator.settings import Settings
from thinker.protocol.messages import ToolResult, ToolSpec, UserMessage
from thinker.protocol.methods import ChatRef, StepCommit, StepCommitted, TurnRun

BOTH_MODES = pytest.mark.parametrize("mode", ["exec", "zygote"])
READY = """
import os, socket, sys
wire = socket.socket(fileno=int(os.environ["THINKER_PEER_FD"]))
wire.send(b'{"jsonrpc":"2.0","method":"ready","params":{"pid":1,"provider":"x","model":"y"}}\\n')
"""  # a worker that announces itself; what follows is the misbehaviour


def real_spec(
    home: Path,
    agent_id: str = "work",
    environ: Mapping[str, str] | None = None,
    *,
    sandbox: SandboxMode = "auto",
    **fields: object,
) -> LaunchSpec:
    """The launch spec of an agent with the demo model, or with other fields of agents.json."""
    definition = AgentDefinition.model_validate(
        {"agent_id": agent_id, "llm_provider": "demo", **fields}
    )
    settings = Settings(home=home)
    settings.paths.create_directories()
    environ = environ or {}
    endpoint = resolve_endpoint(definition, environ, ())
    return build_launch_spec(definition, settings, endpoint, environ, sandbox=sandbox)


def program(home: Path, code: str, agent_id: str = "work") -> LaunchSpec:
    """A worker that runs ``code`` instead."""
    return replace(real_spec(home, agent_id), argv=(sys.executable, "-c", code))


def turn(turn_id: str = "t1", text: str = "hello", *tools: ToolSpec) -> TurnRun:
    """A turn that may take as long as it likes."""
    return TurnRun(
        turn_id=turn_id,
        chat=ChatRef(channel="console", chat_id="c"),
        messages=(UserMessage(content=text),),
        tools=tools,
        started_at=0.0,
        deadline=4e9,
    )


class MemoryHost:
    """A `TurnHost` without a journal; ``tool`` answers every call."""

    def __init__(self, tool: Callable[[int], Awaitable[ToolResult]] | None = None) -> None:
        self.commits: list[StepCommit] = []
        self._tool = tool

    async def commit_step(self, commit: StepCommit) -> StepCommitted:
        """Number the step and its calls as the journal does."""
        first = sum(1 + len(step.calls) for step in self.commits) + 1
        self.commits.append(commit)
        seqs = tuple(range(first + 1, first + 1 + len(commit.calls)))
        return StepCommitted(seq=first, call_seqs=seqs)

    async def call_tool(self, seq: int) -> ToolResult:
        """Answer with ``tool``."""
        assert self._tool is not None
        return await self._tool(seq)

    async def take_new_messages(self) -> tuple[UserMessage, ...]:
        """No one writes meanwhile."""
        return ()

    def show_partial_answer(self, text: str) -> None:
        """No one watches."""


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now


@asynccontextmanager
async def zygotes(**options: Any) -> AsyncIterator[Zygotes]:
    """A zygote that is ready."""
    async with anyio.create_task_group() as tasks:
        keeper = Zygotes(Settings(home=Path.cwd()), {}, **options)
        tasks.start_soon(keeper.run)
        await until_zygote(keeper)
        yield keeper
        tasks.cancel_scope.cancel()


async def until_zygote(keeper: Zygotes, other_than: int = 0) -> ZygoteClient:
    """Wait for a zygote that is ready, and another one than a process."""
    with time_limit():
        while (found := keeper._zygote) is None or found.pid == other_than:
            await keeper._changes.changed.wait()
    return found


@asynccontextmanager
async def spawning(mode: str) -> AsyncIterator[Spawn]:
    """One of the two ways to start a worker."""
    if mode == "exec":
        yield execute_program
        return
    async with zygotes() as keeper:
        yield keeper.spawn_worker


@asynccontextmanager
async def supervised(
    clock: Clock, mode: str = "exec"
) -> AsyncIterator[tuple[Supervisor, TaskGroup]]:
    """A supervisor without random delays; its processes are gone when the block ends."""
    with time_limit():
        async with spawning(mode) as spawn, anyio.create_task_group() as tasks:
            yield Supervisor(tasks, clock, lambda: 1.0, spawn), tasks
            tasks.cancel_scope.cancel()


def alive(pid: int) -> bool:
    """Whether a process exists, be it as a zombie."""
    return Path(f"/proc/{pid}").exists()


async def until_state(supervisor: Supervisor, agent_id: str, state: WorkerState) -> None:
    """Wait until an agent's worker is in a state."""
    slot = supervisor.slots[agent_id]
    while slot.history.state is not state:
        await slot.changed.wait()


async def gone(supervisor: Supervisor, agent_id: str = "work") -> None:
    """Wait until an agent has no process and nothing is done about it."""
    slot = supervisor.slots[agent_id]
    while slot.has_task:
        await slot.changed.wait()
