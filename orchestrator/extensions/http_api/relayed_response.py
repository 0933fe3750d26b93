"""The response of another node, passed to the client as it arrives."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import anyio
import structlog

from thinker.http.exchange import HttpAnswer, HttpError

if TYPE_CHECKING:  # a web server is loaded by those alone who need it
    from starlette.types import Receive, Scope, Send

PASSED = (  # headers
    "cache-control",
    "content-type",
    "request-id",
    "retry-after",
    "x-request-id",
    "x-should-retry",
)
log = structlog.get_logger()


@dataclass(frozen=True)
class RelayedResponse:
    """An ASGI application that relays an answer, no faster than the client reads it.

    It ends early, without the end of the body, if the client leaves or ``moved`` returns, because
    the node has lost the agent.
    """

    answer: HttpAnswer
    moved: Callable[[], Awaitable[None]]

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        del scope
        answer = self.answer
        headers = [
            (name.encode(), answer.headers[name].encode("latin-1"))
            for name in PASSED
            if name in answer.headers
        ]
        start = {"type": "http.response.start", "status": answer.status, "headers": headers}
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._close_when, self.moved)
                tasks.start_soon(self._close_when, partial(wait_for_disconnect, receive))
                await send(start)
                await self._send_body(send)
                tasks.cancel_scope.cancel()
        finally:
            answer.close()

    async def _send_body(self, send: "Send") -> None:
        try:
            async for piece in self.answer.iter_pieces():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except HttpError as error:  # the client sees the connection end
            log.warning("node_lost", problem=str(error))
        else:
            await send({"type": "http.response.body", "body": b""})

    async def _close_when(self, wait: Callable[[], Awaitable[None]]) -> None:
        await wait()
        self.answer.close()


async def wait_for_disconnect(receive: "Receive") -> None:
    """Wait until the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
