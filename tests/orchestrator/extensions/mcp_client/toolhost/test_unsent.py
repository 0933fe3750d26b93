"""Servers that list odd tools or forget their sessions are used all the same."""

import json
import os
import sys
from pathlib import Path

import anyio
import pytest
from fakes.forgetful_mcp_server import NOT_FOUND, serve
from fakes.mcp_config import record
from fakes.time_limit import LIMIT
from fakes.watched_mcp_server import ODD_SERVER, odd, program, refused, watched
from pydantic import JsonValue

from orchestrator.extensions.mcp_client.toolhost import session
from orchestrator.extensions.mcp_client.toolhost.wire import LOST, NOT_SENT, ServerSpec
from thinker.protocol.messages import JsonObject

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a server take as long to start as a starved machine needs."""
    monkeypatch.setattr(session, "CONNECT_TIMEOUT", LIMIT)
    monkeypatch.setattr(session, "CONNECT_WAIT", LIMIT)


MANY = """
from mcp.server import MCPServer
server = MCPServer("fake")
for number in range(501):
    server.add_tool(lambda: "", name=f"tool{number}")
server.run()
"""
DEEP = """
from functools import reduce
from typing import Annotated
from mcp.server import MCPServer
from pydantic import Field
server = MCPServer("fake")
nested = reduce(lambda inner, _: {"a": inner}, range(70), {})
@server.tool()
def look(text: Annotated[str, Field(json_schema_extra=nested)]) -> str:
    return text
server.run()
"""


WIDE = """
from typing import Annotated
from mcp.server import MCPServer
from pydantic import Field
server = MCPServer("fake")
@server.tool()
def look(text: Annotated[str, Field(json_schema_extra={"examples": [[]] * 30_000})]) -> str:
    return text
server.run()
"""
ODD: list[JsonValue] = [
    {"name": "good", "inputSchema": {"type": "object"}},
    {"name": "empty", "inputSchema": {}},
    {"name": "notype", "inputSchema": {"properties": {"a": {"type": "string"}}}},
    {"name": "nullschema", "inputSchema": None},
    {"name": "noschema"},
    {"name": "text", "inputSchema": "any"},
    {"name": "good"},
]
LOOP: JsonObject = {"tools": [{"name": "z"}], "nextCursor": "a"}
# The first process answers the list, and then closes its input without ending.
CLOSES_FIRST = """
import os, pathlib, runpy, signal, sys
flag = pathlib.Path({flag!r} + ".first")
if flag.exists():
    sys.argv[0] = "odd"
    runpy.run_path({server!r}, run_name="__main__")
flag.touch()
mod = runpy.run_path({server!r})
import json
for line in iter(sys.stdin.readline, ""):
    message = json.loads(line)
    if "id" in message:
        found = mod["answer"](message, json.loads(sys.argv[1]))
        print(json.dumps({{"jsonrpc": "2.0", "id": message["id"], **found}}), flush=True)
    if message["method"] == "tools/list" and message.get("params", {{}}).get("cursor"):
        break
