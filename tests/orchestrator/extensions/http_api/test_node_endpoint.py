"""Requests of operators that the node of their agent answers, over loopback."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from fakes.journal import connection_in, job, next_turn, planned, receive, store_in, update
from fakes.node_links import link_node
from fakes.placed_agents import PlacedAgents
from fakes.time_limit import time_limit
from pydantic import JsonValue
from starlette.routing import Route

from orchestrator.control import protocol
from orchestrator.control.protocol import Ack, AgentName
from orchestrator.errors import JournalError
from orchestrator.extensions.http_api.guard import Guard
from orchestrator.extensions.http_api.local_port import bind_port
from orchestrator.extensions.http_api.node_endpoint import answer_node_call
from orchestrator.extensions.http_api.node_link import CALLS
from orchestrator.extensions.http_api.token import TokenFile
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import approvals, turns
from orchestrator.placement import Node
from orchestrator.web.app import build_app
from orchestrator.web.http_server import serve_app
from orchestrator.web.refusal import Refusal
from thinker.protocol.peer import FAILED, INVALID_PARAMS, RequestHandler, RpcError

WORK: JsonValue = {"agentId": "work"}


class Operators:
    """The control methods of both nodes, and who called them where."""

    def __init__(self) -> None:
        self.done: list[tuple[str, str, JsonValue]] = []

    def build_methods(self, node: str, by: str) -> dict[str, RequestHandler]:
        """Return the methods of a node."""
        names = (protocol.AGENT_PAUSE, protocol.APPROVAL_DECIDE, protocol.RELOAD)
        own: dict[str, RequestHandler] = {name: partial(self._record, node, by) for name in names}
        return {**own, protocol.AGENT_RESUME: self._refuse, protocol.TASK_RUN: self._validate}

    async def _record(self, node: str, by: str, params: JsonValue) -> Ack:
        self.done.append((node, by, params))
        return Ack()

    async def _refuse(self, _: JsonValue) -> Ack:
        raise RpcError(FAILED, "it stays paused")

    async def _validate(self, params: JsonValue) -> Ack:
        AgentName.model_validate({"agentId": params})
        return Ack()


class Entry:
    """The node that an operator asks; ``placement`` is its own, ``there`` that of the other."""

    def __init__(self, store: Store, operators: Operators, url: str) -> None:
        self.store, self.operators, self.url = store, operators, url
        self.methods: dict[str, RequestHandler] = {}
        self.placement, self.there = PlacedAgents(), PlacedAgents("work")

    async def ask(self, method: str, params: JsonValue = WORK) -> Any:
        """Call a method as the command line does."""
        return await self.methods[method](params)


@asynccontextmanager
async def two_nodes(folder: Path) -> AsyncIterator[Entry]:
    """Serve the node that has the agent ``work``, and let operators ask the other one."""
    operators, token, listener = Operators(), TokenFile(folder / "api-token"), bind_port(0)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with closing(store_in(folder)) as store, time_limit():
        entry = Entry(store, operators, url)
        entry.placement.others = {"work": Node("two", url)}
        there, here = link_node(store, entry.there), link_node(store, entry.placement)
        for link in (there, here):
            await link.open()

        def build_methods_for(by: str) -> dict[str, RequestHandler]:
            return dict(there.place_methods(operators.build_methods("two", by), by))

        control = SimpleNamespace(build_methods_for=build_methods_for)
        daemon: Any = SimpleNamespace(store=store, placement=entry.there, control=control)
        route = Route(CALLS, partial(answer_node_call, daemon), methods=["POST"])
        entry.methods |= here.place_methods(operators.build_methods("one", "web:ann"), "web:ann")
        app = Guard(build_app([route], Refusal), token, is_node=there.accepts_key)
        async with serve_app(listener, app):
            yield entry
        here.close()


async def test_the_node_of_the_agent_does_it_in_the_name_of_who_asked(tmp_path: Path) -> None:
    """What concerns no agent, or one that is here, is done here."""
    async with two_nodes(tmp_path) as entry:
        assert Ack.model_validate(await entry.ask(protocol.AGENT_PAUSE)) == Ack()
        await entry.ask(protocol.RELOAD, None)
        entry.placement.change(own={"work"})
        await entry.ask(protocol.AGENT_PAUSE)
        assert entry.operators.done == [
            ("two", "web:ann", WORK),
            ("one", "web:ann", None),
            ("one", "web:ann", WORK),
        ]


async def test_what_names_no_agent_is_answered_without_the_journal(tmp_path: Path) -> None:
    """Such as the state of a daemon whose server is away."""
    async with two_nodes(tmp_path) as entry:
        entry.store.close()
        await entry.ask(protocol.RELOAD, None)
        await entry.ask(protocol.RELOAD, {"seconds": 3})
        with pytest.raises(JournalError):
            await entry.ask(protocol.AGENT_PAUSE)
        assert [node for node, _, _ in entry.operators.done] == ["one", "one"]


async def test_a_decision_is_made_at_the_node_of_its_call(tmp_path: Path) -> None:
    """The code of the question leads to it."""
    async with two_nodes(tmp_path) as entry:
        with closing(connection_in(tmp_path)) as db:
            turns.boot(db, 0)
            receive(db, update(1))
            assert next_turn(db, "t1") is not None
            (call,) = planned(db, "t1", "pay")
            with job(db):
                approvals.request_approval(db, call, "policy", "c0de", 0)
        await entry.ask(protocol.APPROVAL_DECIDE, {"code": "c0de", "granted": True})
        await entry.ask(protocol.APPROVAL_DECIDE, {"code": "c1de", "granted": True})
        assert [node for node, _, _ in entry.operators.done] == ["two", "one"]


@pytest.mark.parametrize(
    ("method", "code", "problem"),
    [
        (protocol.AGENT_RESUME, FAILED, "it stays paused"),
        (protocol.TASK_RUN, INVALID_PARAMS, "tasks/run: 1 validation error"),
    ],
)
async def test_a_refusal_of_the_other_node_is_that_of_the_request(
    tmp_path: Path, method: str, code: int, problem: str
) -> None:
    """With its code, by which commands choose how they end."""
    async with two_nodes(tmp_path) as entry:
        with pytest.raises(RpcError, match=problem) as raised:
            await entry.ask(method)
        assert raised.value.code == code


async def test_an_agent_without_a_node_is_left_alone(tmp_path: Path) -> None:
    """The operator is told what to do; no node passes on what another one passed to it."""
    async with two_nodes(tmp_path) as entry:
        entry.there.change(own=set())
        entry.there.others = {"work": Node("one", entry.url)}  # each believes that the other has it
        with pytest.raises(RpcError, match="no node works for agent 'work' now; try again"):
            await entry.ask(protocol.AGENT_PAUSE)
        for node, problem in (
            (Node("two", ""), "the node two, which cannot be reached .it names no address"),
            (Node("two", "http://127.0.0.1:9"), "set ORCHESTRATOR_NODE_URL there"),
        ):
            entry.placement.others = {"work": node}
            with pytest.raises(RpcError, match=problem):
                await entry.ask(protocol.AGENT_PAUSE)
        entry.placement.others = {}
        with pytest.raises(RpcError, match="no node works for agent"):
            await entry.ask(protocol.AGENT_PAUSE)
        assert entry.operators.done == []


async def test_what_a_node_may_have_done_is_not_called_undone(tmp_path: Path) -> None:
    """It got the request, and the connection broke before its answer."""

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with two_nodes(tmp_path) as entry:
            entry.placement.others = {"work": Node("two", f"http://127.0.0.1:{port}")}
            with pytest.raises(RpcError, match="may have done this all the same: look before"):
                await entry.ask(protocol.AGENT_PAUSE)


async def test_programs_with_the_token_are_no_nodes(tmp_path: Path) -> None:
    """They may talk to agents, and not command the daemon."""
    async with two_nodes(tmp_path) as entry, httpx.AsyncClient(trust_env=False) as client:
        right = {"authorization": f"Bearer {TokenFile(tmp_path / 'api-token').make_token()}"}
        call = {"method": protocol.AGENT_PAUSE, "params": WORK, "by": "operator"}
        refused = await client.post(entry.url + CALLS, json=call, headers=right)
        assert refused.status_code == 403
        assert entry.operators.done == []
