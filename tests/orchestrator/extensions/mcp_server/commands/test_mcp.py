"""`orchestrator mcp`: lines to the daemon and messages back."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.control_server import ask, command, serving
from pydantic import JsonValue

from orchestrator.control.protocol import Ack
from orchestrator.extensions.mcp_server.commands import mcp
from orchestrator.extensions.mcp_server.mcp_lines import MCP_LINE, MCP_OUT, McpLine, McpOutput
from thinker.protocol.peer import FAILED, RpcError

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def lines(*values: object) -> str:
    """What a client writes."""
    return "".join(f"{json.dumps(value)}\n" for value in values)


def written(stdout: str) -> list[Any]:
    """What a client reads."""
    return [json.loads(line) for line in stdout.splitlines()]


def test_each_request_is_told_that_no_daemon_runs(tmp_path: Path) -> None:
    """Notifications get no response, and a line that is no JSON none either."""
    batch = [{**PING, "id": "a"}, {**PING, "id": "b"}]
    said = lines(PING, {"jsonrpc": "2.0", "method": "note"}, batch) + "{\n\n"
    ended = command(tmp_path, "mcp", said=said)
    found = written(ended.stdout)
    assert sorted(str(answer["id"]) for answer in found) == ["1", "a", "b"]
    for answer in found:
        assert answer["error"]["code"] == -32000
        assert "start one with 'orchestrator run'" in answer["error"]["message"]
    assert ended.stderr.count("no daemon runs on") == 1
    assert ended.exit_code == 0


async def test_lines_of_a_client_share_a_session(tmp_path: Path) -> None:
    """The daemon's messages are printed as they come; a refused line becomes an error."""

    async def take(params: JsonValue) -> Ack:
        given = McpLine.model_validate(params)
        if "bad" in given.line:
            raise RpcError(FAILED, "refused")
        server.peers[-1].notify(MCP_OUT, McpOutput(message={"said": given.line}))
        return Ack()

    async with serving(tmp_path, {MCP_LINE: take}) as server:
        ended = await ask(tmp_path, "mcp", said=lines(PING, {**PING, "method": "bad"}))
        first, second = (McpLine.model_validate(given) for given in server.params(MCP_LINE))
        assert first.session == second.session
        found = written(ended.stdout)
        assert {"said": json.dumps(PING) + "\n"} in found
        error = {"code": -32000, "message": "refused"}
        assert {"jsonrpc": "2.0", "id": 1, "error": error} in found


def test_endless_line_is_refused_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes after its end is read again."""
    monkeypatch.setattr(mcp, "MAX_FRAME", 100)
    found = written(command(tmp_path, "mcp", said="x" * 950 + "\n" + lines(PING)).stdout)
    assert [answer["id"] for answer in found] == [None, 1]
    assert "a line is longer" in found[0]["error"]["message"]