os.close(0)
pathlib.Path({flag!r}).write_text("")  # a named pipe: waits for its reader
signal.pause()
"""


@pytest.mark.parametrize(
    ("spec", "tools", "note"),
    [
        (program(MANY), 500, "and those after it are left out: more than 500 tools"),
        (program(WIDE), 0, "is left out: with it, the list has more than 4194304 bytes, or 30000"),
        (program(DEEP), 0, "the tool 'look' is left out: it takes more than 64 levels of JSON"),
        (odd({"pages": {"": {"tools": ODD}}}), 5, "the tool 'text' is left out: its inputSchema"),
        (
            odd({"pages": {"": {"tools": ODD, "nextCursor": "a"}, "a": LOOP}}),
            6,
            "the end of its list is left out: its pages repeat or do not end",
        ),
        (odd({"error": {"code": -32601, "message": "Method not found"}}), 0, ""),
        (odd({"capabilities": {}, "error": {"code": -32601, "message": "no"}}), 0, ""),
        (odd({"capabilities": {}, "pages": {"": LOOP, "a": LOOP}}), 1, ""),
        (odd({"capabilities": {}, "silent": True}), 0, ""),
    ],
)
async def test_server_with_an_odd_list_is_connected(
    spec: ServerSpec, tools: int, note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What can be offered is offered; what is left out is named."""
    monkeypatch.setattr(session, "UNDECLARED_WAIT", 0.2)
    async with watched(spec) as fake:
        state = await fake.until(lambda state: state.state != "starting")
        assert (state.state, state.error, len(state.tools)) == ("connected", "", tools)
        assert any(note in one for one in state.notes) or not note
        if tools and state.tools[0].name == "good":
            assert [(await fake.call(one.name, {})).content for one in state.tools] == [
                one.name for one in state.tools
            ]


async def test_slow_server_gets_more_time_with_each_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine may be busy, or a package large; how long it has is said, with its words."""
    monkeypatch.setattr(session, "CONNECT_TIMEOUT", 0.5)
    monkeypatch.setattr(session, "MAX_CONNECT_TIMEOUT", 1.0)
    async with watched(odd({"silent": True})) as fake:
        await fake.until(lambda state: state.error == "did not answer in 0.5 s; it now has 1 s")
        await fake.until(lambda state: state.error == "did not answer in 1 s; it now has 1 s")


REFUSALS = [
    (404, json.dumps(NOT_FOUND)),
    (404, "Not Found"),
    (400, "Bad Request: No valid session ID provided"),
    (400, '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no valid session"}}'),
]


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_call_in_a_forgotten_session_runs_once_in_a_new_one(refusal: tuple[int, str]) -> None:
    """The server has certainly not run it; calls at the same time share the new session."""
    with serve() as server:
        server.refusal = refusal
        async with watched(ServerSpec(name="fake", url=server.url)) as fake:
            assert (await fake.call("t", {})).content == "done"
            server.forget()
            async with anyio.create_task_group() as tasks:
                for _ in range(4):
                    tasks.start_soon(fake.call, "t", {})
        assert server.sessions == ["session-0", "session-1"]
        assert server.calls == ["session-0", *["session-1"] * 4]


async def test_call_is_repeated_only_once_in_a_new_session() -> None:
    """A server that refuses each session did not run it; the model reads so."""
    with serve() as server:
        server.keeps = False
        async with watched(ServerSpec(name="fake", url=server.url)) as fake:
            assert await refused(fake.call("t", {})) == NOT_SENT
        assert server.calls == []
        assert len(server.sessions) <= 3


async def test_other_errors_of_an_address_leave_a_call_unknown() -> None:
    """Only words about the session say that nothing ran."""
    with serve() as server:
        server.refusal = (500, "Internal Server Error")
        async with watched(ServerSpec(name="fake", url=server.url)) as fake:
            assert (await fake.call("t", {})).content == "done"
            server.forget()
            assert await refused(fake.call("t", {})) == LOST


async def test_call_that_a_dead_server_never_got_runs_in_its_next_process(tmp_path: Path) -> None:
    """Its pipe was closed before the call was written."""
    flag = record(tmp_path, "fake")
    flag.parent.mkdir(parents=True)
    os.mkfifo(flag)
    code = CLOSES_FIRST.format(flag=str(flag), server=str(ODD_SERVER))
    spec = ServerSpec(
        name="fake",
        command=sys.executable,
        args=("-c", code, json.dumps({"pages": {"": LOOP, "a": LOOP}})),
    )
    async with watched(spec) as fake:
        await fake.until(lambda state: state.state == "connected")
        await anyio.to_thread.run_sync(flag.read_bytes)  # until its input is closed
        assert (await fake.call("z", {})).content == "z"
