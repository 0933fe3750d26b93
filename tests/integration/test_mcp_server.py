"""The daemon as an MCP server, for the official client: by HTTP and as a command."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, running_daemon
from fakes.held_model import HeldModel, agent, two_agents
from fakes.mcp_client import OPERATOR, Mode, data, mcp_daemon, over_http, over_stdio, resource, said
from fakes.model_api import Reply
from fakes.time_limit import time_limit
from mcp import MCPError
from mcp.client import Client

from orchestrator.control.protocol import Ack
from orchestrator.extensions.mcp_server.mcp_lines import MCP_LINE, McpLine
from orchestrator.extensions.mcp_server.offered_tools import MOST_FOUND, MOST_TOOLS

pytestmark = pytest.mark.process
MODES: tuple[Mode, ...] = ("auto", "legacy")
FACT = {"fact": "Likes tea.", "category": "preference"}
ASK = {"ask_work", "wait_for_answer", "list_chats", "read_chat"}


async def test_agents_are_tools_by_http(tmp_path: Path) -> None:
    """With a handshake and without: list, ask, go on, read what was said, and its trace."""
    async with HeldModel() as model:
        config: Any = {
            "agents": [agent("work", model, description="Knows the weather.")],
            **OPERATOR,
        }
        async with mcp_daemon(tmp_path, config) as (_, url, headers):
            for mode in MODES:
                async with over_http(url, headers, mode) as client:
                    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
                    assert tools.keys() > ASK
                    assert "Knows the weather." in str(tools["ask_work"].description)
                    first = await client.call_tool("ask_work", {"message": f"hi {mode}"})
                    assert not first.is_error, first
                    assert said(first) == f"work-model: hi {mode}"
                    chat = data(first)["chat"]
                    more = {"message": "and?", "chat": chat}
                    assert data(await client.call_tool("ask_work", more))["chat"] == chat
                    read = await client.call_tool("read_chat", {"chat": chat})
                    texts = [line["text"] for line in data(read)["messages"]]
                    assert texts == [
                        f"hi {mode}",
                        f"work-model: hi {mode}",
                        "and?",
                        "work-model: and?",
                    ]
                    listed = (await client.list_resources()).resources
                    trace = await resource(client, str(listed[1].uri))
                    assert "and?" in trace
                    assert '"events"' in await resource(client, f"{listed[1].uri}/json")
                    assert "and?" in await resource(client, "orchestrator://turns")


async def test_of_many_agents_one_is_found_and_asked(tmp_path: Path) -> None:
    """Clients hand all tools to a model, which could not read ten thousand."""
    async with HeldModel() as model:
        others = [agent(f"other-{number}", model) for number in range(MOST_TOOLS)]
        work = agent("work", model, description="Knows the Weather.")
        config: Any = {"agents": [*others, work]}
        async with (
            mcp_daemon(tmp_path, config) as (_, url, headers),
            over_http(url, headers) as one,
        ):
            tools = {tool.name for tool in (await one.list_tools()).tools}
            assert tools == (ASK - {"ask_work"}) | {"find_agents", "ask"}
            found = await one.call_tool("find_agents", {"search": "weather"})
            assert data(found)["agents"] == [{"agent": "work", "description": "Knows the Weather."}]
            every = await one.call_tool("find_agents", {})
            assert len(data(every)["agents"]) == MOST_FOUND
            assert data(every)["more"] == MOST_TOOLS + 1 - MOST_FOUND
            assert said(every).endswith("and 31 more; search for a longer text")
            first = await one.call_tool("ask", {"agent": "work", "message": "hi"})
            assert said(first) == "work-model: hi"
            lost = await one.call_tool("ask", {"agent": "ghost", "message": "hi"})
            assert lost.is_error
            assert said(lost) == "unknown agent 'ghost'; call find_agents"


async def test_command_outlives_the_daemon(tmp_path: Path) -> None:
    """A kill during an answer: the next daemon gives it; one message, and one answer."""
    async with HeldModel() as model, anyio.create_task_group() as tasks:
        config: Any = {"agents": [agent("work", model)]}
        gate, answers, answered = model.hold("slow"), list[str](), anyio.Event()

        async def ask() -> None:
            async with over_stdio(tmp_path) as client:
                answers.append(said(await client.call_tool("ask_work", {"message": "slow"})))
                answered.set()

        async with running_daemon(tmp_path, config) as daemon:
            tasks.start_soon(ask)
            await model.asked("slow")
            await daemon.kill()
            gate.set()
        async with running_daemon(tmp_path, None) as daemon:
            with time_limit():
                await answered.wait()
            report = await daemon.until(lambda report: report.open_turns == 0)
        assert (answers, report.inbox["done"]) == (["work-model: slow"], 1)


@pytest.mark.parametrize("mode", MODES)
async def test_slow_answer_reports_progress_and_can_be_canceled(tmp_path: Path, mode: Mode) -> None:
    """Its client hears of the calls; when it cancels, the turn ends."""
    async with HeldModel() as model:
        config: Any = {"agents": [agent("work", model)]}

        async def give_up(client: Client) -> list[str]:
            heard: list[str] = []

            async def hear(progress: float, total: float | None, message: str | None) -> None:
                assert (progress, total) == (len(heard) + 1, None)
                heard.append(message or "")
                scope.cancel()

            with anyio.CancelScope() as scope:
                await client.call_tool("ask_work", {"message": "hi"}, progress_callback=hear)
            return heard

        async with mcp_daemon(tmp_path, config) as (daemon, url, headers):
            for transport in (over_http(url, headers, mode), over_stdio(tmp_path, mode)):
                async with transport as client:
                    late = Reply("late", fault="hang")
                    model.script.extend((Reply(tool_calls=(("get_time", {}),)), late))
                    assert await give_up(client) == ["work called get_time"]
                    report = await daemon.until(lambda report: report.open_turns == 0)
                    assert report.recent_turns[0].state == "cancelled"


async def test_operators_client_decides_and_writes_to_people(tmp_path: Path) -> None:
    """A waiting call comes back at once, and its answer after the decision; texts go out once."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, approvals=["store_*"])
        model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
        async with running_daemon(tmp_path, config, bot) as daemon, over_stdio(tmp_path) as client:
            asked = data(await client.call_tool("ask_work", {"message": "remember tea"}))
            assert (asked["state"], FACT["fact"] in asked["text"]) == ("needs_approval", True)
            (call,) = data(await client.call_tool("list_approvals"))["calls"]
            assert call["code"] == asked["code"]
            decision = {"code": asked["code"], "grant": True}
            assert (
                said(await client.call_tool("answer_approval", decision)) == "granted: store_fact"
            )
            again = await client.call_tool("answer_approval", decision)
            assert (again.is_error, "no call has the code" in said(again)) == (True, True)
            wait = {"message_id": asked["message_id"]}
            found = data(await client.call_tool("wait_for_answer", wait))
            assert (found["state"], found["text"]) == ("answered", "work-model: remember tea")

            bot.send_user_message(7, "hello")
            await bot.reply_in(7)
            chats = data(await client.call_tool("list_chats"))["chats"]
            assert [(c["chat"].split("/")[0], c["text"]) for c in chats] == [
                ("telegram", "hello"),
                (asked["chat"], "remember tea"),
            ]
            note = {"chat": chats[0]["chat"], "text": "the build is **done**"}
            assert not (await client.call_tool("send_to_chat", note)).is_error
            assert "the build is" in await bot.reply_in(7)
            read = data(await client.call_tool("read_chat", {"chat": chats[0]["chat"]}))
            assert read["messages"][-1]["text"] == note["text"]
            for text in ("twice", "twice", "last"):  # the first two are one, sent again
                params = {"name": "send_to_chat", "arguments": {**note, "text": text}}
                line = {"jsonrpc": "2.0", "id": text, "method": "tools/call", "params": params}
                given = McpLine(session="s" * 16, line=json.dumps(line))
                await daemon.ask(MCP_LINE, given, Ack)
            assert [await bot.reply_in(7), await bot.reply_in(7)] == ["twice", "last"]
            nowhere = [(name, "list_chats") for name in ("nowhere/x/", "telegram:7", "nowhere")]
            for name, problem in (*nowhere, (asked["chat"], "ask_AGENT")):
                refused = await client.call_tool("send_to_chat", {**note, "chat": name})
                assert (refused.is_error, problem in said(refused)) == (True, True)


