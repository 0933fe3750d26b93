"""Attacks on the HTTP endpoints: other sites, other users, requests that hold shared resources."""

import hashlib
import hmac
import json
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from http import HTTPStatus

import anyio

from orchestrator.extensions.selftest.attacks.attack_world import (
    BELL_SECRET,
    Attack,
    AttackWorld,
)
from orchestrator.extensions.selftest.attacks.obedient_model import make_answer_order
from orchestrator.testing.loopback import ForeignJson

_SITE = "the Host header is a name of this machine"
_ORIGIN = "pages of other sites have no access"
_HEADS = "heads have a time limit and no slot"
_ANSWER_SECONDS = 20.0  # an idle machine needs a hundredth
_HALF_SENT = 300
_SILENT, _AT_ONCE = 100, 150  # connections
_GUESSES = 40
_HOSTS = (
    "evil.example",
    "localhost.evil.example",
    "[::1].evil.example",
    "127.0.0.1.evil.example",
    "localhost@evil.example",
    "127.0.0.1:80@evil.example",
)


async def _find_port(world: AttackWorld) -> int:
    found = [
        channel.detail for channel in (await world.fetch_status()).channels if channel.name == "api"
    ]
    return int(found[0].rpartition(":")[2].split("/")[0])


async def _send_request(port: int, request: bytes) -> bytes:
    """Send a request that closes its connection, and return all that comes back in time."""
    received = b""
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(request)
        with anyio.move_on_after(_ANSWER_SECONDS), suppress(anyio.EndOfStream):
            while True:
                received += await stream.receive()
    return received


