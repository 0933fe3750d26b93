"""JSON-RPC 2.0 with one UTF-8 JSON object per line, used at both ends of every local connection.

A peer receives bytes through `feed` and sends them through a `Writer`, so one class serves the
socketpair between supervisor and worker, the control socket, and a person's terminal. Requests run
as tasks that end with the peer's task group. Requests start, and notifications run, in order of
arrival. End-of-file means that the other side is dead: pending calls raise `PeerClosedError`.
"""

import asyncio
import itertools
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar

import anyio
import orjson
import structlog
from anyio.abc import TaskGroup
from pydantic import BaseModel, JsonValue, ValidationError

MAX_FRAME = 16 * 1024 * 1024  # bytes of one line; bounds the memory of a hostile or broken peer
MAX_BACKLOG = 2 * MAX_FRAME  # bytes written but not yet read by the other side
MAX_PROBLEM = 4000  # characters of an error response's message
MAX_ID = 200  # characters of a request id; the response repeats it
CANCEL_AGAIN_SECONDS = 1.0  # that a cancelled request has to end
# Most requests are answered right away: where Python can, their tasks begin immediately.
TASK_OPTIONS: dict[str, Any] = {"eager_start": True} if sys.version_info >= (3, 12) else {}
Params = JsonValue | BaseModel
RequestHandler = Callable[[JsonValue], Awaitable[Params]]
NotificationHandler = Callable[[JsonValue], None]
R = TypeVar("R", bound=BaseModel)
log = structlog.get_logger()

PARSE_ERROR, INTERNAL = -32700, -32603
INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32600, -32601, -32602
FENCED = -32001  # the caller no longer owns the turn
CANCELLED = -32002
FAILED = -32003  # an expected failure; the message is for people
TOO_LONG = -32004  # the model cannot read so much


class PeerClosedError(Exception):
    """The other side is gone, or no longer reads."""


