"""Two daemons that work on one journal in PostgreSQL, reached at either of them."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, RunningDaemon, running_daemon
from fakes.held_model import HeldModel, two_agents
from fakes.mcp_client import over_http
from fakes.postgresql import connect_to, database_of, needs_server
from fakes.sharing import guard_journal

from orchestrator.control import protocol
from orchestrator.control.protocol import Ack, AgentName, StatusReport
from orchestrator.extensions.branches.branches_part import REWIND, BranchReport, BranchRequest
from orchestrator.extensions.erasure.erasure_part import FORGET, ErasureTarget
from orchestrator.extensions.http_api.token import TokenFile
from orchestrator.extensions.postgresql.group_locks import GROUPS
from orchestrator.extensions.postgresql.nodes import sharing_state
from orchestrator.placement import Node
from orchestrator.testing.loopback import find_free_port
from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="nodes"), needs_server]
AGENTS = ("work", "home")


@dataclass
class SharedBots:
    """Two daemons, each with one of the agents; ``owner`` is where ``work`` is."""

    bot: FakeBotApi
    model: HeldModel
    owner: RunningDaemon
    other: RunningDaemon
    clients: dict[Path, httpx.AsyncClient]

    def ask(self, daemon: RunningDaemon, agent_id: str, text: str) -> Any:
        """Stream an answer of an agent from the endpoints of a node."""
        body = {"model": agent_id, "stream": True, "messages": [{"role": "user", "content": text}]}
        return self.clients[daemon.home].stream("POST", "/v1/chat/completions", json=body)


@asynccontextmanager
async def two_nodes(folder: Path) -> AsyncIterator[SharedBots]:
    """Run two daemons until each has an agent."""
    async with AsyncExitStack() as stack:
        bot = await stack.enter_async_context(FakeBotApi(TOKEN))
        model = await stack.enter_async_context(HeldModel())
        daemons, clients = [], {}
        for name in ("one", "two"):
            home, port = folder / name, find_free_port()
            home.mkdir()
            token = TokenFile(home / "api-token").make_token()
            env = {
                "ORCHESTRATOR_STORE": database_of(folder),
                "ORCHESTRATOR_NODE_URL": f"http://127.0.0.1:{port}",
                "ORCHESTRATOR_API_PORT": str(port),
            }
            config: JsonObject = {**two_agents(model), "channels": build_channels()}
            daemon = await stack.enter_async_context(running_daemon(home, config, bot, env))
            daemons.append(daemon)
            right = {"authorization": f"Bearer {token}"}
            client = httpx.AsyncClient(
                base_url=f"http://127.0.0.1:{port}", headers=right, timeout=60, trust_env=False
            )
            clients[home] = await stack.enter_async_context(client)
        bots = SharedBots(bot, model, daemons[0], daemons[1], clients)
        guard_journal(database_of(folder))
        await daemons[0].logged("groups_given")  # after the first half minute
        bots.owner, bots.other = await find_owners(bots, daemons)
        yield bots


def build_channels() -> JsonObject:
    """Let the operator command in the chat of ``work``, and all others talk."""
    return {"telegram": {"access": "open", "allowlist": ["123"]}}


async def find_owners(bots: SharedBots, daemons: list[RunningDaemon]) -> list[RunningDaemon]:
    """Return the nodes that have ``work`` and ``home``, neither of which has been asked before."""
    found = []
    for agent_id in AGENTS:
        async with bots.ask(daemons[0], agent_id, "who has you?") as answer:
            await answer.aread()
        for daemon in daemons:
            report = await daemon.status()
            if any(one.agent_id == agent_id and one.pid for one in report.agents):
                found.append(daemon)
    assert {daemon.home for daemon in found} == {daemon.home for daemon in daemons}
    return found


async def read_words(answer: httpx.Response) -> AsyncIterator[str]:
    """Yield the pieces of a streamed answer."""
    async for line in answer.aiter_lines():
        if line.startswith("data: {"):
            choices = json.loads(line.removeprefix("data: "))["choices"]
            if choices and choices[0]["delta"].get("content"):
                yield choices[0]["delta"]["content"]


async def give_up_by_mcp(bots: SharedBots) -> str:
    """Cancel a call of ``work`` at the other node; return what becomes of its turn."""
    client, held = bots.clients[bots.other.home], bots.model.hold("by MCP")
    right = {"authorization": client.headers["authorization"]}
    async with (
        over_http(f"{client.base_url}/mcp", right, "legacy") as mcp,
        anyio.create_task_group() as tasks,
    ):
        with anyio.CancelScope() as call:

            async def cancel() -> None:
                await bots.model.asked("by MCP")
                call.cancel()

            tasks.start_soon(cancel)
            await mcp.call_tool("ask_work", {"message": "by MCP"})
    report = await bots.owner.until(lambda found: found.open_turns == 0)
    held.set()
    return report.recent_turns[0].state


async def rewind_and_forget(bots: SharedBots) -> None:
    """Rewind the operator's chat with ``work``, and then forget it, at the other node."""
    report = await bots.owner.status()
    (*_, first) = (one for one in report.recent_turns if one.chat == "telegram:123")
    asked = BranchRequest(turn=first.turn_id[-8:])
    assert (await bots.other.ask(REWIND, asked, BranchReport)).agent == "work"
    chat = ErasureTarget(channel="telegram", chat="123")
    assert await bots.other.ask(FORGET, chat, Ack) == Ack()


