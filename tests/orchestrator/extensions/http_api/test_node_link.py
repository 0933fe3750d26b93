"""Requests that a node passes on to the node of their agent, over loopback."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

import anyio
import httpx
import pytest
from fakes.journal import store_in
from fakes.node_links import link_node
from fakes.placed_agents import PlacedAgents
from fakes.time_limit import time_limit
from pydantic import JsonValue
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from orchestrator.control import protocol
from orchestrator.control.protocol import Ack
from orchestrator.extensions.http_api.guard import Guard
from orchestrator.extensions.http_api.local_port import bind_port
from orchestrator.extensions.http_api.node_link import FROM_NODE, SENT_HEADERS, NodeLink
from orchestrator.extensions.http_api.token import TokenFile
from orchestrator.placement import Node
from orchestrator.web.app import build_app
from orchestrator.web.http_server import serve_app
from orchestrator.web.refusal import Refusal

TYPE = {"content-type": "application/json"}


@dataclass
class Owner:
    """The node that has the agent; it answers in two pieces, the second one when ``open`` is set.

    ``heads`` are the headers of its requests, ``left`` is set when a client is gone.
    """

    link: NodeLink
    placement: PlacedAgents
    heads: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    begun: anyio.Event = field(default_factory=anyio.Event)
    open: anyio.Event = field(default_factory=anyio.Event)
    left: anyio.Event = field(default_factory=anyio.Event)

    async def answer(self, request: Request) -> Response:
        """Answer a request that another node passed on."""
        assert request.scope[FROM_NODE]
        self.heads.append(dict(request.headers))
        self.bodies.append(await request.body())
        assert await self.link.pass_on("work", request, b"") is None
        headers = {"x-request-id": "r1", "retry-after": "3"}
        return StreamingResponse(self._stream(), 201, headers, media_type="text/event-stream")

    async def _stream(self) -> AsyncIterator[bytes]:
        self.begun.set()
        try:
            yield b"data: one\n\n"
            await self.open.wait()
            yield b"data: two\n\n"
        except BaseException:
            self.left.set()
            raise

    async def answer_silently(self, request: Request) -> Response:
        """Answer nothing until the client has left."""
        self.begun.set()
        while (await request.receive())["type"] != "http.disconnect":
            pass
        self.left.set()
        return Response()


@dataclass
class Entry:
    """The node that a client asks, the client, and the other node."""

    client: httpx.AsyncClient
    owner: Owner
    placement: PlacedAgents
    link: NodeLink
    url: str


def build_node(link: NodeLink, token: TokenFile, *routes: Route) -> ASGIApp:
    """Build the endpoints of a node."""
    return Guard(build_app(routes, Refusal), token, is_node=link.accepts_key)


@asynccontextmanager
async def two_nodes(folder: Path) -> AsyncIterator[Entry]:
    """Serve two nodes of one journal, of which the first one has no agent."""
    token = TokenFile(folder / "api-token")
    right = {"authorization": f"Bearer {token.make_token()}", **TYPE}
    with closing(store_in(folder)) as store, time_limit():
        placement = PlacedAgents("work")
        owner = Owner(link_node(store, placement), placement)
        await owner.link.open()
        routes = [
            Route("/stream", owner.answer, methods=["POST"]),
            Route("/silent", owner.answer_silently, methods=["POST"]),
        ]
        listener = bind_port(0)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with serve_app(listener, build_node(owner.link, token, *routes)):
            here = PlacedAgents(others={"work": Node("two", url)})
            link = link_node(store, here)
            await link.open()

            async def pass_on(request: Request) -> ASGIApp:
                passed = await link.pass_on("work", request, await request.body())
                return PlainTextResponse("here") if passed is None else passed

            own = [Route(path, pass_on, methods=["POST"]) for path in ("/stream", "/silent")]
            first = bind_port(0)
            base = f"http://127.0.0.1:{first.getsockname()[1]}"
            async with (
                serve_app(first, build_node(link, token, *own)),
                httpx.AsyncClient(base_url=base, headers=right, trust_env=False) as client,
            ):
                yield Entry(client, owner, here, link, url)
            link.close()


async def test_the_node_of_the_agent_answers_and_the_client_gets_it_as_it_comes(
    tmp_path: Path,
) -> None:
    """With what its headers say of the answer; the client's own token stays at the first node."""
    async with two_nodes(tmp_path) as entry:
        key = {"idempotency-key": "k1", "cookie": "a=b"}
        async with entry.client.stream("POST", "/stream", content=b"{}", headers=key) as answer:
            pieces = answer.aiter_text()
            assert await anext(pieces) == "data: one\n\n"
            entry.owner.open.set()
            assert await anext(pieces) == "data: two\n\n"
        assert answer.status_code == 201
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert (answer.headers["x-request-id"], answer.headers["retry-after"]) == ("r1", "3")
        (head,), (body,) = entry.owner.heads, entry.owner.bodies
        assert (body, head["idempotency-key"]) == (b"{}", "k1")
        assert "orc_" not in head["authorization"]
        own = {"host", "connection", "authorization", "content-length", "accept-encoding"}
        assert head.keys() <= {*SENT_HEADERS, *own}


