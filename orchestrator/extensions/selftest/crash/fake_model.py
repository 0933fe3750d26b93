"""A fake model on loopback that follows scripts: OpenAI's chat completions, whole or streamed."""

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from anyio.abc import SocketStream

from orchestrator.extensions.selftest.crash.ledger import Ledger
from orchestrator.extensions.selftest.crash.scenario import AGENTS, HANDOVER, Scenario, Script
from orchestrator.testing.loopback import (
    ForeignJson,
    LoopbackServer,
    build_response,
)

STREAM = (  # how a streamed answer begins
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)
SUMMARY = Script("summary", 0)  # requested by the daemon for a long conversation
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


@dataclass(eq=False)
class ScriptedModel(LoopbackServer):
    """``async with ScriptedModel(…) as model`` serves at ``model.url``.

    ``on_request`` is called with the script's name before each request is answered; ``pause`` is
    awaited between the first piece of a streamed answer and the rest.
    """

    scenario: Scenario
    ledger: Ledger
    on_request: Callable[[str], None]
    pause: Callable[[Script], Awaitable[None]]

    async def _send_response(self, stream: SocketStream, path: str, body: ForeignJson) -> None:
        if not path.endswith("/chat/completions"):  # a question about the window
            await stream.send(build_response(404, b"{}"))
            return
        messages: list[ForeignJson] = body["messages"]
        for problem in check_transcript(messages):
            self.ledger.append("broken", problem)
        last = max(i for i, message in enumerate(messages) if message["role"] == "user")
        asked = self.scenario.get(str(messages[last]["content"]).strip())
        script = asked or SUMMARY
        step = sum(message["role"] == "assistant" for message in messages[last:])
        if asked is not None:
            self.ledger.append("asked", script.name, step)
            self.on_request(script.name)
        offered = [tool["function"]["name"] for tool in body.get("tools", ())]
        calls = _build_calls(script, step, time.time(), offered)
        parts = () if calls else script.split_reply()
        if body.get("stream"):
            await self._stream_answer(stream, script, parts, calls)
        else:
            message = {"role": "assistant", "content": "".join(parts) or None, "tool_calls": calls}
            choice = {"index": 0, "message": message, "finish_reason": _choose_finish_reason(calls)}
            whole = {"id": "x", "model": "scripted", "choices": [choice], "usage": USAGE}
            await stream.send(build_response(200, json.dumps(whole).encode()))

    async def _stream_answer(
        self, stream: SocketStream, script: Script, parts: Sequence[str], calls: list[ForeignJson]
    ) -> None:
        await stream.send(STREAM)
        for number, part in enumerate(parts):
            if number and script.style == "streamed":
                await self.pause(script)
            await stream.send(format_chunk({"delta": {"content": part}}))
        if calls:
            indexed = [{"index": index, **call} for index, call in enumerate(calls)]
            await stream.send(format_chunk({"delta": {"tool_calls": indexed}}))
        await stream.send(
            format_chunk({"delta": {}, "finish_reason": _choose_finish_reason(calls)})
        )
        await stream.send(format_frame("[DONE]") + b"0\r\n\r\n")


def check_transcript(messages: Sequence[ForeignJson]) -> list[str]:
    """Return the problems of a transcript: each call needs exactly one result, in order."""
    problems: list[str] = []
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls[:1]:
                problems.append(f"a result for {message['tool_call_id']} came out of order")
            open_calls = open_calls[1:]
            continue
        problems += [f"call {call} has no result" for call in open_calls]
        open_calls = [call["id"] for call in message.get("tool_calls", ())]
    return problems + [f"call {call} has no result" for call in open_calls]


def _build_calls(
    script: Script, step: int, now: float, offered: Sequence[str]
) -> list[ForeignJson]:
    if step >= len(script.steps):
        return []
    other = next((name for name in offered if name in AGENTS), HANDOVER)
    return [
        {
            "id": f"call_{script.name}_{step}_{number}",
            "type": "function",
            "function": {
                "name": other if tool == HANDOVER else tool,
                "arguments": json.dumps(script.build_arguments(step, tool, now)),
            },
        }
        for number, tool in enumerate(script.steps[step])
    ]


def _choose_finish_reason(calls: list[ForeignJson]) -> str:
    return "tool_calls" if calls else "stop"


def format_chunk(choice: ForeignJson) -> bytes:
    chunk = {"id": "x", "model": "scripted", "choices": [{"index": 0, **choice}], "usage": USAGE}
    return format_frame(json.dumps(chunk))


def format_frame(text: str) -> bytes:
    data = f"data: {text}\n\n".encode()
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"
