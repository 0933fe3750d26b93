"""Launch specs of worker processes for tests: the real one, and ones that misbehave."""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from orchestrator.definitions import AgentDefinition
from orchestrator.launch import LaunchSpec, prepare, resolve
from orchestrator.restarts import WorkerState
from orchestrator.settings import Settings
from orchestrator.supervisor import Supervisor
from thinker.protocol.messages import ToolResult, ToolSpec, UserMessage
from thinker.protocol.methods import ChatRef, StepCommit, StepCommitted, TurnRun

READY = """
import os, socket, sys
wire = socket.socket(fileno=int(os.environ["THINKER_PEER_FD"]))
wire.send(b'{"jsonrpc":"2.0","method":"ready","params":{"pid":1,"provider":"x","model":"y"}}\\n')
"""  # a worker that announces itself; what follows is the misbehaviour


def real_spec(
    home: Path, agent_id: str = "work", environ: Mapping[str, str] | None = None, **fields: object
) -> LaunchSpec:
    """The launch spec of an agent with the demo model, or with other fields of agents.json."""
    definition = AgentDefinition.model_validate(
        {"agent_id": agent_id, "llm_provider": "demo", **fields}
    )
    settings = Settings(home=home)
    settings.paths.prepare()
    environ = environ or {}
    return prepare(definition, settings, resolve(definition, environ, ()), environ)


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

    async def commit(self, commit: StepCommit) -> StepCommitted:
        """Number the step and its calls as the journal does."""
        first = sum(1 + len(step.calls) for step in self.commits) + 1
        self.commits.append(commit)
        seqs = tuple(range(first + 1, first + 1 + len(commit.calls)))
        return StepCommitted(seq=first, call_seqs=seqs)

    async def call_tool(self, seq: int) -> ToolResult:
        """Answer with ``tool``."""
        assert self._tool is not None
        return await self._tool(seq)

    async def entered(self) -> tuple[UserMessage, ...]:
        """Nobody writes meanwhile."""
        return ()

    def show(self, text: str) -> None:
        """Nobody watches."""


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now


@asynccontextmanager
async def supervised(clock: Clock) -> AsyncIterator[tuple[Supervisor, TaskGroup]]:
    """A supervisor without random delays; its processes are gone when the block ends."""
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            yield Supervisor(tasks, clock, lambda: 1.0), tasks
            tasks.cancel_scope.cancel()


def alive(pid: int) -> bool:
    """Whether a process exists, be it as a zombie."""
    return Path(f"/proc/{pid}").exists()


async def until_state(supervisor: Supervisor, agent_id: str, state: WorkerState) -> None:
    """Wait until an agent's worker is in a state."""
    slot = supervisor.slots()[agent_id]
    while slot.history.state is not state:
        await slot.changed.wait()


async def gone(supervisor: Supervisor, agent_id: str = "work") -> None:
    """Wait until an agent has no process and nothing is done about it."""
    slot = supervisor.slots()[agent_id]
    while slot.serving:
        await slot.changed.wait()
