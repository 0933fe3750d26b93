"""Call one provider address: post a request, feed the answer to a collector, keep deadlines."""

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlsplit

import anyio
import orjson
import structlog

from thinker.http.exchange import HttpAnswer, HttpError, Network
from thinker.models import failures
from thinker.models.base import ModelRequest, ModelResponse, RehearsedRequest
from thinker.models.call_meter import CallMeter
from thinker.models.collector import AnswerFailedError, Collector
from thinker.models.quirks import build_effort
from thinker.models.refused_fields import RefusedFields
from thinker.models.repetition import RepetitionWatch
from thinker.models.request_form import MAX_FORMS, RequestForm
from thinker.models.streaming import EventReader
from thinker.protocol import model_endpoints
from thinker.protocol.degradations import WORDS, Degradation
from thinker.protocol.messages import JsonObject, ToolSpec
from thinker.protocol.notices import FailureKind
from thinker.protocol.providers import Provider
from thinker.worker_errors import ModelError, RetryableModelError

MAX_RESPONSE = 16 * 1024 * 1024  # bytes; the limit of a frame on the wire to the supervisor
LINGER = 0.25  # seconds to wait for the end of a stream after its end mark
NUL = b"\\u0000"
UNSENDABLE = re.compile("[\0\ud800-\udfff]")
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


@dataclass
class ModelEndpoint:
    """One address with its headers; remembers which fields the model rejects."""

    account: failures.Account
    url: str
    headers: dict[str, str] = field(repr=False)
    transport: Network | None = None  # replaces the network
    timeouts: ModelTimeouts = STANDARD_TIMEOUTS
    clock: Callable[[], float] = time.time  # to convert a Retry-After date to seconds
    _refused: RefusedFields = field(init=False)

    def __post_init__(self) -> None:
        self._refused = RefusedFields(self.clock)

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

        async def post_body(sent: Mapping[str, object]) -> ModelResponse:
            request.meter.left_out = tuple(sorted(body.keys() - sent.keys()))
            return await self.post_bytes(encode_body(sent), new_collector(), request)

        return await self._refused.post_without_refused(body, post_body)

    def list_refused_fields(self) -> Mapping[str, str]:
        """Return the fields that the model has refused, with the provider's words."""
        return self._refused.list_known()

    def encode_request(self, body: Mapping[str, object]) -> bytes:
        """Return the bytes that `post_request` would post first."""
        return encode_body(self._refused.remove_known(body))

    async def post_bytes(
        self, data: bytes, collector: Collector, request: ModelRequest
    ) -> ModelResponse:
        """Post the bytes of a request, in the format of the headers; raises like `post_request`."""
        account = self.account
        with request.meter.measure_attempt(f"{account.provider.name}/{account.model}", data):
            return await self._send_and_collect(data, collector, request)

    async def _send_and_collect(
        self, body: bytes, collector: Collector, request: ModelRequest
    ) -> ModelResponse:
        timeouts, meter = self.timeouts, request.meter
        streams = request.on_text is not None
        start = anyio.current_time()
        end = start + timeouts.total
        first = min(end, start + timeouts.first_token) if streams else end
        before = meter.got
        with self._apply_deadline(
            first, lambda: collector.finished, lambda: meter.got > before
        ) as scope:
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
                    repeated = RepetitionWatch().find_repetition(collector.text)
                    if repeated is not None:
                        collector.end_repetition(repeated)
        if not collector.finished:
            raise self._build_cut_error()
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
        size, shown, ended, alive, watch = 0, "", False, 0.0, RepetitionWatch()
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
                start = watch.find_repetition(shown)
                if start is not None:
                    collector.end_repetition(start)
                    return  # the connection is closed, so that the server stops
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
        headers = response.headers
        complaint = failures.parse_refusal(body, headers.get("x-amzn-errortype", ""))
        now = self.clock()
        return failures.build_failure(self.account, response.status, complaint, headers, now)

    def _check_size(self, size: int) -> int:
        if size > MAX_RESPONSE:
            name = self.account.provider.name
            raise RetryableModelError(f"{name} sent more than {MAX_RESPONSE} bytes")
        return size

    @contextmanager
    def _apply_deadline(
        self,
        deadline: float,
        enough: Callable[[], bool] = lambda: False,
        begun: Callable[[], bool] = lambda: False,
    ) -> Iterator[anyio.CancelScope]:
        """Apply a deadline (event-loop time, which the scope may move) and translate HTTP errors.

        An interruption is not an error if ``enough`` returns that the answer is complete; ``begun``
        returns whether a part of it has come.
        """
        provider = self.account.provider
        try:
            with anyio.CancelScope(deadline=deadline) as scope:
                yield scope
        except HttpError as error:
            if enough():
                return
            if begun():
                raise self._build_cut_error() from error
            address = urlsplit(self.url)  # whose user and path may be secrets
            host = f"{address.hostname}:{address.port}" if address.port else address.hostname
            hint = "is it running?" if provider.local else "check the network and baseUrl"
            text = f"{provider.name} is unreachable at {host} ({type(error).__name__}); {hint}"
            raise _mark(RetryableModelError(text), FailureKind.UNREACHABLE) from error
        if scope.cancelled_caught and not enough():
            what = "timed out in the middle of its answer" if begun() else "timed out"
            kind = FailureKind.CUT if begun() else FailureKind.TIMEOUT
            raise _mark(RetryableModelError(f"{provider.name} {what}"), kind)

    def _build_cut_error(self) -> ModelError:
        error = RetryableModelError(f"{self.account.provider.name} cut its answer short")
        return _mark(error, FailureKind.CUT)