async def test_token_alone_reaches_only_chats_of_its_own(tmp_path: Path) -> None:
    """By default `/mcp` shows neither the operator's chats and turns nor waiting approvals."""
    async with HeldModel() as model:
        config: Any = {"agents": [agent("work", model)]}
        async with mcp_daemon(tmp_path, config) as (_, url, headers):
            async with over_stdio(tmp_path) as operator:
                secret = data(
                    await operator.call_tool("ask_work", {"message": "s", "chat": "home"})
                )
                (turn,) = (await operator.list_resources()).resources[1:]
            async with over_http(url, headers) as client:
                assert {tool.name for tool in (await client.list_tools()).tools} == ASK
                await client.call_tool("ask_work", {"message": "mine", "chat": "home"})
                chats = data(await client.call_tool("list_chats"))["chats"]
                assert [(c["chat"], c["text"]) for c in chats] == [("home", "mine")]
                for chat in ("mcp/local/operator/home/", "other"):
                    refused = await client.call_tool("read_chat", {"chat": chat})
                    assert (refused.is_error, "unknown chat" in said(refused)) == (True, True)
                wait = {"message_id": secret["message_id"]}
                assert (await client.call_tool("wait_for_answer", wait)).is_error
                own = (await client.list_resources()).resources[1:]
                assert [resource.title for resource in own] == ["work in mcp:client/home: mine"]
                with pytest.raises(MCPError, match="unknown turn"):
                    await client.read_resource(turn.uri)
                with pytest.raises(MCPError, match="unknown tool 'list_approvals'"):
                    await client.call_tool("list_approvals")
            async with over_http(url, {**headers, "idempotency-key": "k"}, "legacy") as one:
                ask = {"message": "once"}
                first = data(await one.call_tool("ask_work", ask))
            async with over_http(url, {**headers, "idempotency-key": "k"}, "legacy") as two:
                assert data(await two.call_tool("ask_work", ask)) == first
                own_id = {**ask, "message_id": first["message_id"]}
                other = await two.call_tool("ask_work", {**own_id, "chat": "elsewhere"})
                assert (other.is_error, "was used" in said(other)) == (True, True)
                late = {"message": "later", "wait_seconds": 0}
                assert data(await two.call_tool("ask_work", late))["state"] == "pending"
        assert len(model.requests_about("once")) == 1
