"""Pages of other parts, on the port of the endpoints."""

from pathlib import Path
from typing import cast

import httpx
from fakes.node_links import lone_node
from fakes.tool_call import plain
from starlette.requests import Request
from starlette.responses import Response

from orchestrator.control.operations import DaemonOperations
from orchestrator.errors import JournalError
from orchestrator.extension import Route
from orchestrator.extensions.http_api.api_channel import ApiChannel
from orchestrator.extensions.http_api.endpoints import Endpoints
from orchestrator.extensions.http_api.token import TokenFile

NOTHING = cast("DaemonOperations", None)  # no page asks the daemon


async def fine(_: Request) -> Response:
    """A page."""
    return Response("fine", media_type="text/plain; version=1")


async def broken(_: Request) -> Response:
    """A page of a journal that cannot be read."""
    raise JournalError("the journal cannot be read")


async def test_page_of_another_part_is_for_those_with_the_token(tmp_path: Path) -> None:
    """It is read alone; one that has nothing to show says why."""
    token = TokenFile(tmp_path / "api-token")
    right = {"authorization": f"Bearer {token.make_token()}"}
    added = (Route("/fine", fine), Route("/broken", broken))
    app = Endpoints(NOTHING, cast("ApiChannel", None), plain, lone_node(), added).build_application(
        token
    )
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        assert (await client.get("/fine")).status_code == 401
        found = await client.get("/fine", headers=right)
        assert (found.status_code, found.text) == (200, "fine")
        assert found.headers["content-type"] == "text/plain; version=1; charset=utf-8"
        assert (await client.post("/fine", headers=right)).status_code == 405
        failed = await client.get("/broken", headers=right)
        assert failed.status_code == 503
        assert failed.json()["error"]["message"] == "the journal cannot be read"
