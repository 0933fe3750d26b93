"""Run an MCP server as a child process: one JSON-RPC message per line on stdin and stdout.

It replaces the SDK's own transport, which buffers a line of any length and passes on more of the
environment than `select_inherited_variables` allows.
"""

import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, nullcontext, suppress
from dataclasses import dataclass, field

import anyio
import orjson
import structlog
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest, jsonrpc_message_adapter

from orchestrator.child_signals import signal_child
from orchestrator.extensions.mcp_client.toolhost import guardian
from orchestrator.extensions.mcp_client.toolhost.jail_order import JailOrder
from orchestrator.extensions.mcp_client.toolhost.server_jails import (
    ServerJails,
    build_environment,
    list_allowed_hosts,
)
from orchestrator.extensions.mcp_client.toolhost.unsent import build_unsent_answer
from orchestrator.extensions.mcp_client.toolhost.wire import ServerSpec
from orchestrator.jail_broker.host_proxy import HostProxy
from orchestrator.processes.reaper import wait_for_process_end
from thinker.protocol.sandbox import SandboxReport

MAX_MESSAGE = 11 * 1024 * 1024  # bytes; the files of an answer are 7.8 MB at most
MAX_STRAY_LINES = 1000  # of other output before the server counts as broken
MAX_LOG = 64 * 1024  # bytes of stderr in one log record
LOG_PAUSE = 0.01  # seconds between two log records
NO_MESSAGE = "it wrote no MCP but: {line}; is it the right program?"
MAX_LAST_LINE = 300  # characters of stderr in an error message
GRACE = 1.0  # seconds between end-of-file, TERM and the end of the whole process tree
CLOSED = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)
log = structlog.get_logger()


@dataclass
class ConnectionEnd:
    """How a connection ended: ``problem`` is known before ``ended`` is set."""

    ended: anyio.Event = field(default_factory=anyio.Event)
    problem: str = ""
    last_line: str = ""  # the last line on stderr
    sandbox: SandboxReport | None = None  # the jail of the process
    hung_up: bool = False  # by the server
    left: bool = False  # by us: how the process ends from then on is no problem of its own

    def set_problem(self, problem: str) -> None:
        """Set the problem, unless an earlier one caused it."""
        self.problem = self.problem or ("" if self.left else problem)
        self.ended.set()


@asynccontextmanager
async def connect_stdio(
    spec: ServerSpec, end: ConnectionEnd, jails: ServerJails
) -> AsyncIterator[TransportStreams]:
    """Start the server in its jail under a guardian; end its processes when the block ends.

    Raises:
        OSError: the server cannot be started.
    """

    def report_refusal(problem: str) -> None:
        log.warning("mcp_host_refused", server=spec.name, problem=problem)

    allowed = list_allowed_hosts(spec)
    with closing(HostProxy(allowed, report_refusal)) if allowed else nullcontext() as proxy:
        order = jails.build_order(spec, 0 if proxy is None else proxy.port)
        async with _run_server(spec, end, order) as streams:
            yield streams


@asynccontextmanager
async def _run_server(
    spec: ServerSpec, end: ConnectionEnd, order: JailOrder
) -> AsyncIterator[TransportStreams]:
    argv = [sys.executable, "-I", "-S", guardian.__file__, str(os.getpid()), spec.command]
    env = {**build_environment(order, os.environ), **spec.env}
    cwd = spec.cwd or order.private
    with anyio.CancelScope(shield=True):  # a new process must not get lost
        process, report = await _start_guardian([*argv, *spec.args], env, cwd, order)
    received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read_messages, spec.name, process, received, end)
        tasks.start_soon(_write_messages, process, to_send, received, end)
        tasks.start_soon(_log_stderr, spec.name, process, end)
        tasks.start_soon(_notice_end, process, end)
        try:
            await _read_report(report, end)
            yield incoming, outgoing
        finally:
            with anyio.CancelScope(shield=True):
                if end.hung_up:  # a client that hears of it first leaves before the reason is known
                    with anyio.move_on_after(2 * GRACE):
                        await end.ended.wait()
                end.left = True
                await _stop_process(process)
            tasks.cancel_scope.cancel()
            for stream in (received, incoming, outgoing, to_send):
                stream.close()


async def _start_guardian(
    argv: list[str], env: dict[str, str], cwd: str, order: JailOrder
) -> tuple[Process, int]:
    """Start a guardian; return it and the pipe on which it reports the jail."""
    report, write = os.pipe()
    text = os.memfd_create("jail")  # an order may be longer than a variable can be
    try:
        os.write(text, order.pack().encode())
        given = {guardian.ORDER: str(text), guardian.REPORT: str(write)}
        given |= {guardian.PROXY: str(order.proxy)} if order.proxy else {}
        process = await anyio.open_process(
            argv, env={**env, **given}, cwd=cwd, pass_fds=(text, write)
        )
    except OSError:
        os.close(report)
        raise
    finally:
        os.close(text)
        os.close(write)
    return process, report