@pytest.mark.parametrize("path", ["/stream", "/silent"])
async def test_a_client_that_leaves_is_gone_for_both_nodes(tmp_path: Path, path: str) -> None:
    """Before the answer has begun, and in the middle of it."""
    async with two_nodes(tmp_path) as entry, anyio.create_task_group() as tasks:

        async def ask() -> None:
            async with entry.client.stream("POST", path, content=b"{}") as answer:
                await answer.aread()

        tasks.start_soon(ask)
        await entry.owner.begun.wait()
        tasks.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await entry.owner.left.wait()


async def test_a_request_whose_agent_moves_is_to_be_repeated(tmp_path: Path) -> None:
    """The node that had it may never answer; one that answers already is cut off."""
    async with two_nodes(tmp_path) as entry, anyio.create_task_group() as tasks:

        async def move_when_begun() -> None:
            await entry.owner.begun.wait()
            entry.placement.others = {}
            entry.placement.change()

        tasks.start_soon(move_when_begun)
        answer = await entry.client.post("/silent", content=b"{}")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert "Idempotency-Key" in answer.json()["error"]["message"]
        entry.owner.begun = anyio.Event()
        entry.placement.others = {"work": Node("two", entry.url)}
        tasks.start_soon(move_when_begun)
        with pytest.raises(httpx.RemoteProtocolError):
            await entry.client.post("/stream", content=b"{}")


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:9"])
async def test_a_node_answers_itself_where_the_other_one_cannot_be_reached(
    tmp_path: Path, url: str
) -> None:
    """The request is stored for the other one; nothing was sent to it that would be repeated."""
    async with two_nodes(tmp_path) as entry:
        entry.placement.others = {"work": Node("two", url)}
        assert (await entry.client.post("/stream", content=b"{}")).text == "here"
        entry.placement.change(own={"work"})
        assert (await entry.client.post("/stream", content=b"{}")).text == "here"


async def test_only_the_key_of_the_journal_is_that_of_a_node(tmp_path: Path) -> None:
    """A daemon that has its journal for itself, or names no address, knows no other node."""
    async with two_nodes(tmp_path) as entry:
        key = "6b" * 32
        assert entry.link.accepts_key(f"Bearer {key}")
        assert not entry.link.accepts_key(f"Bearer {key[:-1]}0")
        assert not entry.link.accepts_key(key)
        wrong = {"authorization": "Bearer no"}
        refused = await entry.client.post("/stream", headers=wrong)
        assert refused.status_code == HTTPStatus.UNAUTHORIZED
        for shared, url in ((False, "http://one"), (True, "")):
            alone = link_node(
                entry.owner.link._daemon.store, PlacedAgents(), shared=shared, url=url
            )
            await alone.open()
            assert not alone.accepts_key(f"Bearer {key}")
            assert not alone.accepts_key("Bearer ")


async def test_a_stranger_makes_the_journal_store_nothing(tmp_path: Path) -> None:
    """Its token is compared with a key that the node has read at its start."""
    with closing(store_in(tmp_path)) as store:
        link = link_node(store, PlacedAgents())
        await link.open()
        store.close()
        assert not link.accepts_key("Bearer no")


async def test_a_daemon_without_other_nodes_answers_operators_by_itself(tmp_path: Path) -> None:
    """It passes nothing on."""
    with closing(store_in(tmp_path)) as store:
        alone = link_node(store, PlacedAgents(), shared=False)
        methods = {protocol.AGENT_PAUSE: _acknowledge}
        assert alone.place_methods(methods, "operator") is methods


async def _acknowledge(_: JsonValue) -> Ack:
    return Ack()
