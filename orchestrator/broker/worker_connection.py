"""One worker's connection to the broker, and the answers to its requests.

A worker is not trusted: it chooses a granted address and a body of limited size; everything else
in the request comes from the grant. See `thinker.http.broker_link` for how requests and answers
look.

Where: is a model's key put into a request?
"""

import asyncio
import re
import sys
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field

import structlog

from orchestrator.broker.broker_wire import Grant
from orchestrator.broker.linked_pictures import embed_linked_pictures
from orchestrator.broker.metering import Meter
from orchestrator.broker.redaction import Redaction
from thinker.http import broker_link
from thinker.http.broker_link import END, FAILURE, PIECE, REQUEST, pack_frame
from thinker.http.exchange import HttpAnswer, HttpError
from thinker.http.web_client import WebClient
from thinker.protocol.messages import JsonObject

ANSWER_SECONDS = 7200.0  # for a whole answer, as long as a turn; a worker gives up earlier
REQUEST_SECONDS = 10.0  # for a whole request, from its first byte on
MAX_BODY = 32 * 1024 * 1024  # bytes, the most that a provider takes
MAX_WARNINGS = 20  # of one channel
MAX_CHANNEL = 64 * 1024 * 1024  # bytes of requests that a channel may have under way
PASSED_BACK = {
    "content-type",
    "retry-after",
    "retry-after-ms",
    "x-request-id",
    "request-id",
    "x-amzn-errortype",
}
PASSED_BACK_GROUPS = ("x-ratelimit-", "anthropic-ratelimit-")
FORBIDDEN, TOO_LARGE = 403, 413
FORM = re.compile(rb"--([0-9a-f]{32,64})\r\n")
log = structlog.get_logger()


@dataclass
class ChannelRights:
    """The rights of one channel's connections, and the bytes that they have under way.

    ``report`` is called with the fields of a `CallEnded` when a call may have cost something.
    """

    channel: int
    agent_id: str
    grants: Mapping[bytes, Grant]
    client: WebClient
    report: Callable[[JsonObject], None]
    buffered: int = 0
    connections: set["WorkerConnection"] = field(default_factory=set)
    _warned: set[str] = field(default_factory=set)

    def warn_once(self, reason: str) -> None:
        """Log a refusal, each reason once: a worker could fill the log."""
        if reason not in self._warned and len(self._warned) < MAX_WARNINGS:
            self._warned.add(reason)
            log.warning("request_refused", agent_id=self.agent_id, reason=reason)

    def warm_connection(self) -> None:
        """Connect to the first provider, unless a connection is idle."""
        for grant in list(self.grants.values())[:1]:
            with suppress(HttpError):
                self.client.warm_connection(grant.url)

    def close(self) -> None:
        """Close all connections and abort their requests."""
        for connection in list(self.connections):
            connection.abort()


