"""``POST /telegram``: an update that Telegram pushes is stored, and only then acknowledged.

Telegram repeats what is not answered 2xx, and sends nothing newer meanwhile.
"""

import hmac
from dataclasses import dataclass, field
from http import HTTPStatus

import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from orchestrator.channel_api import PushTarget
from orchestrator.control.operations import DaemonOperations
from orchestrator.http_api.app import RETRY, read_body
from orchestrator.http_api.error_response import ApiProblem
from orchestrator.http_api.guard import WINDOW, WrongTokens
from orchestrator.http_api.refusal import Refusal

CHANNEL = "telegram"
SECRET = "x-telegram-bot-api-secret-token"  # noqa: S105 - a header's name
MAX_BODY = 2 * 1024 * 1024  # bytes; Telegram's own updates have some KB
BODY_TIMEOUT = 10.0  # seconds for a body to arrive
log = structlog.get_logger()


@dataclass
class TelegramEndpoint:
    """The endpoint that the proxy leads Telegram to."""

    daemon: DaemonOperations
    _wrong: WrongTokens = field(default_factory=lambda: WrongTokens(what="secrets of Telegram"))
    _warned_at: float = field(default=-WINDOW, init=False)

    async def take(self, request: Request) -> Response:
        """Answer 200 for an update that is stored, or that can never be."""
        channel = self.daemon.adapters.get(CHANNEL)
        if not isinstance(channel, PushTarget) or channel.push_secret is None:
            message = "channels.telegram.webhook is not in use"
            return Refusal(ApiProblem(HTTPStatus.NOT_FOUND, message), close=True)
        shown = request.headers.get(SECRET, "")
        if not hmac.compare_digest(shown.encode(), channel.push_secret.encode()):
            channel.status.refused += 1
            return Refusal(self._refused(), close=True)  # a stranger's body is not waited for
        try:
            raw = await read_body(request, MAX_BODY, BODY_TIMEOUT)
        except ApiProblem as problem:
            if problem.status is not HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                raise
            log.warning("telegram_update_unreadable", problem=str(problem))
            return JSONResponse({})  # or else Telegram would send nothing newer
        problem = await channel.pushed(raw)
        if problem:
            raise ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, problem, retry=RETRY)
        return JSONResponse({})

    def _refused(self) -> ApiProblem:
        """Return the problem of a wrong secret; log one a minute."""
        message = f"the secret of Telegram in {SECRET} is missing or wrong"
        now = self._wrong.clock()
        if now - self._warned_at >= WINDOW:
            self._warned_at = now
            log.warning("telegram_push_refused", problem=message)
        return self._wrong.too_many() or ApiProblem(
            HTTPStatus.UNAUTHORIZED, message, code="invalid_secret"
        )
