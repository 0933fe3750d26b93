"""`/mcp` as a plain HTTP endpoint: what no official client sends, and what it is answered."""

import json
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import anyio
import httpx
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from fakes.held_model import HeldModel, agent
from fakes.mcp_client import command, mcp_daemon
from fakes.time_limit import LIMIT, time_limit

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="api")]
NEW = "2026-07-28"
VERSION = "io.modelcontextprotocol/protocolVersion"
META = {VERSION: NEW, "io.modelcontextprotocol/clientCapabilities": {}}
NOTE = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def request(method: str, call_id: Any = 1, **params: Any) -> dict[str, Any]:
    """A request of JSON-RPC."""
    return {"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}


@dataclass
class Endpoint:
    """The address, and a client with the token."""

    url: str
    client: httpx.AsyncClient

    async def post(self, body: Any, **headers: str) -> httpx.Response:
        """The response to a body with headers, whose names have underscores here."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.post(self.url, json=body, headers=named)

    async def error(self, body: Any, **headers: str) -> tuple[int, int]:
        """The status of a refused body, and the code of its error."""
        response = await self.post(body, **headers)
        return response.status_code, response.json()["error"]["code"]


async def test_endpoint_keeps_the_protocol(tmp_path: Path) -> None:
    """Versions, batches, errors and their status, repeated requests; all as the protocol says."""
    async with HeldModel() as model:
        config: Any = {"agents": [agent("work", model)]}
        async with (
            mcp_daemon(tmp_path, config) as (daemon, url, token),
            httpx.AsyncClient(headers=token, timeout=LIMIT) as client,
        ):
            endpoint = Endpoint(url, client)
            await with_a_handshake(endpoint)
            await in_batches(endpoint)
            await without_a_handshake(endpoint)
            await repeated(endpoint, model)
            await guarded(endpoint)
            await by_command(tmp_path)
            daemon.write({**config, "channels": {"mcp": {"enabled": False}}})
            await daemon.logged("config_applied")
            off = await endpoint.post(request("tools/list"))
            assert "channels.mcp" in off.json()["error"]["message"]


async def with_a_handshake(endpoint: Endpoint) -> None:
    """A known version is taken, an unknown one answered with the newest; errors have status 200."""
    post, error = endpoint.post, endpoint.error
    for asked, told in (("2024-11-05",) * 2, ("2025-06-18",) * 2, ("1999", "2025-11-25")):
        begun = await post(request("initialize", protocolVersion=asked))
        assert begun.json()["result"]["protocolVersion"] == told
        assert begun.headers["content-type"] == "application/json"
    assert (await post(NOTE)).status_code == 202
    pong = await post(request("ping", "p"))
    assert pong.json() == {"jsonrpc": "2.0", "id": "p", "result": {}}
    assert await error(request("ping"), mcp_protocol_version="1999-01-01") == (400, -32600)
    assert await error(request("prompts/list")) == (200, -32601)
    assert await error(request("tools/list", cursor="x")) == (200, -32602)
    assert await error(request("resources/read", uri="file:///x")) == (200, -32002)
    assert await error({"id": 1}) == (400, -32600)
    assert await error(request("ping", call_id=1.5)) == (400, -32600)
    for raw, code in ((b"{", -32700), (b"[" * 5000 + b"]" * 5000, -32700), (b"7", -32600)):
        refused = await endpoint.client.post(endpoint.url, content=raw)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, code)


async def in_batches(endpoint: Endpoint) -> None:
    """Each request of a batch is answered, bad ones too; batches ended with 2025-06-18."""
    both = [request("ping", 1), NOTE, request("nothing", 2), 7]
    answers = (await endpoint.post(both)).json()
    told = sorted((a["id"] or 0, a.get("error", {}).get("code")) for a in answers)
    assert told == [(0, -32600), (1, None), (2, -32601)]
    assert (await endpoint.post([NOTE])).status_code == 202
    assert await endpoint.error([]) == (400, -32600)
    assert await endpoint.error(both, mcp_protocol_version="2025-06-18") == (400, -32600)


async def without_a_handshake(endpoint: Endpoint) -> None:
    """Headers repeat what the body says; errors have a status."""
    post, error = endpoint.post, endpoint.error
    stated = {"mcp_protocol_version": NEW, "mcp_method": "tools/list"}
    listed = (await post(request("tools/list", _meta=META), **stated)).json()["result"]
    assert (listed["resultType"], listed["cacheScope"]) == ("complete", "private")
    assert await error(request("tools/list"), **stated) == (400, -32602)
    assert await error(request("ping", _meta=META), **stated) == (400, -32020)
    ping = {**stated, "mcp_method": "ping"}
    assert await error(request("ping", _meta=META), **ping) == (404, -32601)
    later = {"mcp_protocol_version": "2030-01-01", "mcp_method": "server/discover"}
    unknown = await post(request("server/discover", _meta={**META, VERSION: "2030-01-01"}), **later)
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (400, -32022)
    assert unknown.json()["error"]["data"]["supported"] == [NEW]


async def repeated(endpoint: Endpoint, model: HeldModel) -> None:
    """A request that comes again in its session sends nothing again; other requests do."""
    begun = await endpoint.post(request("initialize", protocolVersion="2025-06-18"))
    session = begun.headers["mcp-session-id"]
    call = request("tools/call", 7, name="ask_work", arguments={"message": "once"})
    first, again = [(await endpoint.post(call, mcp_session_id=session)).json() for _ in range(2)]
    assert first == again
    assert first["result"]["structuredContent"]["text"] == "work-model: once"
    assert len(model.requests_about("once")) == 1
    await endpoint.post({**call, "id": 8}, mcp_session_id=session)
    await endpoint.post(call)
    assert len(model.requests_about("once")) == 3
    bad = await endpoint.post(request("tools/call", name="ask_work", arguments={"text": "x"}))
    assert bad.json()["result"]["isError"] is True
    assert "message: Field required" in bad.json()["result"]["content"][0]["text"]


async def guarded(endpoint: Endpoint) -> None:
    """What guards the other endpoints guards this one; there is nothing but POST."""
    assert (await endpoint.client.get(endpoint.url)).status_code == 405
    assert (await endpoint.client.delete(endpoint.url)).status_code == 405
    assert (await endpoint.post(request("ping"), authorization="Bearer x")).status_code == 401
    assert (await endpoint.post(request("ping"), origin="https://evil.example")).status_code == 403


async def by_command(home: Path) -> None:
    """On standard input the handshake decides whether batches are taken."""
    batch = [request("ping", 1), request("nothing", 2)]
    for version, told in (("2025-03-26", [(1, None), (2, -32601)]), ("2025-11-25", -32600)):
        begin = request("initialize", 0, protocolVersion=version)
        async with await anyio.open_process(command(home), stderr=DEVNULL) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            answers = BufferedByteReceiveStream(process.stdout)
            found: Any = None
            for sent in (begin, batch):
                await process.stdin.send(json.dumps(sent).encode() + b"\n")
                with time_limit():
                    found = json.loads(await answers.receive_until(b"\n", 1 << 20))
            await process.stdin.aclose()
            with time_limit():
                assert await process.wait() == 0
        if isinstance(found, list):
            assert sorted((a["id"], a.get("error", {}).get("code")) for a in found) == told
        else:
            assert found["error"]["code"] == told
