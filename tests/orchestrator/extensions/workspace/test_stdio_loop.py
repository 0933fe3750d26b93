"""The protocol of the tool servers."""

import io
import json
from typing import Any

from orchestrator.extensions.workspace.served_tool import Arguments, CallFailure, ServedTool
from orchestrator.extensions.workspace.stdio_loop import StdioLoop


def answers(*messages: object, hidden: tuple[ServedTool, ...] = ()) -> list[dict[str, Any]]:
    """What a server with the tools `echo` and `fail` answers to some lines."""

    def fail(_: Arguments) -> str:
        raise CallFailure("because")

    tools = (
        ServedTool("echo", "Echo.", {"text": "Text."}, lambda a: a.get_text("text"), ("text",)),
        ServedTool("fail", "Fail.", {}, fail),
        ServedTool("break", "Break.", {}, lambda _: str(1 // 0)),
    )
    lines = b"".join(
        (m if isinstance(m, bytes) else json.dumps(m).encode()) + b"\n" for m in messages
    )
    sink = io.BytesIO()
    StdioLoop("test", tools, hidden, source=io.BytesIO(lines), sink=sink).serve()
    found = [json.loads(line) for line in sink.getvalue().splitlines()]
    return sorted(found, key=lambda answer: int(answer["id"]))


def request(number: int, method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def test_server_introduces_itself_and_lists_its_tools() -> None:
    """In the version that the client asks for."""
    first, ping, listed, unknown = answers(
        request(1, "initialize", protocolVersion="2024-11-05"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        request(2, "ping"),
        request(3, "tools/list"),
        request(4, "resources/list"),
    )
    assert first["result"]["protocolVersion"] == "2024-11-05"
    assert ping["result"] == {}
    assert [tool["name"] for tool in listed["result"]["tools"]] == ["echo", "fail", "break"]
    assert listed["result"]["tools"][0]["inputSchema"]["required"] == ["text"]
    assert unknown["error"]["code"] == -32601


def test_failures_are_results_and_faults_end_nothing() -> None:
    """A wrong argument, a refusal, a bug, and a tool that is not there."""
    calls = [
        ("echo", {"text": "hello"}),
        ("echo", {"text": 5}),
        ("echo", {}),
        ("fail", {}),
        ("break", {}),
        ("none", {}),
    ]
    found = answers(
        *(request(n, "tools/call", name=name, arguments=a) for n, (name, a) in enumerate(calls))
    )
    texts = [answer.get("result", {}).get("content", [{}])[0].get("text") for answer in found]
    assert texts == [
        "hello",
        "text must be text; correct the call",
        "text is missing; correct the call",
        "because",
        "break failed: ZeroDivisionError: integer division or modulo by zero",
        None,
    ]
    assert [answer.get("result", {}).get("isError", False) for answer in found] == [
        *(False, True, True, True, True),
        False,
    ]
    assert found[-1]["error"]["message"] == "there is no tool 'none'"


def test_lines_that_are_no_messages_are_passed_over() -> None:
    """The next one is answered."""
    (pong,) = answers(b"{", b"[]", b'{"method": 5}', b"\xff", request(7, "ping"))
    assert pong["id"] == 7
