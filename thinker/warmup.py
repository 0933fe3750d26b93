"""Run one turn through the whole worker, so that everything is loaded before workers fork.

The real wire, loop and HTTP client run against a scripted model in place of the broker.
Only importing the modules would leave work to each worker's first turn: late imports, caches.
"""

import asyncio
import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from http import HTTPStatus

import anyio
import structlog
from pydantic import JsonValue

from thinker import startup
from thinker.http.broker_link import END, PIECE, REQUEST, open_broker_link, pack_frame, pack_head
from thinker.protocol import logs, methods
from thinker.protocol.env import BROKER_VARIABLE, ThinkerSettings
from thinker.protocol.messages import ToolResult, ToolSpec, UserMessage
from thinker.protocol.methods import ChatRef, TurnEnded, TurnRun
from thinker.protocol.peer import connect_peer
from thinker.terminal import StandaloneHost

ROUNDS = 12  # rehearsals: CPython specializes hot code, which writes to its pages
REHEARSAL_SECONDS = 10.0  # limit for the rehearsal, on a busy machine
TOOL = "rehearse"
STREAM = {"content-type": "text/event-stream"}
EVENT = b'data: {"id":"1","model":"m","choices":[{"index":0,"delta":%b,"finish_reason":"%b"}]}\n\n'
CALL = b'{"tool_calls":[{"index":0,"id":"1","function":{"name":"%b","arguments":"{}"}}]}'
# The tag has the marks of dialects loaded, which most answers do not need.
ANSWERS = ((CALL % TOOL.encode(), b"tool_calls"), (b'{"content":"<b>done"}', b"stop"))
log = structlog.get_logger()


@cache
def warm_up() -> None:
    """Rehearse turns and starts, once for this process and its forks."""
    for _ in range(ROUNDS):
        anyio.run(rehearse_turn)
        rehearse_start()


async def rehearse_turn() -> None:
    """Run a turn with one tool call."""
    brokers, workers = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    link = open_broker_link(workers.detach())
    with anyio.move_on_after(REHEARSAL_SECONDS), brokers:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_serve_channel, brokers)
            ended = await _run_turn(link.channel.fileno())
            link.channel.close()
        if ended.step is None:  # the turn has no answer
            log.error("rehearsal_failed", problem=ended.result and ended.result.error)
    open_broker_link.cache_clear()  # a worker has a channel of its own


def rehearse_start() -> None:
    """Build an agent as a starting worker does, without opening connections."""
    environ = _build_environment()
    settings = ThinkerSettings.read(environ)
    logs.configure_logging(settings.log_level)
    startup.build_agent(settings, environ)


def _build_environment() -> dict[str, str]:
    return {
        **os.environ,
        "THINKER_LLM_PROVIDER": "openai",
        "THINKER_BASE_URL": "http://127.0.0.1/v1",
        "THINKER_MODEL": "rehearsal",
        "THINKER_CONTEXT_TOKENS": "100000",  # or the server would be asked for them
        "THINKER_SANDBOX": "off",
        "THINKER_LOG_LEVEL": "error",  # the rehearsal is not a real turn
    }


async def _run_turn(broker: int) -> TurnEnded:
    """Run a worker and its supervisor in one process."""
    host = StandaloneHost()

    async def commit_step(params: JsonValue) -> methods.StepCommitted:
        return await host.commit_step(methods.StepCommit.model_validate(params))

    async def call_tool(params: JsonValue) -> ToolResult:
        return await host.call_tool(methods.ToolCallParams.model_validate(params).seq)

    now = time.time()
    turn = TurnRun(
        turn_id="rehearsal",
        chat=ChatRef(channel="none", chat_id="none"),
        messages=(UserMessage(content="rehearse"),),
        tools=(ToolSpec(name=TOOL, description="", parameters={"type": "object"}),),
        stream=True,
        started_at=now,
        deadline=now + REHEARSAL_SECONDS,
    )
    ours, theirs = socket.socketpair()
    environ = _build_environment() | {"THINKER_PEER_FD": str(theirs.detach())}
    environ[BROKER_VARIABLE] = str(broker)
    requests = {methods.STEP_COMMIT: commit_step, methods.TOOL_CALL: call_tool}
    notifications = dict.fromkeys((methods.READY, methods.TURN_DELTA), lambda _: None)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(startup.serve_worker, ThinkerSettings.read(environ), environ)
        async with connect_peer(ours, requests, notifications) as peer:
            ended = await peer.call(methods.TURN_RUN, turn, TurnEnded, timeout=REHEARSAL_SECONDS)
    return ended


async def _serve_channel(channel: socket.socket) -> None:
    """Serve the connections that the worker opens."""
    answers = iter(ANSWERS)
    while True:
        await anyio.wait_readable(channel)
        _, received, _, _ = socket.recv_fds(channel, 1, 1)
        if not received:
            return
        reader, writer = await asyncio.open_connection(sock=socket.socket(fileno=received[0]))
        await _serve_model(answers, reader, writer)
        await writer.wait_closed()


async def _serve_model(
    answers: Iterator[tuple[bytes, bytes]],
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    """Serve one connection of the scripted model: a tool call, then the final answer."""
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            address, length, _ = REQUEST.unpack(await reader.readexactly(REQUEST.size))
            await reader.readexactly(address + length)
            events = EVENT % next(answers) + b"data: [DONE]\n\n"
            writer.write(
                pack_head(HTTPStatus.OK, STREAM) + pack_frame(PIECE, events) + pack_frame(END)
            )
    writer.close()
