"""Carry out what people do on the page: each act is checked against the role, and audited."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import orjson
from pydantic import JsonValue, ValidationError

from orchestrator.control import protocol
from orchestrator.errors import JournalError, OrchestratorError
from orchestrator.extensions.page.daemon_side.login_desk import PageLogins
from orchestrator.extensions.page.daemon_side.page_access import (
    READ_METHODS,
    can_call_method,
    select_audited_fields,
)
from orchestrator.extensions.page.daemon_side.page_protocol import (
    ACT,
    NOT_PERMITTED,
    WEB_SEND,
    PageAct,
    ShownDecision,
    WebSend,
)
from orchestrator.extensions.page.daemon_side.shared_status import SharedStatus
from orchestrator.extensions.page.daemon_side.web_channel import can_write_chat
from orchestrator.extensions.page.reads.decision_log import NOT_DONE
from orchestrator.extensions.page.reads.web_sessions import WebSession
from orchestrator.journal.db import audit
from orchestrator.journal.db.store import Store
from orchestrator.loop_bound import LoopBound
from orchestrator.wakeup import Wakeup
from thinker.protocol.peer import FAILED, NO_METHOD, Params, RequestHandler, RpcError

MAX_ANSWERS = 100  # kept for forms that are sent twice; those of edits have whole texts
MAX_SUBJECT = 200  # characters of what an entry of the audit log is about
NO_SESSION = "this login has ended; run: orchestrator dashboard"
NOT_ALLOWED = "the role {role!r} may not do this; ask an operator"
NO_FORM = "this was not sent by a form of the page; reload the page, and send it again"
Handlers = Callable[[str], Mapping[str, RequestHandler]]


@dataclass
class PageDesk(LoopBound):
    """The supervisor's side of the page.

    ``send`` stores a message to a chat of the page, ``acting`` returns the control socket's
    methods for a person, ``monotonic`` returns seconds.
    """

    store: Store
    logins: PageLogins
    acting: Handlers
    send: Callable[[WebSession, WebSend], Awaitable[None]]
    clock: Callable[[], int]
    monotonic: Callable[[], float]
    _answers: OrderedDict[tuple[str, ...], Params] = field(default_factory=OrderedDict, init=False)
    _running: set[tuple[str, ...]] = field(default_factory=set, init=False)  # forms
    _finished: Wakeup = field(default_factory=Wakeup, init=False)

    def __post_init__(self) -> None:
        self._looks = SharedStatus(self.monotonic)

    @property
    def page_methods(self) -> dict[str, RequestHandler]:
        """The methods for the page's process."""
        return {**self.logins.page_methods, ACT: self._perform_act}

    async def _perform_act(self, params: JsonValue) -> Params:
        """Call a method for a session, once per form."""
        asked = PageAct.model_validate(params)
        session = await self._require_session(asked)
        handler = self._looks.share_handlers(self.acting(f"web:{session.user}")).get(asked.method)
        if asked.method == WEB_SEND:
            handler = partial(self._accept_page_message, session, asked.once)
        if handler is None:
            raise RpcError(NO_METHOD, f"unknown method {asked.method!r}")
        try:
            if asked.method in READ_METHODS:
                return await handler(asked.params)
            if not asked.once:
                raise RpcError(FAILED, NO_FORM)
            if asked.method == protocol.APPROVAL_DECIDE:
                ShownDecision.model_validate(asked.params)
            return await self._perform_once(session, asked, handler)
        except ValidationError as error:
            raise RpcError(FAILED, _describe_wrong_fields(error)) from error

    async def _perform_once(
        self, session: WebSession, asked: PageAct, handler: RequestHandler
    ) -> Params:
        """Carry out a method of a form; the same form again gets the first answer."""
        key = asked.digest, asked.once, asked.method
        while key in self._running:  # sent twice at the same time
            await self._finished.changed.wait()
        if key in self._answers:
            return self._answers[key]
        self._running.add(key)
        try:
            await self._record_audit(session, asked, asked.method)
            answer = self._answers[key] = await self._perform_audited(session, asked, handler)
        finally:
            self._looks.forget_answers()
            self._running.discard(key)
            self._finished.wake()
        while len(self._answers) > MAX_ANSWERS:
            self._answers.popitem(last=False)
        return answer

    async def _perform_audited(
        self, session: WebSession, asked: PageAct, handler: RequestHandler
    ) -> Params:
        """Call the handler; an act that fails has a second entry in the audit log."""
        try:
            answer = await handler(asked.params)
        except (RpcError, OrchestratorError, ValueError):
            await self._record_audit(session, asked, f"{asked.method}{NOT_DONE}")
            raise
        if any(_read_field(answer, name) is False for name in ("saved", "works")):
            await self._record_audit(session, asked, f"{asked.method}{NOT_DONE}")
        return answer

    async def _accept_page_message(
        self, session: WebSession, once: str, params: JsonValue
    ) -> protocol.Ack:
        fields = params if isinstance(params, dict) else {}
        sent = WebSend.model_validate({**fields, "once": once})
        if not sent.text.strip() and not sent.files:
            raise RpcError(FAILED, "nothing to send; write something, or choose a file")
        if not can_write_chat(session, sent.chat):
            raise RpcError(FAILED, f"{session.user} may only write to chats of {session.user}")
        agents = session.agent_ids
        if agents is not None and sent.agent not in agents:
            raise RpcError(FAILED, f"{session.user} may not write to the agent {sent.agent!r}")
        try:
            await self.send(session, sent)
        except JournalError as error:
            raise RpcError(FAILED, f"the message was not stored: {error}") from error
        return protocol.Ack()

    async def _require_session(self, asked: PageAct) -> WebSession:
        session = await self.logins.find_session(asked.digest)
        if session is None:
            raise RpcError(FAILED, NO_SESSION)
        if not can_call_method(session.role, asked.method, asked.params):
            raise RpcError(NOT_PERMITTED, NOT_ALLOWED.format(role=session.role))
        return session

    async def _record_audit(self, session: WebSession, asked: PageAct, act: str) -> None:
        subject = orjson.dumps(select_audited_fields(asked.params)).decode()[:MAX_SUBJECT]
        actor = f"web:{session.user}"
        try:
            await self.store.transact(audit.record_decision, actor, act, subject, self.clock())
        except JournalError as error:
            raise RpcError(FAILED, f"not done: {error}") from error


def _read_field(answer: Params, name: str) -> object:
    return answer.get(name) if isinstance(answer, dict) else getattr(answer, name, None)


def _describe_wrong_fields(error: ValidationError) -> str:
    fields = ", ".join(dict.fromkeys(str(one["loc"][0]) for one in error.errors() if one["loc"]))
    return f"the form has no valid value for {fields}; correct it, or reload the page"
