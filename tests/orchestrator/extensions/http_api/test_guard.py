"""Programs are admitted or refused by the head of a request."""

from functools import partial
from pathlib import Path

import anyio
import httpx
import pytest
from fakes.time_limit import time_limit
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from orchestrator.extension import Route
from orchestrator.extensions.http_api.guard import AllowedOrigins, Guard
from orchestrator.extensions.http_api.token import TokenFile
from orchestrator.web.request_limits import FAILURES, WINDOW


@pytest.fixture
def token(tmp_path: Path) -> TokenFile:
    """Where the token would be."""
    return TokenFile(tmp_path / "api-token")


def client(guard: Guard) -> httpx.AsyncClient:
    """A client of an application behind the guard."""
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app=guard), base_url="http://127.0.0.1:8484"
    )


async def test_many_wrong_tokens_close_the_door_to_others_alone(token: TokenFile) -> None:
    """The holder of the token is always served; others are refused for a while."""
    right = {"authorization": f"Bearer {token.make_token()}"}
    wrong = {"authorization": "Bearer orc_wrong"}
    now = 0.0
    guard = Guard(PlainTextResponse("in"), token, lambda: now)
    async with client(guard) as program:
        for _ in range(FAILURES):
            assert (await program.get("/v1/models", headers=wrong)).status_code == 401
        refused = await program.get("/v1/models", headers=wrong)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")
        assert (await program.get("/v1/models", headers=right)).text == "in"
        now = WINDOW
        assert (await program.get("/v1/models", headers=wrong)).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "localhost"}, 200),
        ({"host": "[::1]:8484"}, 200),
        ({"host": "[::1]"}, 200),
        ({"host": "LocalHost:1"}, 200),
        ({"host": "[::1].evil.example"}, 403),
        ({"host": "[::1].evil.example:80"}, 403),
        ({"host": "[::1]@evil.example"}, 403),
        ({"host": "user@localhost"}, 403),
        ({"host": "localhost."}, 403),
        ({"host": "localhost:"}, 403),
        ({"host": "localhost:80@evil.example"}, 403),
        ({"host": "localhost:80:80"}, 403),
        ({"host": "127.0.0.1.evil.example"}, 403),
        ({"host": "::1"}, 403),
        ({"host": "localhost/evil.example"}, 403),
        ({"origin": "http://[::1].evil.example"}, 403),
        ({"origin": "http://localhost.evil.example"}, 403),
        ({"origin": "http://localhost@evil.example"}, 403),
        ({"origin": "evil://localhost"}, 403),
        ({"host": "localhost.evil.example"}, 403),
        ({"host": "127.0.0.1@evil.example"}, 403),
        ({"host": "[::"}, 403),
        ({"host": ""}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost", "Origin": "https://evil.example"}, 403),
        ({"transfer-encoding": "chunked", "content-length": "5"}, 400),
        ({"origin": "http://127.0.0.1:3000"}, 200),
        ({"authorization": "Basic abc"}, 401),
        ({"authorization": "Bearer "}, 401),
    ],
)
async def test_names_and_schemes_are_compared_whole(
    token: TokenFile, headers: dict[str, str], status: int
) -> None:
    """A rebound name arrives as Host; a page of another site arrives with its Origin."""
    right = {"authorization": f"Bearer {token.make_token()}"}
    async with client(Guard(PlainTextResponse("in"), token)) as program:
        answer = await program.get("/v1/models", headers=right | headers)
    assert answer.status_code == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "host.docker.internal:8484"}, 200),
        ({"host": "HOST.docker.internal"}, 200),
        ({"host": "192.168.1.5:8484"}, 200),
        ({"host": "host.docker.internal.evil.example"}, 403),
        ({"host": "host.docker.internal:80@evil.example"}, 403),
        ({"host": "evil.example"}, 403),
        ({"host": "192.168.1.5", "origin": "https://chat.example"}, 200),
        ({"origin": "https://chat.example.evil"}, 403),
        ({"origin": "http://chat.example"}, 403),
        ({"origin": "http://192.168.1.5"}, 403),
    ],
)
async def test_named_hosts_and_sites_are_let_in_beside_this_machine(
    token: TokenFile, headers: dict[str, str], status: int
) -> None:
    """Whole names and whole origins; a name is not a site."""
    doors = AllowedOrigins(("host.docker.internal", "192.168.1.5"), ("https://chat.example",))
    right = {"authorization": f"Bearer {token.make_token()}"}
    async with client(Guard(PlainTextResponse("in"), token, doors=doors)) as program:
        answer = await program.get("/v1/models", headers=right | headers)
    assert answer.status_code == status