async def _read_report(report: int, end: ConnectionEnd) -> None:
    try:
        await anyio.wait_readable(report)
        text = os.read(report, MAX_LOG)
    finally:
        os.close(report)
    if text:  # empty: the guardian died
        end.sandbox = SandboxReport(**orjson.loads(text))


async def _read_messages(
    name: str,
    process: Process,
    received: MemoryObjectSendStream[SessionMessage | Exception],
    end: ConnectionEnd,
) -> None:
    """Pass each message on, and close the stream when the server ends or is broken."""
    lines = BufferedByteReceiveStream(_require_pipe(process.stdout))
    noise = 0
    try:
        while noise < MAX_STRAY_LINES:
            line = await lines.receive_until(b"\n", MAX_MESSAGE)
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:  # a greeting, a stray print
                noise += 1
                end.last_line = end.last_line or NO_MESSAGE.format(line=_shorten_line(line))
                log.debug("mcp_line_is_no_message", server=name)
                continue
            await received.send(SessionMessage(message))
        end.set_problem(f"wrote {MAX_STRAY_LINES} lines that are not JSON-RPC messages")
    except anyio.DelimiterNotFound:
        end.set_problem(f"sent a message of more than {MAX_MESSAGE // 1024**2} MiB")
    except (*CLOSED, anyio.IncompleteRead):
        end.hung_up = True
        end.set_problem(await _describe_exit(process, end))
    received.close()


async def _notice_end(process: Process, end: ConnectionEnd) -> None:
    """Record that the connection ended with the process, after reading the last output."""
    await wait_for_process_end(process.pid)
    with anyio.move_on_after(GRACE):
        await end.ended.wait()
    end.set_problem(await _describe_exit(process, end))


async def _describe_exit(process: Process, end: ConnectionEnd) -> str:
    with anyio.move_on_after(GRACE):  # until the pipes are closed, which others may hold
        await process.wait()
    if process.returncode is None:
        return "closed its output"
    return f"ended with exit code {process.returncode}" + (end.last_line and f": {end.last_line}")


async def _write_messages(
    process: Process,
    to_send: MemoryObjectReceiveStream[SessionMessage],
    received: MemoryObjectSendStream[SessionMessage | Exception],
    end: ConnectionEnd,
) -> None:
    """Write each message; a request that the server did not get whole is answered here."""
    pipe = process.stdin
    try:
        async for item in to_send:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            if pipe is not None and not await _write_line(pipe, text.encode()):
                end.hung_up = True
                if isinstance(item.message, JSONRPCRequest):
                    await received.send(SessionMessage(build_unsent_answer(item.message.id)))
                break
    except CLOSED:
        pass
    finally:
        to_send.close()  # otherwise senders would wait
    end.set_problem(await _describe_exit(process, end))


async def _write_line(pipe: ByteSendStream, text: bytes) -> bool:
    """Return whether a line was written; without its end, no server takes it for a message."""
    try:
        await pipe.send(text + b"\n")
    except CLOSED:
        return False
    return True


async def _log_stderr(name: str, process: Process, end: ConnectionEnd) -> None:
    """Log the server's stderr at debug level, and keep its last line for the error message."""
    pipe = _require_pipe(process.stderr)
    with suppress(*CLOSED):
        while True:
            text = (await pipe.receive(MAX_LOG)).decode("utf-8", "replace").strip()
            if text:
                end.last_line = text.splitlines()[-1].strip()[:MAX_LAST_LINE]
                log.debug("mcp_stderr", server=name, text=text)
            await anyio.sleep(LOG_PAUSE)  # endless output must not take the whole CPU


def _shorten_line(line: bytes) -> str:
    return line.decode("utf-8", "replace").strip()[:MAX_LAST_LINE]


def _require_pipe(stream: ByteReceiveStream | None) -> ByteReceiveStream:
    if stream is None:
        raise OSError("the process has no pipes")  # cannot happen: `connect_stdio` opens them
    return stream


async def _stop_process(process: Process) -> None:
    """Send end-of-file, TERM, and the guardian's order to kill the rest, `GRACE` apart.

    A guardian that does not end is killed; the tool host then ends its children.
    """
    if process.stdin is not None:
        with suppress(*CLOSED):
            await process.stdin.aclose()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
        with anyio.move_on_after(GRACE):
            await wait_for_process_end(process.pid)
            break
        signal_child(process, number)
    with anyio.move_on_after(GRACE):  # a cancelled `aclose` kills the process
        await process.aclose()
