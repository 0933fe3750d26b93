"""Call one provider address: post a request, feed the answer to a collector, keep deadlines."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlsplit

import anyio
import orjson
import structlog

from thinker.http.exchange import HttpAnswer, HttpError, Network
from thinker.http.retry_after import parse_retry_after
from thinker.models import failures
from thinker.models.base import ModelRequest, ModelResponse, RehearsedRequest
from thinker.models.call_meter import CallMeter
from thinker.models.collector import AnswerFailedError, Collector
from thinker.models.refused_fields import RefusedFields
from thinker.models.streaming import EventReader
from thinker.protocol import model_endpoints
from thinker.protocol.messages import JsonObject, ToolSpec
from thinker.protocol.providers import Provider
from thinker.worker_errors import RetryableModelError

MAX_RESPONSE = 16 * 1024 * 1024  # bytes; the limit of a frame on the wire to the supervisor
LINGER = 0.25  # seconds to wait for the end of a stream after its end mark
AFTER_FINISH = 5.0  # seconds to wait for usage and the end mark after a complete answer
COMMENTED_WAITS = 5  # how many idle waits comments can fill; DeepSeek and OpenRouter send them
log = structlog.get_logger()


class ModelTimeouts(NamedTuple):
    """Deadlines of one model call, in seconds.

    ``first_token`` and ``idle`` apply to streams: the wait for the first event and between events.
    An answer in one piece is limited only by ``connect`` and ``total``. Progress does not extend
    ``total``.
    """

    connect: float = 10.0
    first_token: float = 90.0
    idle: float = 60.0
    total: float = 600.0


STANDARD_TIMEOUTS = ModelTimeouts()
LOCAL_TIMEOUTS = ModelTimeouts(first_token=300.0)  # a local server may have to load the model first


@dataclass
class ModelEndpoint:
    """One address with its headers; remembers which fields the model rejects."""

    account: failures.Account
    url: str
    headers: dict[str, str] = field(repr=False)
    transport: Network | None = None  # replaces the network
    timeouts: ModelTimeouts = STANDARD_TIMEOUTS
    clock: Callable[[], float] = time.time  # to convert a Retry-After date to seconds
    _refused: RefusedFields = field(default_factory=RefusedFields, init=False)

    @cached_property
    def network(self) -> Network:
        """The connections, opened at the first call."""
        if self.transport is not None:
            return self.transport
        # Workers with a broker need no client, and the import is large.
        from thinker.http.web_client import WebClient  # noqa: PLC0415 - see above

        return WebClient(connect=self.timeouts.connect, read=self.timeouts.total)

    async def aclose(self) -> None:
        """Close the connections, if opened."""
        if "network" in vars(self):
            self.network.close()

    async def post_request(
        self,
        body: Mapping[str, object],
        new_collector: Callable[[], Collector],
        request: ModelRequest,
    ) -> ModelResponse:
        """Post the body of a request; retry without a field that the model rejects.

        Raises:
            ModelError: the failure, as classified by `thinker.models.failures`.
        """
        return await self._refused.post_without_refused(
            body, lambda sent: self._post_body(sent, new_collector(), request)
        )

    def encode_request(self, body: Mapping[str, object]) -> bytes:
        """Return the bytes that `post_request` would post first."""
        return orjson.dumps(self._refused.remove_known(body))

    async def _post_body(
        self, body: Mapping[str, object], collector: Collector, request: ModelRequest
    ) -> ModelResponse:
        return await self.post_bytes(orjson.dumps(body), collector, request)

    async def post_bytes(
        self, data: bytes, collector: Collector, request: ModelRequest
    ) -> ModelResponse:
        """Post the bytes of a request, in the format of the headers; raises like `post_request`."""
        account = self.account
        with request.meter.measure_attempt(f"{account.provider.name}/{account.model}", len(data)):
            return await self._send_and_collect(data, collector, request)

    async def _send_and_collect(
        self, body: bytes, collector: Collector, request: ModelRequest
    ) -> ModelResponse:
        timeouts, meter = self.timeouts, request.meter
        streams = request.on_text is not None
        start = anyio.current_time()
        end = start + timeouts.total
        first = min(end, start + timeouts.first_token) if streams else end
        with self._apply_deadline(first, lambda: collector.finished) as scope:
            response = await self.network.send("POST", self.url, self.headers, body)
            meter.status = response.status
            with closing(response):
                if response.status >= HTTPStatus.MULTIPLE_CHOICES:
                    scope.deadline = end + timeouts.idle
                    raise await self._read_failure(response, min(end, first + timeouts.idle), meter)
                if "json" in response.headers.get("content-type", ""):
                    scope.deadline = end  # written at once, or without any sign of life before
                if streams:
                    await self._read_stream(response, collector, request, scope, end)
                else:
                    self._feed_body(collector, await self._read_body(response, meter))
        if not collector.finished:
            raise RetryableModelError(f"{self.account.provider.name} cut its answer short")
        headers = response.headers
        request_id = headers.get("x-request-id") or headers.get("request-id") or ""
        return collector.build_response(request_id, response.call_id)

    async def _read_stream(
        self,
        response: HttpAnswer,
        collector: Collector,
        request: ModelRequest,
        scope: anyio.CancelScope,
        end: float,
    ) -> None:
        reader, meter, on_text = EventReader(), request.meter, request.on_text
        size, shown, ended, alive = 0, "", False, 0.0
        feeding = _Feeding(self.account, collector)
        async for chunk in response.iter_pieces():
            if ended:
                continue  # only a connection read to its end can be reused
            meter.got += len(chunk)
            size = self._check_size(size + len(chunk))
            events = reader.feed(chunk)
            ended = feeding.feed_events(events)
            wait = AFTER_FINISH if collector.finished else self.timeouts.idle
            if events:
                meter.record_event()
                scope.deadline = min(end, anyio.current_time() + (LINGER if ended else wait))
                alive = anyio.current_time() + wait * COMMENTED_WAITS
            elif not collector.finished:  # a comment, which says that the server is alive
                scope.deadline = max(scope.deadline, min(end, alive, anyio.current_time() + wait))
            # The complete text follows immediately, so a last update would be wasted.
            if on_text is not None and not ended and collector.text != shown:
                shown = collector.text
                on_text(shown)
        if not ended:
            feeding.feed_events(reader.close())
        feeding.check_answer()

    def _feed_body(self, collector: Collector, data: bytes) -> None:
        """Feed an answer in one piece, or events that a server sent all the same."""
        feeding = _Feeding(self.account, collector)
        if not feeding.feed_data(data) and not collector.finished:
            reader = EventReader()
            feeding.feed_events([*reader.feed(data), *reader.close()])
        feeding.check_answer()

    async def _read_body(self, response: HttpAnswer, meter: CallMeter) -> bytes:
        body = bytearray()
        async for chunk in response.iter_pieces():
            body += chunk
            meter.got += len(chunk)
            self._check_size(len(body))
        return bytes(body)

    async def _read_failure(
        self, response: HttpAnswer, deadline: float, meter: CallMeter
    ) -> Exception:
        try:
            with self._apply_deadline(deadline):
                body = await self._read_body(response, meter)
        except RetryableModelError:
            body = b""
        text = body.decode("utf-8", "replace")
        complaint = failures.parse_stated_error(body) or failures.ProviderError(text)
        wait = parse_retry_after(response.headers, self.clock())
        return failures.build_failure(self.account, response.status, complaint, wait)

    def _check_size(self, size: int) -> int:
        if size > MAX_RESPONSE:
            name = self.account.provider.name
            raise RetryableModelError(f"{name} sent more than {MAX_RESPONSE} bytes")
        return size

    @contextmanager
    def _apply_deadline(
        self, deadline: float, enough: Callable[[], bool] = lambda: False
    ) -> Iterator[anyio.CancelScope]:
        """Apply a deadline (event-loop time, which the scope may move) and translate HTTP errors.

        An interruption is not an error if ``enough`` returns that the answer is complete.
        """
        provider = self.account.provider
        try:
            with anyio.CancelScope(deadline=deadline) as scope:
                yield scope
        except HttpError as error:
            if enough():
                return
            address = urlsplit(self.url)  # whose user and path may be secrets
            host = f"{address.hostname}:{address.port}" if address.port else address.hostname
            hint = "is it running?" if provider.local else "check the network and baseUrl"
            text = f"{provider.name} is unreachable at {host} ({type(error).__name__}); {hint}"
            raise RetryableModelError(text) from error
        if scope.cancelled_caught and not enough():
            raise RetryableModelError(f"{provider.name} timed out")


class _Feeding:
    """Feeds the parts of one answer to a collector and skips those that it cannot read."""

    def __init__(self, account: failures.Account, collector: Collector) -> None:
        self._account, self._collector = account, collector
        self._odd: bytes | None = None  # the first such part
        self._damaged = False

    def feed_events(self, events: Sequence[bytes]) -> bool:
        """Feed events in order; return whether one of them is the last."""
        return any(self.feed_data(data) for data in events if data)

    def feed_data(self, data: bytes) -> bool:
        """Feed one event, or an answer in one piece; return whether it was the last.

        Raises:
            ModelError: the provider states an error in it.
        """
        complaint = failures.parse_stated_error(data)
        if complaint is not None:
            raise failures.build_failure(self._account, complaint.status, complaint)
        known = self._collector.skipped
        try:
            last = self._collector.feed(data)
        except AnswerFailedError as error:
            name = self._account.provider.name
            problem = f"{name} ended the answer with an error: {error}"
            raise RetryableModelError(problem) from error
        except ValueError:
            self._odd = data if self._odd is None else self._odd
            # Arguments that lack a piece may still be JSON, and must not run.
            self._damaged |= self._collector.has_calls and data.lstrip()[:1] in (b"{", b"[")
            return False
        if self._collector.skipped > known and self._odd is None:
            self._odd = data
        return last

    def check_answer(self) -> None:
        """Log what was skipped; raise `RetryableModelError` if nothing could be read."""
        collector, name = self._collector, self._account.provider.name
        odd = self._odd
        if odd is not None and collector.finished:
            log.debug("answer_parts_skipped", provider=name, unknown=collector.skipped)
        usable = collector.finished or collector.text or collector.has_calls
        if odd is None or (usable and not self._damaged):
            return
        hint = ", a web page; check baseUrl" if odd.lstrip()[:1] == b"<" else ""
        excerpt = self._account.format_excerpt(odd)
        raise RetryableModelError(f"{name} sent an unreadable answer{hint}: {excerpt}")


class ProviderModel(ABC):
    """A provider's model, called over HTTP; ``transport`` replaces the network."""

    _collector: type[Collector]

    def __init__(
        self,
        provider: Provider,
        model: str,
        base_url: str,
        api_key: str,
        transport: Network | None = None,
        timeouts: ModelTimeouts = STANDARD_TIMEOUTS,
    ) -> None:
        self.name = f"{provider.name}/{model}"
        self._account = failures.Account(provider, model, api_key)
        url = model_endpoints.build_chat_url(provider, base_url, model)
        headers = model_endpoints.build_headers(provider, api_key)
        self._tools: Sequence[ToolSpec] = ()
        self._tools_json = orjson.Fragment(b"[]")
        self._endpoint = ModelEndpoint(self._account, url, headers, transport, timeouts)

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Make one call; streams if the request has an ``on_text``."""
        body: dict[str, object] = {**self._build_body(request)}
        if request.tools:
            if request.tools is not self._tools:
                # Most of a request, and rarely changed.
                self._tools = request.tools
                self._tools_json = orjson.Fragment(orjson.dumps(body["tools"]))
            body["tools"] = self._tools_json
        account = self._account
        if request.rehearsed:
            raise RehearsedRequest(self._endpoint.encode_request(body))
        collector = partial(self._collector, account.provider.name, account.model)
        return await self._endpoint.post_request(body, collector, request)

    async def aclose(self) -> None:
        await self._endpoint.aclose()

    @abstractmethod
    def _build_body(self, request: ModelRequest) -> JsonObject: ...
