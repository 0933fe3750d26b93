"""One connection of a worker: read its requests, and relay what the provider answers.

h11 reads the requests: a worker is not believed. The answers are written by hand, since only their
status and a few of their headers pass.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field

import h11
import structlog

from orchestrator.broker.broker_wire import Grant
from orchestrator.broker.metering import Meter
from orchestrator.broker.redaction import Redaction
from orchestrator.broker.upstreams import Upstreams
from thinker.http.broker_link import CALL_ID, FAILURE
from thinker.http.client import UNANSWERED, HttpError, StreamedResponse, nothing_follows
from thinker.protocol.messages import JsonObject

ANSWER_SECONDS = 900.0  # for a whole answer; a worker gives up earlier
REQUEST_SECONDS = 10.0  # for a whole request, from the connection or the last answer on
MAX_HEAD = 16 * 1024  # bytes
MAX_BODY = 32 * 1024 * 1024  # bytes, the most that a provider takes
MOST_WARNINGS = 20  # of one channel
MAX_ID = 100  # characters of a call's name
MAX_CHANNEL = 64 * 1024 * 1024  # bytes of requests that a channel may have under way
PASSED_ON = (b"anthropic-version",)  # headers of a request that reach the provider
PASSED_BACK = {"content-type", "retry-after", "retry-after-ms", "x-request-id", "request-id"}
PASSED_BACK_GROUPS = ("x-ratelimit-", "anthropic-ratelimit-")
BAD_REQUEST, FORBIDDEN, NOT_ALLOWED, TOO_LARGE = 400, 403, 405, 413
MULTIPLE_CHOICES = 300
log = structlog.get_logger()


@dataclass
class ChannelRights:
    """What the connections of one channel may do, and how much they have under way.

    ``report`` is called with the fields of a `CallEnded` when a call may have cost something.
    """

    channel: int
    agent_id: str
    grants: Mapping[bytes, Grant]
    upstreams: Upstreams
    report: Callable[[JsonObject], None]
    buffered: int = 0
    connections: set["WorkerConnection"] = field(default_factory=set)
    _warned: set[str] = field(default_factory=set)

    def warn(self, reason: str) -> None:
        """Log what was refused; each reason once, since a worker could fill the log."""
        if reason not in self._warned and len(self._warned) < MOST_WARNINGS:
            self._warned.add(reason)
            log.warning("request_refused", agent_id=self.agent_id, reason=reason)

    def close(self) -> None:
        """End all connections, and the requests that they wait for."""
        for connection in list(self.connections):
            connection.abort()


class RequestRefusedError(Exception):
    """A request that the broker does not make; the text says why."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class WorkerConnection(asyncio.Protocol):
    """The broker's end of one connection: one request at a time, each answered in full."""

    _transport: asyncio.Transport  # set when connected

    def __init__(self, rights: ChannelRights) -> None:
        self._rights = rights
        self._http = _parser()
        self._request: h11.Request | None = None
        self._body: list[bytes] = []
        self._size = 0
        self._out: list[bytes] = []
        self._busy = False
        self._answering: asyncio.Task[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport
        self._rights.connections.add(self)
        self._limit(REQUEST_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._rights.connections.discard(self)
        self._rights.buffered -= self._size
        self._size = 0
        self._stop_timer()
        if self._answering is not None:
            self._answering.cancel()

    def data_received(self, data: bytes) -> None:
        if self._busy:  # no second request before the answer to the first
            self.abort()
            return
        try:
            self._http.receive_data(data)
            self._read()
        except RequestRefusedError as refused:
            self._refuse(refused)
        except h11.RemoteProtocolError as error:
            self._refuse(RequestRefusedError(BAD_REQUEST, f"not a request: {error}"))

    def pause_writing(self) -> None:
        self._writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    def abort(self) -> None:
        """End the connection at once."""
        self._transport.abort()

    # --- the request ---------------------------------------------------------------------------

    def _limit(self, seconds: float) -> None:
        """Give the next part of the exchange so much time."""
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _read(self) -> None:
        while True:
            event = self._http.next_event()
            if isinstance(event, h11.Request):
                self._request = event
                self._grant(event)
            elif isinstance(event, h11.Data):
                self._take(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage) and self._request is not None:
                self._limit(ANSWER_SECONDS)
                self._busy = True
                answer = self._exchange(self._request, self._grant(self._request))
                task = _begin(answer)
                self._answering = task if self._busy else None
                return
            elif event is h11.NEED_DATA:
                return
            else:
                self.abort()
                return

    def _grant(self, request: h11.Request) -> Grant:
        """Return the grant that a request needs; raise `RequestRefusedError` without one."""
        if any(name == b"transfer-encoding" for name, _ in request.headers):
            raise RequestRefusedError(BAD_REQUEST, "a request needs a content-length")
        grant = self._rights.grants.get(request.target)
        if grant is None:
            raise RequestRefusedError(FORBIDDEN, "this agent may not use that address")
        if request.method != b"POST":
            raise RequestRefusedError(NOT_ALLOWED, "only POST is allowed")
        return grant

    def _take(self, data: bytes) -> None:
        self._size += len(data)
        self._rights.buffered += len(data)
        self._body.append(data)
        if self._size > MAX_BODY or self._rights.buffered > MAX_CHANNEL:
            raise RequestRefusedError(TOO_LARGE, f"a request may have {MAX_BODY} bytes")

    def _refuse(self, refused: RequestRefusedError) -> None:
        """Answer with the reason, and end the connection."""
        self._rights.warn(str(refused))
        body = b'{"error": {"message": "the broker refused the request: %b"}}'
        text = body % str(refused).encode("ascii", "replace").replace(b'"', b"'")
        self._transport.write(
            b"HTTP/1.1 %d Refused\r\ncontent-type: application/json\r\nconnection: close\r\n"
            b"content-length: %d\r\n\r\n%b" % (refused.status, len(text), text)
        )
        self._transport.close()

    # --- the answer ----------------------------------------------------------------------------

    async def _exchange(self, request: h11.Request, grant: Grant) -> None:
        """Answer a request, then wait for the next one."""
        try:
            await self._answer(request, grant)
        except HttpError:
            self.abort()
        except Exception:  # one bad relay must not end the process
            log.exception("relay_failed", agent_id=self._rights.agent_id)
            self.abort()
        else:
            self._next()

    async def _answer(self, request: h11.Request, grant: Grant) -> None:
        """Make the request and relay the answer."""
        call = _Call(request, grant, b"".join(self._body))
        self._body = []
        try:
            response = await self._rights.upstreams.poster(grant).post(call.body, call.passed_on)
        except HttpError as error:
            if isinstance(error, UNANSWERED):
                self._report(call, Meter(grant.counts, streamed=True), cut=True)
            self._write_failure(error)
            return
        except asyncio.CancelledError:  # the worker is gone, but its request may cost something
            self._report(call, Meter(grant.counts, streamed=True), cut=True)
            raise
        async with aclosing(response):
            await self._relay(call, response)

    async def _relay(self, call: "_Call", response: StreamedResponse) -> None:
        """Pass an answer on, piece by piece; report what it used before its last byte."""
        redaction = Redaction(call.grant.secrets)
        self._out += _head(response, redaction)
        streamed = "json" not in response.headers.get("content-type", "")
        meter, whole = Meter(call.grant.counts, streamed=streamed), False
        try:
            async for piece in response.aiter_bytes():
                meter.feed(piece)
                self._add(redaction.feed(piece))
                if not nothing_follows(response):
                    self._flush()
                if self._writable is not None:
                    await self._writable
            whole = True
        finally:
            if response.status_code < MULTIPLE_CHOICES:
                self._report(call, meter, cut=not whole)
        self._add(redaction.rest())
        self._out.append(b"0\r\n\r\n")
        self._flush()

    def _add(self, data: bytes) -> None:
        """Add a piece to what is sent next: a system call costs more than the rest of a relay."""
        if data:
            self._out += (b"%x\r\n" % len(data), data, b"\r\n")

    def _flush(self) -> None:
        if self._out:
            data, self._out = b"".join(self._out), []
            self._transport.write(data)

    def _write_failure(self, error: HttpError) -> None:
        name = type(error).__name__
        head = f"HTTP/1.1 502 Failed\r\n{FAILURE}: {name}\r\ncontent-length: 0\r\n\r\n"
        self._transport.write(head.encode("ascii"))

    def _report(self, call: "_Call", meter: Meter, *, cut: bool) -> None:
        model, usage, guessed = meter.result(call.body, cut=cut)
        name = f"{call.grant.provider}/{model}" if model else ""
        self._rights.report(
            {
                "channel": self._rights.channel,
                "call_id": call.name,
                "model": name,
                "usage": dict(usage),
                "estimated": guessed,
            }
        )

    def _next(self) -> None:
        """Be ready for the next request."""
        self._rights.buffered -= self._size
        self._size = 0
        self._http, self._request = _parser(), None
        self._busy, self._answering = False, None
        if not self._transport.is_closing():
            self._limit(REQUEST_SECONDS)


class _Call:
    """One request to a provider."""

    def __init__(self, request: h11.Request, grant: Grant, body: bytes) -> None:
        self.grant, self.body = grant, body
        self.passed_on = [item for item in request.headers if item[0] in PASSED_ON]
        names = (value for name, value in request.headers if name == CALL_ID.encode())
        self.name = next(names, b"").decode("ascii", "replace")[:MAX_ID]


def _begin(answer: Coroutine[object, object, None]) -> asyncio.Task[None]:
    """Start a task; at once where Python can, since most requests are sent without waiting."""
    loop = asyncio.get_running_loop()
    if sys.version_info >= (3, 12):
        return asyncio.Task(answer, loop=loop, eager_start=True)
    return loop.create_task(answer)


def _parser() -> h11.Connection:
    return h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)


def _head(response: StreamedResponse, redaction: Redaction) -> Iterator[bytes]:
    """Yield the head of the answer to a worker: the status, and the headers that may pass."""
    yield b"HTTP/1.1 %d Answer\r\n" % response.status_code
    for name, value in response.headers.items():
        if name in PASSED_BACK or name.startswith(PASSED_BACK_GROUPS):
            cleaned = redaction.clean(value.encode("latin-1", "replace"))
            yield b"%b: %b\r\n" % (name.encode("ascii"), cleaned)
    yield b"transfer-encoding: chunked\r\n\r\n"