async def drain_owner(bots: SharedBots, journal: str) -> None:
    """Drain the node of ``work`` while it answers one message and the next one waits."""

    def has_groups(*counts: int) -> Callable[[StatusReport], bool]:
        return lambda report: sorted(one.groups for one in report.nodes) == [*counts]

    held = bots.model.hold("long")
    bots.bot.send_user_message(123, "long")
    await bots.model.asked("long")
    with closing(connect_to(journal)) as db:
        sharing_state.drain_node(db, Node("one", bots.owner.settings.node_url))
    await bots.owner.until(has_groups(1, GROUPS - 1))
    bots.bot.send_user_message(123, "next")
    held.set()
    await bots.bot.shows(123, "work-model: long")
    await bots.bot.shows(123, "work-model: next")
    report = await bots.other.until(has_groups(0, GROUPS))
    assert all(one.pid for one in report.agents)  # both answer there


async def test_every_node_is_the_way_to_every_agent(tmp_path: Path) -> None:
    """Programs, people in chats and operators need not know where an agent works.

    No node writes for an agent of the other one: the server would refuse it.
    """
    async with two_nodes(tmp_path) as bots:
        for daemon in (bots.owner, bots.other):
            for agent_id in AGENTS:
                async with bots.ask(daemon, agent_id, f"hello at {daemon.home.name}") as answer:
                    words = [word async for word in read_words(answer)]
                assert "".join(words) == f"{agent_id}-model: hello at {daemon.home.name}"

        bots.bot.send_user_message(123, "one")  # one of them polls, for the agents of both
        assert await bots.bot.reply_in(123) == "work-model: one"
        bots.bot.send_user_message(7, "two")
        assert await bots.bot.reply_in(7) == "home-model: two"

        held = bots.model.hold("for ever")
        bots.bot.send_user_message(123, "for ever")
        await bots.model.asked("for ever")
        bots.bot.send_user_message(123, "/stop")
        await bots.bot.shows(123, "Stopped.")
        held.set()

        for daemon in (bots.owner, bots.other):
            for agent_id in AGENTS:
                name = AgentName(agent_id=agent_id)
                assert await daemon.ask(protocol.AGENT_PAUSE, name, Ack) == Ack()
                assert await daemon.ask(protocol.AGENT_RESUME, name, Ack) == Ack()

        assert await give_up_by_mcp(bots) == "cancelled"
        await rewind_and_forget(bots)
        await drain_owner(bots, database_of(tmp_path))
        for daemon in (bots.owner, bots.other):
            assert [line for line in daemon.log if "without its lock" in str(line)] == []
