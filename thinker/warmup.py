"""One turn through everything that turns need, so that all of it is loaded before a worker forks.

The real wire, loop and HTTP client run against a model on loopback that says what is written
here. Only importing the modules leaves much to the first turn: what they import late, caches, the
certificates (reference/performance.md).
"""

import asyncio

# What looking up a host's name loads; the look-up itself would leave a thread.
import encodings.idna  # noqa: F401 - as above
import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import anyio
import structlog
from pydantic import JsonValue

from thinker import startup
from thinker.http.client import tls_context
from thinker.protocol import logs, methods
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import ToolResult, ToolSpec, UserMessage
from thinker.protocol.methods import (
    ChatRef,
    StepCommit,
    StepCommitted,
    StopReason,
    ToolCallParams,
    TurnResult,
    TurnRun,
)
from thinker.protocol.peer import connected
from thinker.terminal import StandaloneHost

SECONDS = 10.0  # for all of it, on a busy machine
TOOL = "rehearse"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n"
EVENT = b'data: {"id":"1","model":"m","choices":[{"index":0,"delta":%b,"finish_reason":"%b"}]}\n\n'
CALL = b'{"tool_calls":[{"index":0,"id":"1","function":{"name":"%b","arguments":"{}"}}]}'
ANSWERS = ((CALL % TOOL.encode(), b"tool_calls"), (b'{"content":"done"}', b"stop"))
log = structlog.get_logger()


async def rehearse() -> None:
    """Run a turn with one tool call; without loopback there is none, and workers start colder."""
    tls_context()  # which nobody needs to reach loopback
    try:
        listener = socket.create_server(("127.0.0.1", 0))
    except OSError as error:
        log.error("no_rehearsal", problem=str(error))
        return
    with anyio.move_on_after(SECONDS):
        model = partial(_serve_model, iter(ANSWERS))
        async with await asyncio.start_server(model, sock=listener):
            result = await _turn(listener.getsockname()[1])
        if result.stop_reason is not StopReason.DONE:
            log.error("rehearsal_failed", problem=result.error)


def rehearse_start() -> None:
    """Make an agent, as a worker does when it starts; nothing is opened for it."""
    told = _told("http://127.0.0.1/v1")
    settings = ThinkerSettings.read(told)
    logs.configure(settings.log_level)
    startup.made(settings, told)


def _told(url: str) -> dict[str, str]:
    """What a worker is told for a rehearsal."""
    return {
        **os.environ,
        "THINKER_LLM_PROVIDER": "openai",
        "THINKER_BASE_URL": url,
        "THINKER_MODEL": "rehearsal",
        "THINKER_LOG_LEVEL": "error",  # the rehearsal is nobody's turn
    }


async def _turn(port: int) -> TurnResult:
    """A worker and its supervisor in one process."""
    host = StandaloneHost()

    async def commit(params: JsonValue) -> StepCommitted:
        return await host.commit(StepCommit.model_validate(params))

    async def call_tool(params: JsonValue) -> ToolResult:
        return await host.call_tool(ToolCallParams.model_validate(params).seq)

    now = time.time()
    turn = TurnRun(
        turn_id="rehearsal",
        chat=ChatRef(channel="none", chat_id="none"),
        messages=(UserMessage(content="rehearse"),),
        tools=(ToolSpec(name=TOOL, description="", parameters={"type": "object"}),),
        stream=True,
        started_at=now,
        deadline=now + SECONDS,
    )
    ours, theirs = socket.socketpair()
    told = {**_told(f"http://127.0.0.1:{port}/v1"), "THINKER_PEER_FD": str(theirs.detach())}
    asked = {methods.STEP_COMMIT: commit, methods.TOOL_CALL: call_tool}
    heard = dict.fromkeys((methods.READY, methods.TURN_DELTA), lambda _: None)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(startup.serve, ThinkerSettings.read(told), told)
        async with connected(ours, asked, heard) as peer:
            result = await peer.call(methods.TURN_RUN, turn, TurnResult, timeout=SECONDS)
    return result


async def _serve_model(
    answers: Iterator[tuple[bytes, bytes]],
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    """One connection of the model: it calls the tool, then it is done."""
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
            await reader.readexactly(int(length))
            events = EVENT % next(answers) + b"data: [DONE]\n\n"
            writer.write(HEAD % len(events) + events)
    writer.close()