async def test_token_may_come_as_anthropics_clients_send_it(token: TokenFile) -> None:
    """By itself; a wrong Authorization is wrong whatever stands beside it."""
    right = token.make_token()
    async with client(Guard(PlainTextResponse("in"), token)) as program:
        for headers, status in (
            ({"x-api-key": right}, 200),
            ({"x-api-key": "orc_wrong"}, 401),
            ({"x-api-key": right, "authorization": "Bearer orc_wrong"}, 401),
        ):
            assert (await program.get("/v1/models", headers=headers)).status_code == status


async def test_refused_request_ends_its_connection(token: TokenFile) -> None:
    """Its body is not waited for."""
    async with client(Guard(PlainTextResponse("in"), token)) as program:
        answer = await program.post("/v1/models", content=b"x")
    assert (answer.status_code, answer.headers["connection"]) == (401, "close")


async def test_requests_with_the_token_take_places_of_their_own(
    token: TokenFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Further ones are told to come again; probes and strangers are answered all the same."""
    monkeypatch.setattr("orchestrator.extensions.http_api.guard.MAX_REQUESTS", 1)
    right = {"authorization": f"Bearer {token.make_token()}"}
    held, go = anyio.Event(), anyio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/slow":
            held.set()
            await go.wait()
        await PlainTextResponse("in")(scope, receive, send)

    with time_limit():
        async with client(Guard(slow, token)) as program, anyio.create_task_group() as tasks:
            tasks.start_soon(partial(program.get, "/slow", headers=right))
            await held.wait()
            busy = await program.get("/v1/models", headers=right)
            assert (busy.status_code, busy.headers["retry-after"]) == (503, "1")
            assert (await program.get("/healthz")).status_code == 200
            assert (await program.get("/v1/models")).status_code == 401
            go.set()
        async with client(Guard(slow, token)) as program:
            assert (await program.get("/v1/models", headers=right)).status_code == 200


async def refuse_all(_: Request) -> Response:
    """The guard looks at no more of a route than its path."""
    raise AssertionError


async def test_telegram_needs_no_token_and_no_place_of_webhooks(token: TokenFile) -> None:
    """Strangers can keep those with slow bodies; a rebound name is refused all the same."""
    hooks = Route("/hooks/{name}", refuse_all, own_check=True, slots=0)
    telegram = Route("/telegram", refuse_all, own_check=True)
    guard = Guard(PlainTextResponse("in"), token, routes=(hooks, telegram))
    async with client(guard) as program:
        assert (await program.post("/hooks/gh")).status_code == 503
        assert (await program.post("/telegram")).text == "in"
        assert (await program.post("/telegram/x")).status_code == 401
        rebound = {"host": "evil.example"}
        assert (await program.post("/telegram", headers=rebound)).status_code == 403


async def test_probes_are_bounded_without_a_token(
    token: TokenFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They cost little, but anybody may send them."""
    monkeypatch.setattr("orchestrator.extensions.http_api.guard.MAX_PROBES", 0)
    right = {"authorization": f"Bearer {token.make_token()}"}
    async with client(Guard(PlainTextResponse("in"), token)) as program:
        assert (await program.get("/healthz")).status_code == 503
        assert (await program.get("/v1/models", headers=right)).status_code == 200


def test_new_token_counts_at_once_and_the_old_one_no_more(token: TokenFile) -> None:
    """However often the file was looked at before."""
    given = token.make_token()
    assert token.accepts_token(given)
    assert token.is_unchanged()
    other = token.make_token()
    assert not token.is_unchanged()
    assert token.accepts_token(other)
    assert not token.accepts_token(given)


async def test_without_a_token_every_request_is_refused(token: TokenFile) -> None:
    """A revoked token is invalid at once, and a digest is never a token."""
    given = token.make_token()
    digest = token.load_digest()
    assert token.path.stat().st_mode & 0o777 == 0o600
    assert not token.accepts_token(str(digest))
    assert token.revoke_token()
    assert not token.revoke_token()
    assert not token.accepts_token(given)
    assert not token.accepts_token("")
