"""An agent's port: what is answered, what is refused, whatever arrives on a connection."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import Any

import anyio
import httpx
import pytest
from fakes.time_limit import time_limit
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.extensions.http_api.agent_port_endpoints import MAX_BODY, AgentPortApi, Answerer
from orchestrator.extensions.http_api.agent_port_messages import AgentPortAnswer, AgentPortMessage
from orchestrator.web.error_response import ApiProblem
from orchestrator.web.request_limits import FAILURES

MESSAGE: Any = {"id": "1", "chatId": "7", "senderId": "9", "text": "hello"}
HEAD = (
    b"POST /process-message?x=1 HTTP/1.1\r\nHost: localhost:1\r\nAuthorization: Bearer secret\r\n"
)
BODY = b'{"id": "1", "chatId": "7", "senderId": "9", "text": "hello"}'


async def echo(message: AgentPortMessage) -> AgentPortAnswer:
    """Answer with the text."""
    return AgentPortAnswer(success=True, response=message.text, total_steps=1)


async def no_answer(_: AgentPortMessage) -> None:
    """Never answer in time."""


async def refuse(_: AgentPortMessage) -> None:
    """Take no message."""
    raise ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, "the disk is full")


async def fail(_: AgentPortMessage) -> None:
    """Have a defect."""
    raise RuntimeError


async def secret() -> str:
    """The token of the clients."""
    return "secret"


def client(answer: Answerer = echo) -> httpx.AsyncClient:
    """A client of the application, without a network."""
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(
            app=AgentPortApi("work", secret, answer), raise_app_exceptions=False
        ),
        base_url="http://127.0.0.1:8006",
        headers={"authorization": "Bearer secret"},
    )


@asynccontextmanager
async def raw(answer: Answerer = echo) -> AsyncIterator[int]:
    """The number of a port that is served on loopback."""
    with time_limit():
        async with AgentPortApi("work", secret, answer).serve_on_port(0) as port:
            yield port


async def exchange(port: int, *pieces: bytes, whole: bool = True) -> bytes:
    """What comes back on a connection until its end, which the client makes if not ``whole``."""
    received = b""
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        try:
            for piece in pieces:
                await stream.send(piece)
            if not whole:
                await stream.send_eof()
            async for chunk in stream:
                received += chunk
        except (anyio.BrokenResourceError, OSError):
            pass  # the server closed the connection while something was still to be read
    return received


async def test_message_is_answered_and_health_names_the_agent() -> None:
    """Names are those of the older system; what is absent is left out."""
    async with client() as program:
        answer = await program.post("/process-message", json=MESSAGE)
        assert answer.json() == {
            "success": True,
            "response": "hello",
            "toolsUsed": [],
            "totalSteps": 1,
        }
        assert (await program.get("/health")).json() == {"status": "ok", "agentId": "work"}


@pytest.mark.parametrize(
    ("answer", "status", "error"),
    [
        (no_answer, 202, "send the same id again"),
        (refuse, 503, "the disk is full"),
        (fail, 500, "log"),
    ],
)
async def test_what_keeps_an_answer_back_is_said(answer: Answerer, status: int, error: str) -> None:
    """In the same shape as an answer."""
    async with client(answer) as program:
        response = await program.post("/process-message", json=MESSAGE)
    assert (response.status_code, response.json()["success"]) == (status, False)
    assert error in response.json()["error"]


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/health", {"authorization": "Bearer wrong"}, 401),
        ("GET", "/health", {"authorization": "bearer secret"}, 401),
        ("GET", "/other", {"authorization": ""}, 401),
        ("GET", "/health", {"host": "evil.example"}, 403),
        ("GET", "/health", {"host": "127.0.0.1@evil.example"}, 403),
        ("GET", "/health", {"host": "[::1].evil.example"}, 403),
        ("GET", "/health", {"host": "localhost."}, 403),
        ("GET", "/health", {"origin": "http://127.0.0.1:8006"}, 403),
        ("GET", "/other", {}, 404),
        ("GET", "/process-message", {}, 405),
        ("POST", "/health", {}, 405),
        ("POST", "/process-message", {}, 400),
    ],
)
async def test_other_requests_are_refused(
    method: str, path: str, headers: dict[str, str], status: int
) -> None:
    """By their headers before anything else."""
    async with client() as program:
        response = await program.request(method, path, headers=headers)
    assert (response.status_code, response.json()["success"]) == (status, False)


async def test_many_wrong_tokens_close_the_port_to_others_alone() -> None:
    """Guessing gets no further answers for a while; the holder of the token is always served."""
    wrong = {"authorization": "Bearer wrong"}
    async with client() as program:
        for _ in range(FAILURES):
            assert (await program.get("/health", headers=wrong)).status_code == 401
        assert (await program.get("/health", headers=wrong)).status_code == 429
        assert (await program.get("/health")).status_code == 200


async def test_requests_without_the_token_take_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are refused even if every place is taken by messages that wait for answers."""
    monkeypatch.setattr("orchestrator.extensions.http_api.agent_port_endpoints.MAX_REQUESTS", 1)
    held, go = anyio.Event(), anyio.Event()

    async def slow(message: AgentPortMessage) -> AgentPortAnswer:
        held.set()
        await go.wait()
        return await echo(message)

    with time_limit():
        async with client(slow) as program, anyio.create_task_group() as tasks:
            tasks.start_soon(partial(program.post, "/process-message", json=MESSAGE))
            await held.wait()
            answer = await program.get("/health", headers={"authorization": "Bearer wrong"})
            assert answer.status_code == 401
            go.set()


