"""A turn that has just begun, and who runs its tool calls, with servers in several states."""

import threading
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup
from fakes.agents_file import WORK, parsed
from fakes.journal import job, open_turn, opened, step, store_in
from fakes.note_tools import TOOLS
from fakes.time_limit import time_limit
from fakes.tool_call import tool_context

from orchestrator.chat_activity import ChatActivity
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import steps
from orchestrator.journal.turns.approvals import Approval
from orchestrator.prompts.library import PromptLibrary
from orchestrator.prompts.prompt_set import PromptSet
from orchestrator.settings import Settings
from orchestrator.toolcalls.approvals import ApprovalQueue
from orchestrator.toolcalls.authorization import CallContext
from orchestrator.toolcalls.executor import ApprovalNeeded, CallOutcome, ToolExecutor
from orchestrator.tools.builtin.host_tool import (
    HostTool,
    PlainTool,
    ToolContext,
    build_tool_spec,
)
from orchestrator.tools.policy import map_side_effects
from orchestrator.tools.remote_tools import NoRemoteTools, RemoteTool, Tell
from thinker.protocol.messages import JsonObject, SideEffect, ToolResult

PAYING = build_tool_spec("s_pay", "Pay.", {}, side_effect=SideEffect.NON_IDEMPOTENT)
PAY = RemoteTool(PAYING, "s", "pay", timeout=1, keyed=False)


class LoopBound:
    """Fails when another thread than that of the event loop looks at it."""

    def __getattribute__(self, name: str) -> Any:
        """Look the attribute up."""
        assert threading.current_thread() is threading.main_thread(), name
        return super().__getattribute__(name)


class BoundServers(LoopBound, NoRemoteTools):
    """Servers of the event loop that offer ``tools`` and do not answer."""

    def __init__(self) -> None:
        self.tools: dict[str, RemoteTool] = {}

    def list_agent_tools(self, agent_id: str) -> dict[str, RemoteTool]:
        """Return all tools."""
        del agent_id
        return self.tools


class BoundPrompts(LoopBound, PromptLibrary):
    """Prompts of the event loop."""


class BoundApprovals(LoopBound, ApprovalQueue):
    """Approvals of the event loop."""


class StartingServers(BoundServers):
    """Servers that never come to an end of their start."""

    async def wait_for_tool(self, name: str, agent_id: str, tell: Tell) -> None:
        """Tell the chat, and wait."""
        del agent_id
        tell(f"waiting for {name}")
        await anyio.sleep_forever()


class UnansweringServers(BoundServers):
    """Servers that are connected and lose the answer to each call."""

    def list_answering_tools(self, agent_id: str) -> dict[str, RemoteTool]:
        """Return all tools."""
        return self.list_agent_tools(agent_id)


@dataclass
class HeldTool:
    """The body of a tool that waits to be let go."""

    runs: int = 0
    entered: anyio.Event = field(default_factory=anyio.Event)
    released: anyio.Event = field(default_factory=anyio.Event)

    async def run(self, context: ToolContext, arguments: JsonObject) -> str:
        """Count the run and wait."""
        del context, arguments
        self.runs += 1
        self.entered.set()
        await self.released.wait()
        return "done"


@dataclass
class Bench:
    """The turn ``t1`` of the agent ``work``, and who runs its calls."""

    db: Database
    tasks: TaskGroup
    runner: ToolExecutor
    approvals: ApprovalQueue
    servers: BoundServers
    context: ToolContext
    changes: list[str]

    def caller(self, **fields: object) -> CallContext:
        """The agent with these fields."""
        (agent,) = parsed({**WORK, "llmProvider": "groq", **fields}).file.agents
        return CallContext(agent, self.context, 1)

    def plan(self, *names: str, arguments: JsonObject | None = None) -> list[int]:
        """T3 of a response that calls these tools; their numbers."""
        commit = step("t1", *names, arguments=arguments or {})
        with job(self.db):
            classes = map_side_effects(self.runner.list_offered_tools(self.caller().definition))
            return [*steps.plan(self.db, commit, classes, 1, 1).call_seqs]

    def state(self, seq: int) -> str:
        """The state of a call in the journal."""
        return str(self.db.execute("SELECT state FROM step WHERE seq = ?", (seq,)).get)

    async def ask(self, seq: int, caller: CallContext | None = None) -> ToolResult:
        """The result of a call."""
        result = await self.outcome(seq, caller)
        assert isinstance(result, ToolResult)
        return result

    async def outcome(self, seq: int, caller: CallContext | None = None) -> CallOutcome:
        """The result of a call, or what it waits for."""
        return await self.runner.run_planned_call(caller or self.caller(), seq, lambda _: None)

    async def question(self, seq: int, caller: CallContext) -> Approval:
        """The approval that a call waits for."""
        needed = await self.outcome(seq, caller)
        assert isinstance(needed, ApprovalNeeded)
        return needed.approval


@asynccontextmanager
async def running(
    folder: Path,
    kind: type[BoundServers] = BoundServers,
    now: Callable[[], int] = lambda: 5,
    tools: Iterable[HostTool] = (),
) -> AsyncIterator[Bench]:
    """A turn that has just begun, with these tools of the supervisor beside the usual ones."""
    with opened(folder) as db, closing(store_in(folder)) as store, time_limit():
        open_turn(db)
        settings, changes = Settings(home=folder), list[str]()
        servers = kind()
        approvals, prompts = BoundApprovals(store, now), BoundPrompts(settings)
        added = {tool.spec.name: tool for tool in tools}
        prompts.adopt_set(PromptSet(host_tools={**TOOLS, **added}))
        async with anyio.create_task_group() as tasks:
            runner = ToolExecutor(
                store,
                servers,
                prompts,
                tasks,
                approvals,
                now,
                lambda: changes.append("changed"),
                ChatActivity(),
            )
            context = tool_context(store, folder)
            yield Bench(db, tasks, runner, approvals, servers, context, changes)


def held(tool: HeldTool) -> PlainTool:
    """The tool ``held`` of the supervisor, with this body."""
    about = build_tool_spec("held", "A test tool.", {}, side_effect=SideEffect.PURE)
    return PlainTool(about, tool.run)
