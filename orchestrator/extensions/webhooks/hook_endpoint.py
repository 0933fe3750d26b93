"""``POST /hooks/NAME``: turn a delivery into a message, once.

The message is committed before the answer, so a sender without an answer can safely repeat it.

Where: does a webhook become a message?
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from uuid import uuid4

import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from orchestrator.control.operations import DaemonOperations
from orchestrator.errors import JournalError
from orchestrator.extensions.webhooks import deliveries, hook_template
from orchestrator.extensions.webhooks.deliveries import NewDelivery
from orchestrator.extensions.webhooks.hook_body import PayloadError, read_payload
from orchestrator.extensions.webhooks.hook_settings import HookChannel, IncomingHook
from orchestrator.extensions.webhooks.hook_template import HookEvent, MissingValueError
from orchestrator.extensions.webhooks.signatures import check_signature, read_signed_text
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns.outbox import HOOKS, Address
from orchestrator.web.app import RETRY, read_body, run_on_body
from orchestrator.web.error_response import ApiProblem, make_invalid_problem
from orchestrator.web.request_limits import WrongTokens
from thinker.protocol.fencing import compute_mark
from thinker.protocol.names import ChatName

MAX_BODY = 2 * 1024 * 1024  # bytes
BODY_TIMEOUT = 10.0  # seconds for a body to arrive
MAX_ID = 255  # characters
OF_STRANGERS = (  # statuses that need no secret, and could flood the log
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

    async def receive_delivery(self, request: Request) -> Response:
        """Answer 202 for a new delivery, 200 for a known or filtered one."""
        name = str(request.path_params["name"])
        try:
            return await self._receive_hook(request, name)
        except ApiProblem as problem:
            found = (problem.status in OF_STRANGERS and self._wrong.count_wrong_token()) or problem
            self._record_refusal(name, found)
            raise found from None

    async def _receive_hook(self, request: Request, name: str) -> Response:
        raw = await read_body(request, MAX_BODY, BODY_TIMEOUT)  # bounded, also where no hook is
        hooks = self.daemon.configuration.file.channels.get_settings(HookChannel)
        hook = hooks.incoming.get(name) if hooks.enabled else None
        if hook is None:
            message = f"unknown webhook {name!r}; add it to channels.hook.incoming"
            raise ApiProblem(HTTPStatus.NOT_FOUND, message)
        self._require_authentic(hook, raw, request)
        delivery = _find_delivery_id(hook, raw, request)
        payload = await run_on_body(raw, _parse_payload, raw, request)
        if not hook_template.matches_filter(hook.only, payload):
            return JSONResponse({"id": delivery, "status": "ignored"})
        try:
            text = hook_template.fill_template(
                hook.template, payload, compute_mark(uuid4().hex), f"the webhook {name}"
            )
        except MissingValueError as error:
            message = f"{error}, which the template of webhook {name!r} needs"
            raise ApiProblem(HTTPStatus.UNPROCESSABLE_ENTITY, message) from error
        signed = read_signed_text(hook.signature, raw, request.headers[hook.signature.header])
        new = NewDelivery(
            name,
            delivery,
            hook.agent_id,
            text,
            notify=self._find_notified_chat(name, hook),
            signed=signed,
            once_ms=1000 * _find_once_seconds(hook),
        )
        fresh = await self._store_delivery(new)
        log.info("webhook", hook=name, delivery=delivery, agent_id=hook.agent_id, new=fresh)
        status = HTTPStatus.ACCEPTED if fresh else HTTPStatus.OK
        return JSONResponse({"id": delivery, "status": "accepted" if fresh else "repeated"}, status)

    def _require_authentic(self, hook: IncomingHook, raw: bytes, request: Request) -> None:
        """Refuse deliveries without a valid signature, or without an agent to answer."""
        header = request.headers.get(hook.signature.header)
        why = check_signature(hook.signature, hook.secret, raw, header, self.daemon.clock() / 1000)
        if why is not None:
            raise ApiProblem(HTTPStatus.UNAUTHORIZED, why, code="invalid_signature")
        if hook.agent_id not in self.daemon.configuration.file.list_enabled_ids():
            message = f"agent {hook.agent_id!r} of this webhook is disabled"
            raise ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, message)

    def _find_notified_chat(self, name: str, hook: IncomingHook) -> Address | None:
        if hook.notify_chat is None:
            return None
        chat = ChatName.parse(hook.notify_chat)
        adapter = self.daemon.adapters.get(chat.channel)
        if adapter is None:
            log.warning("hook_chat_unreachable", hook=name, chat=hook.notify_chat)
            return None
        return Address.for_unmet_chat(chat.channel, adapter.bot_id, chat.chat_id, chat.thread_id)

    async def _store_delivery(self, new: NewDelivery) -> bool:
        dispatcher = self.daemon.dispatcher
        if not dispatcher.opener.admitting:
            message = "the daemon is stopping; try again in a moment"
            raise ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, message, retry=RETRY)
        try:
            with dispatcher.hold_chats([new.own_chat.chat_key]) as admit:
                return await self.daemon.store.transact_once(
                    _insert_delivery, new, self.daemon.clock(), admit
                )
        except JournalError as error:
            message = f"the message could not be stored: {error}"
            raise ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, message, retry=RETRY) from error

    def _record_refusal(self, name: str, problem: ApiProblem) -> None:
        if problem.status is not HTTPStatus.TOO_MANY_REQUESTS:  # or else the log would fill
            log.warning(
                "webhook_refused", hook=name[:64], status=int(problem.status), problem=str(problem)
            )
        self.daemon.adapters[HOOKS].status.refused += 1


def _insert_delivery(
    db: Database,
    new: NewDelivery,
    now: int,
    admit: Callable[[Database], None],
) -> bool:
    fresh = deliveries.store_delivery(db, new, now)
    if fresh:
        admit(db)
    return fresh


def _parse_payload(raw: bytes, request: Request) -> HookEvent:
    try:
        body = read_payload(request.headers.get("content-type", ""), raw)
    except PayloadError as error:
        raise make_invalid_problem(None, str(error)) from error
    return HookEvent(body, {name.lower(): value for name, value in request.headers.items()})


def _find_once_seconds(hook: IncomingHook) -> int:
    """Return for how long a signed text counts once; with a time, a sender signs it once."""
    if hook.signature.style == "timestamp":
        return max(hook.same_body_seconds, 2 * hook.signature.tolerance_seconds)
    return hook.same_body_seconds


def _find_delivery_id(hook: IncomingHook, raw: bytes, request: Request) -> str:
    found = request.headers.get(hook.id_header)
    if found is None:
        return hashlib.sha256(raw).hexdigest()
    if not (0 < len(found) <= MAX_ID and found.isascii() and found.isprintable()):
        message = f"{hook.id_header} must have 1 to {MAX_ID} printable ASCII characters"
        raise make_invalid_problem(hook.id_header, message)
    return found