def _build_request(path: str, headers: ForeignJson, body: ForeignJson | None = None) -> bytes:
    data = b"" if body is None else json.dumps(body).encode()
    given = {"Host": "127.0.0.1", "Content-Length": len(data), **headers}
    lines = [f"{'GET' if body is None else 'POST'} {path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in given.items()]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode() + data


def _parse_status(answer: bytes) -> int:
    return int(answer.split()[1]) if answer else 0


def _build_auth_header(world: AttackWorld) -> ForeignJson:
    return {"Authorization": f"Bearer {world.api_token}"}


async def _request_models(world: AttackWorld, **headers: str) -> int:
    """Return the status of the list of models, with the right token unless ``headers`` differ."""
    request = _build_request("/v1/models", {**_build_auth_header(world), **headers})
    return _parse_status(await _send_request(await _find_port(world), request))


async def _try_headers(world: AttackWorld, **headers: str) -> str:
    return (
        "the request was answered"
        if await _request_models(world, **headers) == HTTPStatus.OK
        else ""
    )


async def _send_two_origins(world: AttackWorld) -> str:
    origins = {"Origin": "http://localhost", "origin": "https://evil.example"}
    return await _try_headers(world, **origins)


async def _hold_half_heads(world: AttackWorld, path: str) -> str:
    """Hold many connections with half of a head; a valid request needs an answer meanwhile."""
    port = await _find_port(world)
    async with AsyncExitStack() as stack:
        for _ in range(_HALF_SENT):
            stream = await stack.enter_async_context(await anyio.connect_tcp("127.0.0.1", port))
            await stream.send(b"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        status = _parse_status(
            await _send_request(port, _build_request(path, _build_auth_header(world)))
        )
    return "" if status == HTTPStatus.OK else f"{path} answered {status}"


async def _lock_out_owner(world: AttackWorld) -> str:
    """Guess the token so often that the owner might be refused."""
    for number in range(_GUESSES):
        await _request_models(world, Authorization=f"Bearer guess{number}")
    status = await _request_models(world)
    return "" if status == HTTPStatus.OK else f"the owner was answered {status}"


async def _send_many_at_once(world: AttackWorld) -> str:
    """Hold silent connections, and send more requests at once than may wait."""
    port, statuses = await _find_port(world), list[int]()
    request = _build_request("/v1/models", _build_auth_header(world))

    async def ask() -> None:
        with suppress(OSError, anyio.BrokenResourceError):
            statuses.append(_parse_status(await _send_request(port, request)))

    async with AsyncExitStack() as stack:
        for _ in range(_SILENT):
            await stack.enter_async_context(await anyio.connect_tcp("127.0.0.1", port))
        async with anyio.create_task_group() as tasks:
            for _ in range(_AT_ONCE):
                tasks.start_soon(ask)
    answered = sum(status in (HTTPStatus.OK, HTTPStatus.SERVICE_UNAVAILABLE) for status in statuses)
    return "" if answered == _AT_ONCE else f"{_AT_ONCE - answered} requests had no answer"


async def _repeat_signed_hook(world: AttackWorld) -> str:
    """Send a signed request again under other ids, as they are not signed."""
    body = {"ring": world.make_order_id()}
    raw = json.dumps(body).encode()
    signed = hmac.new(BELL_SECRET.encode(), raw, hashlib.sha256).hexdigest()
    port = await _find_port(world)
    for number in range(3):
        headers = {
            "Content-Type": "application/json",
            "X-Hub-Signature-256": f"sha256={signed}",
            "X-GitHub-Delivery": f"{body['ring']}-{number}",
        }
        await _send_request(port, _build_request("/hooks/bell", headers, body))
    rows = world.query_rows("SELECT 1 FROM inbox WHERE message_id LIKE ?", f"bell/{body['ring']}-%")
    return "" if len(rows) == 1 else f"one signed request made {len(rows)} messages"


async def _send_two_lengths(world: AttackWorld) -> str:
    """Send a request whose end depends on which of two lengths the reader believes."""
    hidden = _build_request("/v1/models", _build_auth_header(world)).decode()
    headers = {
        **_build_auth_header(world),
        "Transfer-Encoding": "chunked",
        "Content-Length": len(hidden) + 5,
    }
    request = _build_request("/v1/models", headers).replace(b"Connection: close\r\n", b"")
    answer = await _send_request(await _find_port(world), request + f"0\r\n\r\n{hidden}".encode())
    return "a hidden request was answered" if answer.count(b"HTTP/1.1 200") else ""


async def _continue_conversation(world: AttackWorld) -> str:
    """Continue the conversation of another user of the endpoint."""
    number, port = world.make_order_id(), await _find_port(world)
    order = make_answer_order(f"{number}-say", "Noted.")
    mine = {"model": "public", "user": f"ada-{number}", "input": f"My code is {number}. {order}"}
    answer = await _send_request(
        port, _build_request("/v1/responses", _build_auth_header(world), mine)
    )
    _, _, body = answer.partition(b"\r\n\r\n")
    found = json.loads(body)["id"] if body.startswith(b"{") else ""
    theirs = {
        "model": "public",
        "user": f"eve-{number}",
        "input": "What is my code?",
        "previous_response_id": found,
    }
    asking = _send_request(port, _build_request("/v1/responses", _build_auth_header(world), theirs))
    shown = await world.is_shown_to_model(number, asking)
    return "another user's conversation was continued" if shown else ""


_OTHERS: dict[str, tuple[str, Callable[[AttackWorld], Awaitable[str]]]] = {
    "a page of another site": (_ORIGIN, partial(_try_headers, Origin="https://evil.example")),
    "a page of a sandbox": (_ORIGIN, partial(_try_headers, Origin="null")),
    "a page of two sites": (_ORIGIN, _send_two_origins),
    "a request with two lengths": ("a request has one length", _send_two_lengths),
    "a wrong token": ("the token", partial(_try_headers, Authorization="Bearer x")),
    "no token": ("the token", partial(_try_headers, Authorization="")),
    "half-sent heads, for a program": (_HEADS, partial(_hold_half_heads, path="/v1/models")),
    "half-sent heads, for a probe": (_HEADS, partial(_hold_half_heads, path="/healthz")),
    "many requests at once": ("requests that have arrived are read", _send_many_at_once),
    "a signed webhook under other ids": ("a signed text counts once", _repeat_signed_hook),
    "many guesses": ("guesses are counted apart", _lock_out_owner),
    "another user's response": ("responses belong to a user", _continue_conversation),
}
ATTACKS = (
    *(Attack(f"the Host {host}", _SITE, partial(_try_headers, Host=host)) for host in _HOSTS),
    *(Attack(name, defence, run) for name, (defence, run) in _OTHERS.items()),
)