class WorkerConnection(asyncio.Protocol):
    """The broker's end of one connection: one request at a time, each answered in full."""

    _transport: asyncio.Transport  # set when connected

    def __init__(self, rights: ChannelRights) -> None:
        self._rights = rights
        self._in = bytearray()
        self._call: _Call | None = None  # once the head of a request is there
        self._answering: asyncio.Task[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport
        self._rights.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._rights.connections.discard(self)
        self._release_request()
        if self._answering is not None:
            self._answering.cancel()

    def data_received(self, data: bytes) -> None:
        self._in += data
        call = self._call = self._call or self._parse_head()
        excess = -1 if call is None else len(self._in) - call.size
        if excess > 0:  # no second request before the answer to the first
            self.abort()
        elif call is not None and excess == 0:
            call.body = bytes(memoryview(self._in)[call.size - call.length :])
            self._in, call.size = bytearray(), 0
            self._set_time_limit(ANSWER_SECONDS)
            self._answering = _start_eagerly(self._run_exchange(call))
        elif self._timer is None:
            self._set_time_limit(REQUEST_SECONDS)

    def pause_writing(self) -> None:
        self._writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    def abort(self) -> None:
        """Abort the connection immediately."""
        self._transport.abort()

    # --- the request ---------------------------------------------------------------------------

    def _set_time_limit(self, seconds: float) -> None:
        """Give the next part of the exchange this many seconds."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.abort)

    def _parse_head(self) -> "_Call | None":
        """Parse the head of a request once it is complete, and check that it is allowed."""
        if len(self._in) < REQUEST.size:
            return None
        address, length, number = REQUEST.unpack_from(self._in)
        rights, begin = self._rights, REQUEST.size + address
        if length > MAX_BODY or rights.buffered + length > MAX_CHANNEL:
            self._refuse_request(TOO_LARGE, f"a request may have {MAX_BODY} bytes")
            return None
        if len(self._in) < begin:
            return None
        grant = rights.grants.get(bytes(self._in[REQUEST.size : begin]))
        if grant is None:
            self._refuse_request(FORBIDDEN, "this agent may not use that address")
            return None
        rights.buffered += length
        return _Call(grant, str(number), begin + length, length)

    def _refuse_request(self, status: int, reason: str) -> None:
        """Answer with the reason and close the connection."""
        self._rights.warn_once(reason)
        text = b'{"error": {"message": "the broker refused the request: %b"}}' % reason.encode()
        head = broker_link.pack_head(status, {"content-type": "application/json"})
        self._transport.write(head + pack_frame(PIECE, text) + pack_frame(END))
        self._transport.close()

    # --- the answer ----------------------------------------------------------------------------

    async def _run_exchange(self, call: "_Call") -> None:
        """Answer a request, then wait for the next one."""
        try:
            await self._answer_request(call)
        except HttpError:
            self.abort()
        except Exception:  # a failed relay must not end the process
            log.exception("relay_failed", agent_id=self._rights.agent_id)
            self.abort()
        else:
            self._release_request()

    async def _answer_request(self, call: "_Call") -> None:
        """Make the request and relay the answer."""
        grant = call.grant
        try:
            answer = await self._rights.client.send(
                grant.method, grant.url, call.headers, call.body
            )
            if grant.pictures and answer.is_success:
                answer = await embed_linked_pictures(self._rights.client, grant.url, answer)
        except HttpError as error:
            self._transport.write(pack_frame(FAILURE, type(error).__name__.encode()))
            return
        except asyncio.CancelledError:  # the worker has gone, but its request may have a cost
            self._report_usage(call, Meter(grant.counts, streamed=True), cut=True)
            raise
        with closing(answer):
            await self._relay_answer(call, answer)

    async def _relay_answer(self, call: "_Call", answer: HttpAnswer) -> None:
        """Pass an answer on, piece by piece; report what it used before its last byte."""
        redaction = Redaction(call.grant.secrets)
        out = [
            _build_head(answer, redaction)
        ]  # sent together: system calls cost more than all the rest
        streamed = "json" not in answer.headers.get("content-type", "")
        meter, whole = Meter(call.grant.counts, streamed=streamed), False
        try:
            async for piece in answer.iter_pieces():
                meter.feed(piece)
                out.append(_build_piece(redaction.feed(piece)))
                if not answer.is_complete:
                    self._transport.write(b"".join(out))
                    out.clear()
                if self._writable is not None:
                    await self._writable
            whole = True
        finally:
            if answer.is_success:
                self._report_usage(call, meter, cut=not whole)
        self._transport.write(
            b"".join((*out, _build_piece(redaction.take_rest()), pack_frame(END)))
        )

    def _report_usage(self, call: "_Call", meter: Meter, *, cut: bool) -> None:
        if call.grant.probe:
            return
        model, usage, guessed = meter.build_result(call.body, cut=cut)
        name = f"{call.grant.provider}/{model}" if model else ""
        self._rights.report(
            {
                "channel": self._rights.channel,
                "call_id": call.name,
                "model": name,
                "usage": dict(usage),
                "estimated": guessed,
                "seconds": time.monotonic() - call.began,
                "cut": cut,
            }
        )

    def _release_request(self) -> None:
        """Release the time limit and the room that the request has taken."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._call is not None:
            self._rights.buffered -= self._call.length
            self._call = None


@dataclass(eq=False)
class _Call:
    """One request to a provider: ``size`` bytes, of which the last ``length`` are the body."""

    grant: Grant
    name: str
    size: int
    length: int
    body: bytes = b""
    began: float = field(default_factory=time.monotonic)

    @property
    def headers(self) -> Mapping[str, str]:
        """The request headers for the provider; the first line of a form is the boundary."""
        mark = FORM.match(self.body) if self.grant.form else None
        if mark is None:
            return self.grant.headers
        kind = f"multipart/form-data; boundary={mark[1].decode()}"
        return {**self.grant.headers, "content-type": kind}


def _start_eagerly(answer: Coroutine[object, object, None]) -> asyncio.Task[None]:
    """Start a task, immediately where Python can: most requests are sent without waiting."""
    loop = asyncio.get_running_loop()
    if sys.version_info >= (3, 12):
        return asyncio.Task(answer, loop=loop, eager_start=True)
    return loop.create_task(answer)


def _build_head(answer: HttpAnswer, redaction: Redaction) -> bytes:
    """Build the head of the answer to a worker: the status and the allowed headers."""
    passed = {
        name: redaction.redact_text(value.encode()).decode()
        for name, value in answer.headers.items()
        if name in PASSED_BACK or name.startswith(PASSED_BACK_GROUPS)
    }
    return broker_link.pack_head(answer.status, passed)


def _build_piece(data: bytes) -> bytes:
    return pack_frame(PIECE, data) if data else b""
