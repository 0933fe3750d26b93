"""The response to a request that is stored, waited for, and sent whole or as a stream."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeAlias

import structlog
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from orchestrator.control.operations import DaemonOperations
from orchestrator.errors import JournalError, OrchestratorError
from orchestrator.extensions.http_api import new_requests
from orchestrator.extensions.http_api.api_channel import ApiChannel, Listener
from orchestrator.extensions.http_api.api_conversations import (
    OtherConversationError,
    UnknownConversationError,
)
from orchestrator.extensions.http_api.new_requests import (
    KeyReusedError,
    NewRequest,
    UnknownPreviousError,
)
from orchestrator.extensions.http_api.parsed_request import ParsedRequest
from orchestrator.extensions.http_api.response_formatters import (
    ResponseFormatter,
    find_outcome_problem,
)
from orchestrator.extensions.http_api.stored_requests import Outcome
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import pauses
from orchestrator.web.app import RETRY
from orchestrator.web.error_response import ApiProblem
from orchestrator.web.refusal import REQUEST_ID, Refusal

QUIET_INTERVALS = 15  # after which a stream sends a comment
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
        """Store the request (T1), then wait for its outcome while the client does."""
        new, channel = self.new, self.channel
        with channel.register_listener(
            new.id
        ):  # before it is stored: its reply counts as delivered
            request_id, created = await self._store_request()
            formatter = self.formatter(request_id, created // 1000, self.request)
            with channel.register_listener(
                request_id
            ) as listener:  # the first one's, if it is repeated
                response = await self._build_response(request_id, formatter, listener, receive)
                for name in REQUEST_ID:
                    response.headers[name] = request_id
                await response(scope, receive, send)

    async def _store_request(self) -> tuple[str, int]:
        dispatcher, new = self.daemon.dispatcher, self.new
        if not dispatcher.opener.admitting:
            message = "the daemon is stopping; try again in a moment"
            raise ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, message, retry=RETRY)
        try:
            with dispatcher.hold_chats([] if new.own_chat is None else [new.own_chat]) as admit:
                stored = await self.daemon.store.transact_once(
                    _insert_request, new, self.daemon.clock(), admit
                )
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
        except UnknownConversationError as error:
            raise _make_conversation_problem(HTTPStatus.NOT_FOUND, error) from error
        except OtherConversationError as error:
            raise _make_conversation_problem(HTTPStatus.BAD_REQUEST, error) from error
        except JournalError as error:
            message = f"the request could not be stored: {error}"
            raise ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, message, retry=RETRY) from error
        log.debug("request_accepted", request=stored[0], agent_id=new.agent_id)
        if new.own_chat is None:
            dispatcher.wake()
        return stored

    async def _build_response(
        self,
        request_id: str,
        formatter: ResponseFormatter,
        listener: Listener,
        receive: Receive,
    ) -> Response:
        if self.request.body.stream:
            events, headers = (
                self._stream_events(request_id, formatter, listener),
                {"cache-control": "no-cache"},
            )
            return StreamingResponse(events, media_type="text/event-stream", headers=headers)
        left = asyncio.create_task(_watch_disconnect(listener, receive))
        try:
            return JSONResponse(
                formatter.build_document(await self._wait_for_outcome(request_id, listener))
            )
        except ApiProblem as problem:
            return Refusal(problem)
        finally:
            left.cancel()

    async def _stream_events(
        self, request_id: str, formatter: ResponseFormatter, listener: Listener
    ) -> AsyncIterator[bytes]:
        yield formatter.begin_stream()
        silent = 0
        try:
            async for news in self._follow_answer(request_id, listener):
                if isinstance(news, Outcome):
                    yield formatter.end_stream(news)
                    continue
                grown = formatter.extend_stream(news)
                silent = 0 if grown else (silent + 1) % QUIET_INTERVALS
                if grown or not silent:
                    yield grown or b": the agent is at work\n\n"
        except ApiProblem as problem:
            yield formatter.fail_stream(problem)

    async def _wait_for_outcome(self, request_id: str, listener: Listener) -> Outcome:
        async for news in self._follow_answer(request_id, listener):
            if isinstance(news, Outcome):
                return news
        log.debug("request_left", request=request_id)
        raise ApiProblem(HTTPStatus.INTERNAL_SERVER_ERROR, "the client disconnected")

    async def _follow_answer(
        self, request_id: str, listener: Listener
    ) -> AsyncIterator[str | Outcome]:
        """Follow the request, and raise an `ApiProblem` for an outcome that is not an answer."""
        async for news in self.channel.follow_request(request_id, self.new.agent_id, listener):
            problem = find_outcome_problem(news) if isinstance(news, Outcome) else None
            if problem is not None:
                raise problem
            yield news


def _make_conversation_problem(status: HTTPStatus, error: OrchestratorError) -> ApiProblem:
    code = "conversation_not_found" if status is HTTPStatus.NOT_FOUND else "invalid_request_error"
    return ApiProblem(status, str(error), code=code, param="conversation")


async def _watch_disconnect(listener: Listener, receive: Receive) -> None:
    """Stop a client's wait once it has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass
    listener.left = True
    listener.wake()


def _insert_request(
    db: Database, new: NewRequest, now: int, admit: Callable[[Database], None]
) -> tuple[str, int]:
    """Run T1, and T2 for a request outside of conversations, unless the agent is paused."""
    pause = pauses.find_pause(db, new.agent_id)
    if pause is not None:
        message = f"the agent is paused: {pause.reason}"
        raise ApiProblem(HTTPStatus.TOO_MANY_REQUESTS, message, code="agent_paused")
    found = new_requests.store_request(db, new, now)
    admit(db)
    return found
