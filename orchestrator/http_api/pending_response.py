"""The response to a request that is stored, waited for, and sent whole or as a stream."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import TypeAlias

import anyio
import apsw
import structlog
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from orchestrator.control.operations import DaemonOperations
from orchestrator.errors import JournalError
from orchestrator.http_api.api_channel import ApiChannel, Listener
from orchestrator.http_api.error_response import ApiProblem
from orchestrator.http_api.guard import refusal
from orchestrator.http_api.parsed_request import ParsedRequest
from orchestrator.http_api.response_formatters import ResponseFormatter
from orchestrator.journal.turns import api_requests
from orchestrator.journal.turns.api_requests import (
    KeyReusedError,
    NewRequest,
    Outcome,
    UnknownPreviousError,
)
from thinker.protocol.methods import StopReason

KEEP_ALIVE = 15  # looks without news after which a stream sends a comment
RETRY = 5  # seconds after which a client should repeat a request that was not taken
FormatterFactory: TypeAlias = Callable[[str, int, ParsedRequest], ResponseFormatter]
log = structlog.get_logger()


@dataclass(frozen=True)
class PendingResponse:
    """The response to one request (an ASGI application)."""

    daemon: DaemonOperations
    channel: ApiChannel
    request: ParsedRequest
    new: NewRequest
    formatter: FormatterFactory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Store the request (T1), then wait for its outcome as long as the client does."""
        new, channel = self.new, self.channel
        with channel.listening(new.id):  # before it is stored: its reply counts as delivered
            request_id, created = await self._stored()
            formatter = self.formatter(request_id, created // 1000, self.request)
            with channel.listening(request_id) as listener:  # the first one's, if it is repeated
                await self._response(request_id, formatter, listener)(scope, receive, send)

    async def _stored(self) -> tuple[str, int]:
        dispatcher, new = self.daemon.dispatcher, self.new
        try:
            with dispatcher.opening([] if new.own_chat is None else [new.own_chat]) as admit:
                stored = await self.daemon.store.attempt(_receive, new, self.daemon.clock(), admit)
        except KeyReusedError as error:
            code = "idempotency_key_reused"
            raise ApiProblem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error), code=code) from error
        except UnknownPreviousError as error:
            raise ApiProblem(
                HTTPStatus.BAD_REQUEST,
                str(error),
                code="previous_response_not_found",
                param="previous_response_id",
            ) from error
        except JournalError as error:
            message = f"the request could not be stored: {error}"
            raise ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, message, retry=RETRY) from error
        log.debug("request_accepted", request=stored[0], agent_id=new.agent_id)
        if new.own_chat is None:
            dispatcher.wake()
        return stored

    def _response(
        self, request_id: str, formatter: ResponseFormatter, listener: Listener
    ) -> ASGIApp:
        headers = {"x-request-id": request_id}
        if self.request.body.stream:
            headers |= {"cache-control": "no-cache"}
            events = self._events(request_id, formatter, listener)
            return StreamingResponse(events, media_type="text/event-stream", headers=headers)
        return JsonResult(partial(self._outcome, request_id, listener), formatter, headers)

    async def _events(
        self, request_id: str, formatter: ResponseFormatter, listener: Listener
    ) -> AsyncIterator[bytes]:
        yield formatter.begin()
        silent = 0
        try:
            async for news in self._follow(request_id, listener):
                if isinstance(news, Outcome):
                    yield formatter.end(news)
                    continue
                grown = formatter.grow(news)
                silent = 0 if grown else (silent + 1) % KEEP_ALIVE
                if grown or not silent:
                    yield grown or b": the agent is at work\n\n"
        except ApiProblem as problem:
            yield formatter.fail(problem)

    async def _outcome(self, request_id: str, listener: Listener) -> Outcome:
        async for news in self._follow(request_id, listener):
            if isinstance(news, Outcome):
                return news
        raise ApiProblem(HTTPStatus.INTERNAL_SERVER_ERROR, "the request has no outcome")

    async def _follow(self, request_id: str, listener: Listener) -> AsyncIterator[str | Outcome]:
        """Follow the request, and raise an `ApiProblem` for an outcome that is not an answer."""
        async for news in self.channel.follow(request_id, self.new.agent_id, listener):
            if isinstance(news, Outcome) and news.error is not None:
                late = news.stop_reason is StopReason.DEADLINE
                status = HTTPStatus.GATEWAY_TIMEOUT if late else HTTPStatus.BAD_GATEWAY
                message = news.text if news.error == news.text else f"{news.text} ({news.error})"
                raise ApiProblem(status, message, code=news.stop_reason.value)
            yield news


@dataclass(frozen=True)
class JsonResult:
    """A response in one piece, given up when its client disconnects (an ASGI application)."""

    outcome: Callable[[], Awaitable[Outcome]]
    formatter: ResponseFormatter
    headers: dict[str, str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response: Response | None = None
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                log.debug("request_left", request=self.headers["x-request-id"])
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            try:
                document = self.formatter.document(await self.outcome())
                response = JSONResponse(document, headers=self.headers)
            except ApiProblem as problem:
                response = refusal(problem)
                response.headers.update(self.headers)
            tasks.cancel_scope.cancel()
        if response is not None:
            await response(scope, receive, send)


def _receive(
    db: apsw.Connection, new: NewRequest, now: int, admit: Callable[[apsw.Connection], None]
) -> tuple[str, int]:
    """Run T1, and T2 of a request that belongs to no conversation."""
    found = api_requests.receive(db, new, now)
    admit(db)
    return found
