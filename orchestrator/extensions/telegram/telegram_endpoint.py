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

from orchestrator.channel_api import ChannelStatus
from orchestrator.control.operations import DaemonOperations
from orchestrator.web.app import RETRY, read_body
from orchestrator.web.error_response import ApiProblem
from orchestrator.web.refusal import Refusal
from orchestrator.web.request_limits import WINDOW, WrongTokens


@runtime_checkable
class PushTarget(Protocol):
    """A channel whose platform may push its updates to the daemon, one in each request."""

    status: ChannelStatus

    @property
    def push_secret(self) -> str | None:
        """The secret that the platform sends with each push; None if pushing is off."""

    async def store_pushed_update(self, raw: bytes) -> str:
        """Store the update in a body, so that it can be acknowledged.

        Returns the reason why that is impossible for now; empty once the update is stored.
        """


SECRET = "x-telegram-bot-api-secret-token"  # noqa: S105 - a header's name
MAX_BODY = 2 * 1024 * 1024  # bytes; Telegram's own updates have some KB
BODY_TIMEOUT = 10.0  # seconds for a body to arrive
log = structlog.get_logger()


@dataclass
class TelegramEndpoint:
    """The endpoint to which the proxy forwards Telegram; its secret tells which bot is meant."""

    daemon: DaemonOperations
    _wrong: WrongTokens = field(default_factory=lambda: WrongTokens(what="secrets of Telegram"))
    _warned_at: float = field(default=-WINDOW, init=False)

    async def receive_update(self, request: Request) -> Response:
        """Answer 200 for an update that is stored, or never can be."""
        bots = {
            one.push_secret: one
            for one in self.daemon.adapters.values()
            if isinstance(one, PushTarget) and one.push_secret is not None
        }
        if not bots:
            message = "channels.telegram.webhook is not in use"
            return Refusal(ApiProblem(HTTPStatus.NOT_FOUND, message), close=True)
        shown = request.headers.get(SECRET, "").encode()
        same = [hmac.compare_digest(shown, secret.encode()) for secret in bots]  # of each one
        if not any(same):
            for bot in bots.values():
                bot.status.refused += 1
            return Refusal(self._refuse_secret(), close=True)  # do not wait for a stranger's body
        channel = list(bots.values())[same.index(True)]
        try:
            raw = await read_body(request, MAX_BODY, BODY_TIMEOUT)
        except ApiProblem as refused:
            if refused.status is not HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                raise
            log.warning("telegram_update_unreadable", problem=str(refused))
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
