"""``POST /telegram``: store a pushed update, and only then acknowledge it.

Telegram repeats an update until it is answered 2xx, and sends nothing newer meanwhile.
"""

import hmac
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Protocol, runtime_checkable

import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from orchestrator.control.operations import DaemonOperations
from orchestrator.web.app import RETRY, read_body
from orchestrator.web.error_response import ApiProblem
from orchestrator.web.refusal import Refusal
from orchestrator.web.request_limits import WINDOW, WrongTokens


@runtime_checkable
class PushTarget(Protocol):
    """A channel whose platform may push its updates to the daemon, one in each request."""

    @property
    def push_secret(self) -> str | None:
        """The secret that the platform sends with each push; None if pushing is off."""

    async def store_pushed_update(self, raw: bytes) -> str:
        """Store the update in a body, so that it can be acknowledged.

        Returns the reason why that is impossible for now; empty once the update is stored.
        """


CHANNEL = "telegram"
SECRET = "x-telegram-bot-api-secret-token"  # noqa: S105 - a header's name
MAX_BODY = 2 * 1024 * 1024  # bytes; Telegram's own updates have some KB
BODY_TIMEOUT = 10.0  # seconds for a body to arrive
log = structlog.get_logger()


@dataclass
class TelegramEndpoint:
    """The endpoint to which the proxy forwards Telegram."""

    daemon: DaemonOperations
    _wrong: WrongTokens = field(default_factory=lambda: WrongTokens(what="secrets of Telegram"))
    _warned_at: float = field(default=-WINDOW, init=False)

    async def receive_update(self, request: Request) -> Response:
        """Answer 200 for an update that is stored, or never can be."""
        channel = self.daemon.adapters.get(CHANNEL)
        if not isinstance(channel, PushTarget) or channel.push_secret is None:
            message = "channels.telegram.webhook is not in use"
            return Refusal(ApiProblem(HTTPStatus.NOT_FOUND, message), close=True)
        shown = request.headers.get(SECRET, "")
        if not hmac.compare_digest(shown.encode(), channel.push_secret.encode()):
            channel.status.refused += 1
            return Refusal(self._refuse_secret(), close=True)  # do not wait for a stranger's body
        try:
            raw = await read_body(request, MAX_BODY, BODY_TIMEOUT)
        except ApiProblem as problem:
            if problem.status is not HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                raise
            log.warning("telegram_update_unreadable", problem=str(problem))
            return JSONResponse({})  # otherwise Telegram would send nothing newer
        problem = await channel.store_pushed_update(raw)
        if problem:
            raise ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, problem, retry=RETRY)
        return JSONResponse({})

    def _refuse_secret(self) -> ApiProblem:
        """Return the problem of a wrong secret; log one per minute."""
        message = f"the secret of Telegram in {SECRET} is missing or wrong"
        now = self._wrong.clock()
        if now - self._warned_at >= WINDOW:
            self._warned_at = now
            log.warning("telegram_push_refused", problem=message)
        return self._wrong.count_wrong_token() or ApiProblem(
            HTTPStatus.UNAUTHORIZED, message, code="invalid_secret"
        )
