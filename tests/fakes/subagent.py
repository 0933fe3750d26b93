"""A person who has a subagent do something, and what is seen of it."""

import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fakes.bot_api import FakeBotApi
from fakes.calling_model import CallingModel, one_agent, operated
from fakes.daemon import TOKEN, RunningDaemon, running_daemon
from fakes.journal import reading_in

from orchestrator.control.agent_report import AgentReport
from orchestrator.journal.inspect import invariants
from thinker.protocol.messages import JsonObject

CHAT = 123
TASK = "count the whales"
DONE = f"result: work-model: {TASK}"


def config(model: CallingModel, **fields: Any) -> JsonObject:
    """One agent, no MCP server, and a chat of its operator."""
    return operated(one_agent(model, {}, **fields), str(CHAT))


@asynccontextmanager
async def parent_daemon(
    home: Path, **fields: Any
) -> AsyncIterator[tuple[FakeBotApi, CallingModel, RunningDaemon]]:
    """A Telegram, a model, and a daemon with that agent between them."""
    async with (
        FakeBotApi(TOKEN) as bot,
        CallingModel() as model,
        running_daemon(home, config(model, **fields), bot) as daemon,
    ):
        yield bot, model, daemon


def spawn(**arguments: Any) -> str:
    """What a person writes to have a subagent do the task."""
    return "!spawn_subagent " + json.dumps({"task": TASK, **arguments})


async def child(daemon: RunningDaemon) -> AgentReport:
    """The subagent that has a process now, waited for."""

    def found(agents: tuple[AgentReport, ...]) -> list[AgentReport]:
        return [agent for agent in agents if agent.parent and agent.pid]

    return found((await daemon.until(lambda report: bool(found(report.agents)))).agents)[0]


async def kill_child(daemon: RunningDaemon) -> None:
    """``kill -9`` of the subagent's process."""
    os.kill((await child(daemon)).pid or 0, signal.SIGKILL)


async def settled(daemon: RunningDaemon) -> None:
    """No turn is open, no subagent is left, and every promise about the journal holds."""
    await daemon.until(lambda report: report.open_turns == 0 and len(report.agents) == 1)
    with reading_in(daemon.home) as db:
        assert invariants.check_invariants(db) == []
        assert db.execute("SELECT count(*) FROM subagent_run").get == 1
