"""What the page refuses by the head of a request."""

from collections.abc import Mapping

import pytest
from httpx import ASGITransport, AsyncClient, Headers, Response
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from orchestrator.extensions.page.page_guard import HEADERS, PageGuard
from orchestrator.extensions.page.page_wire import PageEntrance

PROXIED = PageEntrance(names=("page.example",), proxied=True)
LOCAL = {"host": "localhost:8485"}
OWN = {**LOCAL, "origin": "http://localhost:8485"}
BEHIND = {"host": "page.example", "x-forwarded-proto": "https"}
METHODS = ["GET", "POST", "PUT", "DELETE"]


async def _answer(request: Request) -> PlainTextResponse:
    return PlainTextResponse(request.url.path)


async def asked(
    method: str,
    headers: Mapping[str, str] | list[tuple[str, str]],
    entrance: PageEntrance = PROXIED,
    path: str = "/a",
    peer: str = "127.0.0.1",
) -> Response:
    """The answer to a request that comes from an address."""
    app = Starlette(routes=[Route("/{rest:path}", _answer, methods=METHODS)])
    transport = ASGITransport(PageGuard(app, entrance), client=(peer, 1))
    async with AsyncClient(transport=transport, base_url="http://localhost") as client:
        request = client.build_request(method, path)
        given = headers.items() if isinstance(headers, Mapping) else headers
        request.headers = Headers(list(given))
        return await client.send(request)


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", LOCAL),
        ("GET", {"host": "orchestrator.localhost:8485"}),
        ("GET", {"host": "127.0.0.1"}),
        ("GET", {"host": "[::1]:9"}),
        ("POST", OWN),
        ("POST", {**OWN, "sec-fetch-site": "same-origin"}),
        ("POST", {**LOCAL, "origin": "null", "sec-fetch-site": "same-origin"}),
        ("GET", BEHIND),
        ("POST", {**BEHIND, "origin": "https://page.example"}),
    ],
)
async def test_own_requests_pass(method: str, headers: dict[str, str]) -> None:
    """Names of this machine, and those of agents.json behind https."""
    assert (await asked(method, headers)).status_code == 200


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", {}),
        ("GET", {"host": "evil.example"}),
        ("GET", {"host": "localhost.evil.example"}),
        ("GET", {"host": "localhost:8485@evil"}),
        ("GET", {"host": "page.example"}),
        ("GET", {**BEHIND, "x-forwarded-proto": "http"}),
        ("GET", [("host", "localhost"), ("host", "evil.example")]),
        ("GET", [*BEHIND.items(), ("x-forwarded-proto", "http")]),
        ("POST", LOCAL),
        ("POST", {**LOCAL, "origin": "null"}),
        ("POST", {**LOCAL, "origin": "null", "sec-fetch-site": "cross-site"}),
        ("POST", {**LOCAL, "origin": "http://localhost:8484"}),
        ("POST", [*OWN.items(), ("origin", "http://evil.example")]),
        ("POST", {**OWN, "sec-fetch-site": "same-site"}),
        (
            "POST",
            [*OWN.items(), ("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")],
        ),
        ("POST", {**BEHIND, "origin": "http://page.example"}),
        ("PUT", OWN),
        ("DELETE", OWN),
    ],
)
async def test_others_are_refused(
    method: str, headers: dict[str, str] | list[tuple[str, str]]
) -> None:
    """Each with a sentence, and with the headers of every answer."""
    refused = await asked(method, headers)
    assert refused.status_code in (403, 405)
    assert refused.text.count("\n") == 1
    assert HEADERS.items() <= dict(refused.headers).items()


async def test_refused_name_is_told_which_setting_allows_it() -> None:
    """A bare refusal is what people stumble over."""
    refused = await asked("GET", {"host": "box.example"})
    assert "channels.web.names" in refused.text
    plain = await asked("GET", {"host": "page.example"})
    assert "ssh -L" in plain.text


@pytest.mark.parametrize("peer", ["192.0.2.7", "2001:db8::7"])
async def test_word_of_a_proxy_elsewhere_does_not_count(peer: str) -> None:
    """Only what comes from this machine can be its proxy."""
    assert (await asked("GET", BEHIND, peer=peer)).status_code == 403
    assert (await asked("GET", BEHIND, peer="::1")).status_code == 200


@pytest.mark.parametrize("path", ["/agents/a", "/agents/", "/agents"])
async def test_page_begins_below_its_path(path: str) -> None:
    """The routes know nothing of it."""
    entrance = PageEntrance(path="/agents")
    answer = await asked("GET", LOCAL, entrance, path)
    assert answer.text == (path.removeprefix("/agents") or "/")


@pytest.mark.parametrize("path", ["/", "/a", "/agentsa", "/x/agents/a"])
async def test_what_is_not_below_the_path_is_told_where_the_page_begins(path: str) -> None:
    """As when a proxy takes the prefix away."""
    answer = await asked("GET", LOCAL, PageEntrance(path="/agents"), path)
    assert answer.status_code == 404
    assert "the page begins at /agents/" in answer.text
    assert HEADERS.items() <= dict(answer.headers).items()