async def test_invalid_field_is_named() -> None:
    """By the name that the client wrote."""
    async with client() as program:
        response = await program.post("/process-message", json={**MESSAGE, "chatId": 7})
    assert response.status_code == HTTPStatus.BAD_REQUEST
    assert response.json()["error"].startswith("chatId: ")


async def test_request_is_read_in_pieces() -> None:
    """However the bytes are cut; one connection carries one request."""
    request = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
    async with raw() as port:
        for cut in (9, len(HEAD), len(request) - 3):
            received = await exchange(port, request[:cut], request[cut:] + request)
            assert received.startswith(b"HTTP/1.1 200 OK\r\n")
            assert b"\r\nconnection: close\r\n" in received
            assert received.count(b"HTTP/1.1") == received.count(b"hello") == 1


async def test_client_that_expects_to_continue_is_answered() -> None:
    """Curl waits for this before it sends a long body."""
    async with raw() as port, await anyio.connect_tcp("127.0.0.1", port) as stream:
        head = HEAD + b"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n"
        await stream.send(head % len(BODY))
        assert await stream.receive() == b"HTTP/1.1 100 Continue\r\n\r\n"
        await stream.send(BODY)
        assert (await stream.receive()).startswith(b"HTTP/1.1 200 OK\r\n")


async def test_body_without_end_is_refused() -> None:
    """Before it fills the memory."""

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(MAX_BODY // 65_536 + 2):
            yield b"x" * 65_536
        raise AssertionError

    async with client() as program:
        response = await program.post("/process-message", content=endless())
    assert response.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert not response.json()["success"]


async def test_body_that_does_not_arrive_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that stops in the middle does not keep its place."""
    monkeypatch.setattr("orchestrator.extensions.http_api.agent_port_endpoints.BODY_TIMEOUT", 0.01)
    async with raw() as port, await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(HEAD + b"Content-Length: 9\r\n\r\nhalf")
        assert (await stream.receive()).startswith(b"HTTP/1.1 408 ")


async def test_silent_connection_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after half of a request's head."""
    monkeypatch.setattr("orchestrator.web.http_server.HEAD_TIMEOUT", 0.01)
    async with raw() as port, await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(HEAD)
        with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
            await stream.receive()


async def test_closed_port_lets_waiting_clients_go() -> None:
    """They are told to send their message again; the port's number is free."""
    waiting = anyio.Event()
    responses: list[bytes] = []

    async def wait(_: AgentPortMessage) -> None:
        waiting.set()
        await anyio.sleep_forever()

    async def ask(port: int) -> None:
        head = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY)
        responses.append(await exchange(port, head + BODY))

    async with anyio.create_task_group() as tasks, raw(wait) as port:
        tasks.start_soon(ask, port)
        await waiting.wait()
    assert responses[0].startswith(b"HTTP/1.1 202 ")
    async with AgentPortApi("work", secret, echo).serve_on_port(port) as again:
        assert again == port


@settings(max_examples=5, deadline=None)
@given(st.lists(st.lists(st.binary(max_size=40), max_size=4), min_size=10, max_size=30))
async def test_any_bytes_are_answered_or_dropped(connections: list[list[bytes]]) -> None:
    """The port answers the next client all the same."""
    async with raw() as port:
        for pieces in connections:
            received = await exchange(port, *pieces, whole=False)
            assert not received or received.startswith(b"HTTP/1.1 4")
        request = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
        assert (await exchange(port, request)).startswith(b"HTTP/1.1 200 ")
