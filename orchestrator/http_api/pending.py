"""One request on its way: stored, waited for, answered whole or as it grows."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import TypeAlias

import anyio
import apsw
import structlog
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from orchestrator.errors import JournalError
from orchestrator.http_api.answers import Answer
from orchestrator.http_api.api_channel import Listener
from orchestrator.http_api.api_context import ApiContext
from orchestrator.http_api.error_response import ApiProblem
from orchestrator.http_api.guard import refusal
from orchestrator.http_api.request_body import ParsedRequest
from orchestrator.journal.turns import api_requests
from orchestrator.journal.turns.api_requests import (
    KeyReusedError,
    NewRequest,
    Outcome,
    UnknownPreviousError,
)
from thinker.protocol.methods import StopReason

KEEP_ALIVE = 15  # looks without news after which a stream sends a comment
RETRY = 5  # seconds after which to ask again what was not taken
Form: TypeAlias = Callable[[str, int, ParsedRequest], Answer]
log = structlog.get_logger()


class PendingResponse:
    """One request on its way: stored, waited for, answered (an ASGI application)."""

    def __init__(
        self, parts: ApiContext, question: ParsedRequest, new: NewRequest, form: Form
    ) -> None:
        self._with = parts
        self._question = question
        self._new = new
        self._form = form

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Store it (T1), then wait as long as the client does."""
        new, channel = self._new, self._with.channel
        with channel.listening(new.id) as listener:
            request_id, created = await self._stored()
            answer = self._form(request_id, created // 1000, self._question)
            if request_id == new.id:
                await self._answer(request_id, answer, listener)(scope, receive, send)
                return
        with channel.listening(request_id) as listener:  # it was asked before
            await self._answer(request_id, answer, listener)(scope, receive, send)

    async def _stored(self) -> tuple[str, int]:
        context, dispatcher, new = self._with, self._with.dispatcher, self._new
        try:
            with dispatcher.opening([] if new.own_chat is None else [new.own_chat]) as admit:
                found = await context.store.attempt(_receive, new, context.clock(), admit)
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
            told = f"the request was not taken: {error}"
            raise ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, told, retry=RETRY) from error
        log.info("request_accepted", request=found[0], agent_id=new.agent_id)
        if new.own_chat is None:
            dispatcher.wake()
        return found

    def _answer(
        self, request_id: str, answer: Answer, listener: Listener
    ) -> "JsonResult | Response":
        headers = {"x-request-id": request_id}
        if self._question.body.stream:
            headers |= {"cache-control": "no-cache"}
            events = self._events(request_id, answer, listener)
            return StreamingResponse(events, media_type="text/event-stream", headers=headers)
        return JsonResult(partial(self._outcome, request_id, listener), answer, headers)

    async def _events(
        self, request_id: str, answer: Answer, listener: Listener
    ) -> AsyncIterator[bytes]:
        yield answer.begin()
        silent = 0
        try:
            async for news in self._follow(request_id, listener):
                if isinstance(news, Outcome):
                    yield answer.end(news)
                    continue
                sent = answer.grow(news)
                silent = 0 if sent else (silent + 1) % KEEP_ALIVE
                if sent or not silent:
                    yield sent or b": the agent is at work\n\n"
        except ApiProblem as problem:
            yield answer.fail(problem)

    async def _outcome(self, request_id: str, listener: Listener) -> Outcome:
        async for news in self._follow(request_id, listener):
            if isinstance(news, Outcome):
                return news
        raise ApiProblem(HTTPStatus.INTERNAL_SERVER_ERROR, "the request has no outcome")

    async def _follow(self, request_id: str, listener: Listener) -> AsyncIterator[str | Outcome]:
        """As the channel does; an outcome that is no answer is a problem."""
        agent_id = self._new.agent_id
        async for news in self._with.channel.follow(request_id, agent_id, listener):
            if isinstance(news, Outcome) and news.error is not None:
                late = news.stop_reason is StopReason.DEADLINE
                status = HTTPStatus.GATEWAY_TIMEOUT if late else HTTPStatus.BAD_GATEWAY
                told = news.text if news.error == news.text else f"{news.text} ({news.error})"
                raise ApiProblem(status, told, code=news.stop_reason.value)
            yield news


class JsonResult:
    """An answer in one piece, unless its client goes away before."""

    def __init__(
        self, outcome: Callable[[], Awaitable[Outcome]], answer: Answer, headers: dict[str, str]
    ) -> None:
        self._outcome = outcome
        self._answer = answer
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Wait and answer."""
        response: Response | None = None
        problem: ApiProblem | None = None
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                log.info("request_left", request=self._headers["x-request-id"])
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            try:
                document = self._answer.document(await self._outcome())
                response = JSONResponse(document, headers=self._headers)
            except ApiProblem as found:
                problem = found
            tasks.cancel_scope.cancel()
        if problem is not None:
            response = refusal(problem)
            response.headers.update(self._headers)
        if response is not None:
            await response(scope, receive, send)


def _receive(
    db: apsw.Connection, new: NewRequest, now: int, admit: Callable[[apsw.Connection], None]
) -> tuple[str, int]:
    """T1, and T2 of what stands alone."""
    found = api_requests.receive(db, new, now)
    admit(db)
    return found