def _mark(error: ModelError, kind: FailureKind) -> ModelError:
    error.kind = kind
    return error


def encode_body(body: object) -> bytes:
    """Return a value as JSON, without NUL and lone surrogates, which several providers refuse."""
    try:
        data = orjson.dumps(body)
    except TypeError:  # a lone surrogate
        return orjson.dumps(_remove_unsendable(body))
    return orjson.dumps(_remove_unsendable(orjson.loads(data))) if NUL in data else data


def _remove_unsendable(value: object) -> object:
    if isinstance(value, str):
        return UNSENDABLE.sub("", value)
    if isinstance(value, Mapping):
        return {key: _remove_unsendable(inner) for key, inner in value.items()}
    return [_remove_unsendable(inner) for inner in value] if isinstance(value, list) else value


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
            raise _mark(RetryableModelError(problem), FailureKind.CUT) from error
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
        error = RetryableModelError(f"{name} sent an unreadable answer{hint}: {excerpt}")
        raise _mark(error, FailureKind.UNREADABLE)


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
        self._account = failures.Account(provider, model, api_key, base_url)
        url = model_endpoints.build_chat_url(provider, base_url, model)
        headers = model_endpoints.build_headers(provider, api_key)
        self._tools: tuple[Sequence[ToolSpec], RequestForm | None] = ((), None)
        self._tools_json = orjson.Fragment(b"[]")
        self._plain = self._form = RequestForm(least=self._account.rules.schema_rank)
        self._form_ends = 0.0
        self._endpoint = ModelEndpoint(self._account, url, headers, transport, timeouts)

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Make one call; streams if the request has an ``on_text``.

        After a refusal of tools or history the call is made again in another form, which is
        remembered once the model has answered.
        """
        form = self._get_form()
        for _ in range(MAX_FORMS):
            try:
                response = await self._post_in_form(request, form)
            except failures.PartRefusedError as error:
                if isinstance(error, failures.OutputRefusedError) and request.output is not None:
                    raise
                following = form.find_next(error, request)
                if following is None:
                    raise
                log.warning("request_form_changed", model=self.name, words=error.words[:WORDS])
                form = following
            else:
                return self._finish_call(request, response, form)
        return await self._post_in_form(request, form)

    async def _post_in_form(self, request: ModelRequest, form: RequestForm) -> ModelResponse:
        body: dict[str, object] = {**self._build_body(request, form)}
        if "tools" in body and request.tools:
            if request.tools is not self._tools[0] or form is not self._tools[1]:
                # Most of a request, and rarely changed.
                self._tools = (request.tools, form)
                self._tools_json = orjson.Fragment(encode_body(body["tools"]))
            body["tools"] = self._tools_json
        account = self._account
        if request.rehearsed:
            raise RehearsedRequest(self._endpoint.encode_request(body))
        collector = partial(
            self._collector, account.provider.name, account.model, origin=account.origin
        )
        return await self._endpoint.post_request(body, collector, request)

    def _get_form(self) -> RequestForm:
        """Return the form that the model took last, or the usual one after its time."""
        if self._form is not self._plain and self._endpoint.clock() > self._form_ends:
            self._form = self._plain
        return self._form

    def _finish_call(
        self, request: ModelRequest, response: ModelResponse, form: RequestForm
    ) -> ModelResponse:
        """Remember the form, and return the response with what it went without."""
        if form is not self._form:
            self._form, self._form_ends = form, self._endpoint.clock() + form.keeps
        lost = (*form.list_degradations(request.tools), *self._list_lost_settings(request))
        return replace(response, degraded=(*response.degraded, *lost)) if lost else response

    def _list_lost_settings(self, request: ModelRequest) -> Iterator[Degradation]:
        """Record the effort with the call; yield one that the model cannot have, or refused."""
        if request.reasoning is None:
            return
        effort = build_effort(self._account.rules, request.reasoning)
        refused = self._endpoint.list_refused_fields()
        words = next((refused[name] for name in effort.fields if name in refused), "")
        problem = effort.problem or ("was refused by the provider" if words else "")
        if problem:
            yield Degradation(kind="setting", subject="effort", what=problem, words=words[:WORDS])
        else:
            request.meter.effort = request.reasoning.describe_effort()

    async def aclose(self) -> None:
        await self._endpoint.aclose()

    @abstractmethod
    def _build_body(self, request: ModelRequest, form: RequestForm) -> JsonObject: ...
