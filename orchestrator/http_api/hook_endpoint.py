"""``POST /hooks/NAME``: what a webhook brings becomes a message, once.

The message is committed before the answer, so a sender that gets none sends it again, and nothing
starts a second time.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from uuid import uuid4

import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from orchestrator.agentsfile import hook_template
from orchestrator.agentsfile.hook_settings import IncomingHook
from orchestrator.agentsfile.hook_template import HookEvent, MissingValueError
from orchestrator.channels.hook.hook_body import PayloadError, read_payload
from orchestrator.channels.hook.signatures import objection
from orchestrator.control.operations import DaemonOperations
from orchestrator.errors import JournalError
from orchestrator.http_api.app import RETRY, read_body, work_on
from orchestrator.http_api.error_response import ApiProblem, invalid
from orchestrator.http_api.guard import WrongTokens
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import deliveries
from orchestrator.journal.turns.deliveries import NewDelivery
from orchestrator.journal.turns.outbox import HOOKS, Address
from thinker.protocol.fencing import mark_of
from thinker.protocol.names import ChatName

MAX_BODY = 2 * 1024 * 1024  # bytes
BODY_TIMEOUT = 10.0  # seconds for a body to arrive
MAX_ID = 255  # characters
OF_STRANGERS = (  # statuses that need no secret, and could be had without end
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.REQUEST_TIMEOUT,
)
log = structlog.get_logger()


@dataclass(frozen=True)
class HookEndpoint:
    """The endpoint of all incoming webhooks."""

    daemon: DaemonOperations
    _wrong: WrongTokens = field(default_factory=lambda: WrongTokens(what="webhooks"))

    async def take(self, request: Request) -> Response:
        """Answer 202 for a new delivery, 200 for one that is known or does not count."""
        name = str(request.path_params["name"])
        try:
            return await self._taken(request, name)
        except ApiProblem as problem:
            found = (problem.status in OF_STRANGERS and self._wrong.too_many()) or problem
            self._refused(name, found)
            raise found from None

    async def _taken(self, request: Request, name: str) -> Response:
        raw = await read_body(request, MAX_BODY, BODY_TIMEOUT)  # bounded, also where no hook is
        hooks = self.daemon.configuration.file.channels.hook
        hook = hooks.incoming.get(name) if hooks.enabled else None
        if hook is None:
            message = f"there is no webhook {name!r} in channels.hook.incoming"
            raise ApiProblem(HTTPStatus.NOT_FOUND, message)
        self._check(hook, raw, request)
        delivery = _delivery_id(hook, raw, request)
        payload = await work_on(raw, _payload, raw, request)
        if not hook_template.selected(hook.only, payload):
            return JSONResponse({"id": delivery, "status": "ignored"})
        try:
            text = hook_template.filled(
                hook.template, payload, mark_of(uuid4().hex), f"the webhook {name}"
            )
        except MissingValueError as error:
            message = f"{error}, which the template of webhook {name!r} needs"
            raise ApiProblem(HTTPStatus.UNPROCESSABLE_ENTITY, message) from error
        new = NewDelivery(name, delivery, hook.agent_id, text, self._notified(name, hook))
        fresh = await self._stored(new)
        log.info("webhook", hook=name, delivery=delivery, agent_id=hook.agent_id, new=fresh)
        status = HTTPStatus.ACCEPTED if fresh else HTTPStatus.OK
        return JSONResponse({"id": delivery, "status": "accepted" if fresh else "repeated"}, status)

    def _check(self, hook: IncomingHook, raw: bytes, request: Request) -> None:
        """Refuse what the holder of the secret did not send, and what no agent would answer."""
        header = request.headers.get(hook.signature.header)
        why = objection(hook.signature, hook.secret, raw, header, self.daemon.clock() / 1000)
        if why is not None:
            raise ApiProblem(HTTPStatus.UNAUTHORIZED, why, code="invalid_signature")
        if hook.agent_id not in self.daemon.configuration.file.usable():
            message = f"agent {hook.agent_id!r} of this webhook is disabled"
            raise ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, message)

    def _notified(self, name: str, hook: IncomingHook) -> Address | None:
        if hook.notify_chat is None:
            return None
        chat = ChatName.parse(hook.notify_chat)
        adapter = self.daemon.adapters.get(chat.channel)
        if adapter is None:
            log.warning("hook_chat_unreachable", hook=name, chat=hook.notify_chat)
            return None
        return Address.of_unmet(chat.channel, adapter.bot_id, chat.chat_id, chat.thread_id)

    async def _stored(self, new: NewDelivery) -> bool:
        dispatcher = self.daemon.dispatcher
        if not dispatcher.opener.admitting:
            message = "the daemon is stopping; try again in a moment"
            raise ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, message, retry=RETRY)
        try:
            with dispatcher.opening([new.own_chat.chat_key]) as admit:
                return await self.daemon.store.attempt(_receive, new, self.daemon.clock(), admit)
        except JournalError as error:
            message = f"the message could not be stored: {error}"
            raise ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, message, retry=RETRY) from error

    def _refused(self, name: str, problem: ApiProblem) -> None:
        if problem.status is not HTTPStatus.TOO_MANY_REQUESTS:  # or else the log would fill
            log.warning(
                "webhook_refused", hook=name[:64], status=int(problem.status), problem=str(problem)
            )
        self.daemon.adapters[HOOKS].status.refused += 1


def _receive(
    db: Database,
    new: NewDelivery,
    now: int,
    admit: Callable[[Database], None],
) -> bool:
    fresh = deliveries.receive(db, new, now)
    if fresh:
        admit(db)
    return fresh


def _payload(raw: bytes, request: Request) -> HookEvent:
    try:
        body = read_payload(request.headers.get("content-type", ""), raw)
    except PayloadError as error:
        raise invalid(None, str(error)) from error
    return HookEvent(body, {name.lower(): value for name, value in request.headers.items()})


def _delivery_id(hook: IncomingHook, raw: bytes, request: Request) -> str:
    found = request.headers.get(hook.id_header)
    if found is None:
        return hashlib.sha256(raw).hexdigest()
    if not (0 < len(found) <= MAX_ID and found.isascii() and found.isprintable()):
        message = f"{hook.id_header} must have 1 to {MAX_ID} printable ASCII characters"
        raise invalid(hook.id_header, message)
    return found