class RpcError(Exception):
    """An error response: raised by `Peer.request`, and by handlers to send one."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Writer(Protocol):
    """Destination of a peer's bytes: an `asyncio.Transport`, or a person's terminal."""

    def write(self, data: bytes) -> None:
        """Take bytes without blocking."""

    def close(self) -> None:
        """Send buffered bytes, then close the stream."""


class Peer:
    """One end of a connection, created by `connect_peer` or directly around a `Writer`."""

    def __init__(
        self,
        writer: Writer,
        tasks: TaskGroup,
        requests: Mapping[str, RequestHandler] | None = None,
        notifications: Mapping[str, NotificationHandler] | None = None,
    ) -> None:
        self._writer = writer
        self.tasks = tasks
        self.requests: dict[str, RequestHandler] = dict(requests or {})
        self.notifications: dict[str, NotificationHandler] = dict(notifications or {})
        self.closed = asyncio.Event()
        self._ids = itertools.count(1)
        self._waiting: dict[JsonValue, asyncio.Future[JsonValue]] = {}
        self._serving: set[asyncio.Task[None]] = set()
        self._held = False
        self._parts: list[bytes] = []  # of a line whose end has not arrived
        self._size = 0

    async def request(self, method: str, params: Params = None, *, timeout: float) -> JsonValue:  # noqa: ASYNC109 - every call must state its bound
        """Call the other side and wait at most ``timeout`` seconds for the response.

        Raises:
            PeerClosedError: the other side is gone.
            RpcError: the other side answered with an error.
            TimeoutError: no response within ``timeout``.
        """
        if self.closed.is_set():
            raise PeerClosedError(f"{method}: the other side is gone")
        call_id = next(self._ids)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[JsonValue] = loop.create_future()
        self._waiting[call_id] = future
        timer = loop.call_later(timeout, _expire_future, future)  # cheaper than a cancel scope
        try:
            self._write_frame({"jsonrpc": "2.0", "id": call_id, "method": method, "params": params})
            return await future
        finally:
            timer.cancel()
            self._waiting.pop(call_id, None)

    async def call(self, method: str, params: Params, result: type[R], *, timeout: float) -> R:  # noqa: ASYNC109 - as in `request`
        """Call as `request` does, and return the response validated as ``result``."""
        return result.model_validate(await self.request(method, params, timeout=timeout))

    @property
    def has_pending_request(self) -> bool:
        """Whether a request has no response yet."""
        return bool(self._waiting)

    def notify(self, method: str, params: Params = None) -> None:
        """Send a notification; do nothing if the other side is gone."""
        if not self.closed.is_set():
            self._write_frame({"jsonrpc": "2.0", "method": method, "params": params})

    def close(self) -> None:
        """Close the connection; the other side sees end-of-file."""
        self._writer.close()

    def feed(self, data: bytes) -> None:
        """Take received bytes; each complete line is one frame."""
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._parts, lines[0]))
            self._parts, self._size = [], 0
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
        for line in lines:
            if len(line) > MAX_FRAME:
                self._close_too_long()
            elif line.strip():
                self._receive_line(line)
        if self._size > MAX_FRAME:
            self._parts, self._size = [], 0
            self._close_too_long()

    def _close_too_long(self) -> None:
        log.error("frame_too_long", limit=MAX_FRAME)
        self.close()

    def mark_lost(self) -> None:
        """Mark the stream as ended and fail all pending calls."""
        self.closed.set()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(PeerClosedError("the other side went away"))

    def _receive_line(self, line: bytes) -> None:
        try:
            frame = orjson.loads(line)
        except orjson.JSONDecodeError:
            self._answer_error(None, PARSE_ERROR, "not JSON; send one JSON-RPC object per line")
            return
        if not isinstance(frame, dict):
            self._answer_error(None, INVALID_REQUEST, "not a JSON-RPC object")
        elif not isinstance(method := frame.get("method"), str):
            self._settle_response(frame)
        elif "id" not in frame:
            self._start_task(self._run_notification(method, frame.get("params")))
        elif len(str(call_id := frame["id"])) > MAX_ID:
            self._answer_error(None, INVALID_REQUEST, f"the id is over {MAX_ID} characters")
        else:
            self._start_task(self._serve_request(call_id, method, frame.get("params")))

    def _settle_response(self, frame: dict[str, JsonValue]) -> None:
        call_id = frame.get("id")
        future = self._waiting.get(call_id) if isinstance(call_id, int) else None
        if future is None or future.done():
            return
        error = frame.get("error")
        if error is None:
            future.set_result(frame.get("result"))
            return
        fields = error if isinstance(error, dict) else {"message": error}
        code = fields.get("code")
        future.set_exception(
            RpcError(code if isinstance(code, int) else INTERNAL, str(fields.get("message")))
        )

    async def _run_notification(self, method: str, params: JsonValue) -> None:
        handler = self.notifications.get(method)
        if handler is None:
            log.warning("unknown_notification", method=method)
            return
        try:
            handler(params)
        except ValidationError as error:
            log.warning("bad_notification", method=method, problem=str(error))
        except Exception:  # one bad notification must not end the connection
            log.exception("notification_failed", method=method)

    def _start_task(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.Task(work, loop=asyncio.get_running_loop(), **TASK_OPTIONS)
        if not task.done():
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
            if not self._held:
                self._held = True
                self.tasks.start_soon(self._hold_task_group)

    async def _hold_task_group(self) -> None:
        """Keep the task group open for the requests, with one task for all, as each costs time."""
        try:
            await self.closed.wait()
            while self._serving:
                await asyncio.wait(self._serving)
        finally:
            with anyio.CancelScope(shield=True):
                while self._serving:
                    for task in self._serving:
                        task.cancel()
                    await asyncio.wait(self._serving, timeout=CANCEL_AGAIN_SECONDS)

    async def _serve_request(self, call_id: JsonValue, method: str, params: JsonValue) -> None:
        handler = self.requests.get(method)
        if handler is None:
            self._answer_error(call_id, NO_METHOD, f"no method {method!r}")
            return
        try:
            result = await handler(params)
            self._write_frame({"jsonrpc": "2.0", "id": call_id, "result": result})
        except ValidationError as error:
            self._answer_error(call_id, INVALID_PARAMS, f"{method}: {error}")
        except RpcError as error:
            self._answer_error(call_id, error.code, str(error))
        except (Exception, SystemExit) as error:  # one bad request must not end the process
            if not (isinstance(error, PeerClosedError) and self.closed.is_set()):
                log.exception("request_failed", method=method)
            self._answer_error(call_id, INTERNAL, f"{type(error).__name__}: {error}")

    def _answer_error(self, call_id: JsonValue, code: int, message: str) -> None:
        # A message may quote anything, such as a file name that is not UTF-8.
        text = message[:MAX_PROBLEM].encode("utf-8", "replace").decode()
        error: JsonValue = {"code": code, "message": text}
        self._write_frame({"jsonrpc": "2.0", "id": call_id, "error": error})

    def _write_frame(self, frame: dict[str, Params]) -> None:
        if self.closed.is_set():
            return
        data = orjson.dumps(frame, default=_encode_fragment)
        if len(data) > MAX_FRAME:
            raise RpcError(INVALID_REQUEST, f"frame of {len(data)} bytes is over {MAX_FRAME}")
        self._writer.write(data + b"\n")


def _expire_future(future: "asyncio.Future[JsonValue]") -> None:
    if not future.done():
        future.set_exception(TimeoutError())


def _encode_fragment(value: object) -> orjson.Fragment:
    if isinstance(value, BaseModel):
        return orjson.Fragment(value.model_dump_json())
    raise TypeError(f"not JSON: {type(value).__name__}")


class _SocketWriter(asyncio.Protocol):
    """Connects a socket to a peer; aborts if the other side stops reading."""

    peer: Peer
    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self.transport = transport
            transport.set_write_buffer_limits(high=MAX_BACKLOG)

    def pause_writing(self) -> None:
        """Abort: the other side has not read `MAX_BACKLOG` bytes."""
        log.error("peer_reads_nothing", backlog=self.transport.get_write_buffer_size())
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        self.peer.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.peer.mark_lost()

    def write(self, data: bytes) -> None:
        if self.transport.is_closing():  # asyncio would warn about each later write
            return
        self.transport.write(data)

    def close(self) -> None:
        self.transport.close()


@asynccontextmanager
async def connect_peer(
    sock: socket.socket,
    requests: Mapping[str, RequestHandler] | None = None,
    notifications: Mapping[str, NotificationHandler] | None = None,
) -> AsyncIterator[Peer]:
    """Run a peer on a connected stream socket; leaving the block cancels running requests.

    An exception from the block is raised unchanged, without an exception group.
    """
    sock.setblocking(False)  # noqa: FBT003 - the standard library takes it by position
    writer = _SocketWriter()
    try:
        async with anyio.create_task_group() as tasks:
            peer = writer.peer = Peer(writer, tasks, requests, notifications)
            with anyio.CancelScope(shield=True):  # never blocks: the socket is already connected
                await asyncio.get_running_loop().create_connection(lambda: writer, sock=sock)
            try:
                yield peer
            finally:
                writer.close()
                peer.mark_lost()
                tasks.cancel_scope.cancel()
    except ExceptionGroup as group:
        raise group.exceptions[0] from None
