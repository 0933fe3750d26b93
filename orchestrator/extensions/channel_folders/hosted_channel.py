"""The daemon's side of a chat system that runs in a channel host.

Its process runs while agents.json has the channel and its secrets are known, and is replaced with
back-off when it dies or hangs. Messages come and go over `orchestrator.channelhost.channel_wire`.

Where: does the daemon talk to a channel in its own process?
"""

import base64
import importlib
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType

import anyio
import structlog
from pydantic import JsonValue, ValidationError

from orchestrator.agentsfile import AgentsFile
from orchestrator.agentsfile.agents_file import SandboxMode
from orchestrator.agentsfile.channel_kinds import ChannelKind, name_secret
from orchestrator.channel_api import (
    EDIT,
    REMOVAL,
    Attachment,
    ChannelStatus,
    InboundMessage,
    Intake,
    OutboundPart,
    ReplyPart,
    SendError,
    SendOutcome,
)
from orchestrator.channelhost import channel_wire as wire
from orchestrator.channels.pacing import Rate, RateLimiter
from orchestrator.channels.sender_names import format_sender_name
from orchestrator.errors import JournalError
from orchestrator.extras import explain_missing
from orchestrator.failpoints import failpoint
from orchestrator.processes.child_process import ChildProcess, Program, Spawn, run_child
from orchestrator.processes.jail_requirement import require_jail
from orchestrator.processes.kept_child import KeptChild
from orchestrator.processes.restarts import ExitKind
from orchestrator.settings import Settings
from thinker.protocol.env import select_inherited_variables
from thinker.protocol.messages import FileContent
from thinker.protocol.peer import (
    FAILED,
    NotificationHandler,
    PeerClosedError,
    RequestHandler,
    RpcError,
)

ARGV = (sys.executable, "-P", "-m", "orchestrator.extensions.channel_folders")
CALL_TIMEOUT = 55.0  # seconds; the host itself gives a call up after 50
TYPING_TIMEOUT = 10.0  # seconds
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")  # whose servers a channel may trust
TOO_LONG = f"Your message is too long for me: I read up to {wire.MAX_TEXT:,} characters."
TOO_LARGE = f"files in this channel are limited to {wire.MAX_SENT_FILE // 1024**2} MB"
NOT_RUNNING = "the channel's process does not run{why}"
log = structlog.get_logger()


@dataclass(frozen=True)
class HostResources:
    """The parts of the daemon and its machine that channels' processes need.

    ``clock`` returns seconds of a clock that cannot be set, ``jitter`` spreads restarts.
    ``is_stopping`` says whether the daemon stops, ``nodes`` how many of them send by the accounts.
    """

    settings: Settings
    environ: Mapping[str, str]
    agents: Callable[[], AgentsFile]
    clock: Callable[[], float]
    jitter: Callable[[], float]
    spawn: Spawn
    is_stopping: Callable[[], bool] = lambda: False
    nodes: Callable[[], int] = lambda: 1


@dataclass(frozen=True)
class _Account:
    """The options, secrets and sandbox mode with which a process is started."""

    options: str  # JSON
    secrets: Mapping[str, str]
    sandbox: SandboxMode


class HostedChannel:
    """The `Adapter` of one chat system. `keep_process` must run for as long as it sends."""

    can_edit = False
    can_show_files = True
    is_read_from_journal = False

    def __init__(self, name: str, kind: ChannelKind, resources: HostResources) -> None:
        self.name = self.bot_id = name
        self.status = ChannelStatus(name, state="off")
        self.deduplicates = kind.keyed
        self._kind = kind
        self._resources = resources
        self._kept = KeptChild(f"channel {name}", self, resources.clock, resources.jitter)
        self._account: _Account | None = None
        self._started: _Account | None = None  # that the running process has
        self._intake: Intake | None = None
        self._taken = anyio.Event()  # once there is an intake
        rate, clock, nodes = Rate(kind.bot_rate, 30), resources.clock, resources.nodes
        self._limiter = RateLimiter(rate, clock, anyio.sleep, nodes)

    @property
    def child(self) -> ChildProcess | None:
        """The channel's process, or None while it is not running."""
        return self._kept.child

    def apply_settings(self) -> None:
        """Adopt the current agents.json and keys."""
        account = self._find_wanted_account()
        if account != self._account:
            self._account = account
            self._kept.forgive_failures()
            self._kept.wake()

    def _find_wanted_account(self) -> _Account | None:
        agents = self._resources.agents()
        section = agents.channels.hosted_channels.get(self.name)
        if section is None or not section.enabled:
            self.status.state, self.status.detail = "off", ""
            return None
        names = {name: name_secret(name, self.name) for name in self._kind.secrets}
        secrets = {name: self._resources.environ.get(held, "") for name, held in names.items()}
        lacking = (names[name] for name in secrets if not secrets[name])
        missing = explain_missing(self._kind.requires, self._kind.extra) or next(
            (f"{name} is not set; put it in keys.env" for name in lacking), ""
        )
        if missing:
            self.status.state, self.status.detail = "degraded", missing
            return None
        options = json.dumps(section.format_options(self._kind), sort_keys=True)
        if self._account is None:
            self.status.state, self.status.detail = "starting", ""
        return _Account(options, secrets, agents.sandbox)

    async def keep_process(self, changed: Callable[[], Awaitable[None]]) -> None:
        """Keep the process running as agents.json says, until cancelled.

        ``changed`` waits for the next change of the configuration.
        """
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._kept.run)
            while True:
                self.apply_settings()
                await changed()

    # --- the purpose of the child ---------------------------------------------------------------

    @property
    def is_needed(self) -> bool:
        """Whether agents.json has the channel and its secrets are known."""
        return self._account is not None

    @asynccontextmanager
    async def start(self) -> AsyncIterator[ChildProcess]:
        """Start the process with the current account."""
        account = self._started = self._account or _Account("{}", {}, "auto")
        settings = self._resources.settings
        env = {
            **select_inherited_variables(self._resources.environ),
            **{key: value for key, value in self._resources.environ.items() if key in CERTIFICATES},
            **account.secrets,
            wire.OPTIONS_VARIABLE: account.options,
            wire.LOG_VARIABLE: settings.log_level,
        }
        name, argv = f"channel {self.name}", (*ARGV, self.name)
        program = Program(name, argv, env, settings.home, wire.FD_VARIABLE)
        handlers: dict[str, RequestHandler] = {
            wire.CURSOR: self._load_cursor,
            wire.ACCEPT: self._store_messages,
        }
        make = partial(_HostProcess, handlers=handlers, report=self._record_state)
        async with run_child(program, make, self._resources.spawn) as child:
            require_jail(account.sandbox, child.sandbox)
            log.info("channel_host_ready", channel=self.name, pid=child.pid)
            yield child

    async def update_child(self, child: ChildProcess) -> None:
        """Watch the child, and replace it when its account has changed."""
        if self._started != self._account:
            child.stop()
        child.start_watching()

    def on_child_ended(self, kind: ExitKind, reason: str) -> None:
        """Report that no messages are received."""
        if self.status.state == "starting":  # it may have said why it cannot start
            reason = self.status.detail or reason
        log.log(kind.log_level, "channel_host_ended", channel=self.name, kind=kind, reason=reason)
        if self.is_needed:
            self.status.state, self.status.detail = "degraded", reason

    # --- requests of the process ------------------------------------------------------------------

    def _record_state(self, params: JsonValue) -> None:
        report = wire.ChannelState.model_validate(params)
        if report.state == "degraded":
            log.warning("channel_degraded", channel=self.name, detail=report.detail)
        self.status.state, self.status.detail = report.state, report.detail

    async def _load_cursor(self, _: JsonValue) -> wire.ChannelCursor:
        """Return the stored cursor, once messages are accepted."""
        await self._taken.wait()
        intake = self._require_intake()
        return wire.ChannelCursor(cursor=await intake.load_cursor(self.name, self.bot_id))

    async def _store_messages(self, params: JsonValue) -> None:
        batch = wire.ReceivedBatch.model_validate(params)
        messages = [self._build_inbound_message(message) for message in batch.messages]
        intake = self._require_intake()
        failpoint("poll:after")
        try:
            if messages:
                await intake.accept(messages, batch.cursor)
            else:
                await intake.store_cursor(self.name, self.bot_id, batch.cursor)
        except JournalError as error:
            raise RpcError(FAILED, str(error)) from error

    def _require_intake(self) -> Intake:
        if self._intake is None:
            raise RpcError(FAILED, "the daemon is stopping")
        return self._intake

    def _build_inbound_message(self, message: wire.ReceivedMessage) -> InboundMessage:
        fields = dict(message)
        files, text = fields.pop("attachments"), fields["text"]
        fields["sender_name"] = format_sender_name(message.sender_name, message.sender_id)
        if message.edit_date and message.kind == "message":
            fields["kind"] = EDIT
        found = InboundMessage(
            channel=self.name,
            bot_id=self.bot_id,
            attachments=tuple(Attachment(**dict(file)) for file in files),
            **fields,
        )
        if found.kind == REMOVAL:
            return found
        if found.skip is None and not (text.strip() or found.attachments or found.quote):
            return replace(found, skip="no text")
        if len(text) > wire.MAX_TEXT:
            cut = text[: wire.MAX_TEXT]
            return replace(found, text=cut, skip="too long", notice=TOO_LONG)
        return found

    # --- calls of the daemon ----------------------------------------------------------------------

    async def run(self, intake: Intake) -> None:
        """Accept messages until cancelled."""
        self._intake = intake
        self._taken.set()
        try:
            await anyio.sleep_forever()
        finally:
            self._intake, self._taken = None, anyio.Event()
            if self.is_needed:  # otherwise its status says why not
                self.status.state = "stopped"
            if self.child is not None and not self._resources.is_stopping():
                self.child.stop()  # another node receives: a new process only sends

    def split(self, text: str, mark: str = "") -> tuple[ReplyPart, ...]:
        parts: tuple[ReplyPart, ...] = _load_formatting().split(text, mark, self._kind.limit)
        return parts

    async def wait_for_rate(self, chat_id: str) -> None:
        await self._limiter.wait(chat_id, Rate(self._kind.chat_rate, self._kind.chat_burst))

    async def send(self, part: OutboundPart) -> str:
        return (await self._call_host(wire.SEND, self._build_outgoing_message(part))).message_id

    async def edit(self, part: OutboundPart, message_id: str) -> None:
        await self._call_host(wire.EDIT, self._build_outgoing_message(part, message_id))

    async def remove(self, chat_id: str, message_id: str) -> None:
        await self._call_host(wire.REMOVE, wire.MessageName(chat_id=chat_id, message_id=message_id))

    async def show_typing(self, chat_id: str, thread_id: str | None) -> None:
        chat = wire.MessageName(chat_id=chat_id, thread_id=thread_id)
        await self._call_host(wire.TYPING, chat, TYPING_TIMEOUT)

    async def download(self, handle: str, limit: int) -> bytes:
        found = await self._call_host(
            wire.DOWNLOAD, wire.WantedDownload(handle=handle, limit=limit)
        )
        return base64.b64decode(found.data)

    def show_unfinished_answer(self, chat_id: str, text: str) -> None:
        """Do nothing: an answer is sent once it is whole."""

    def is_delivered_when_stored(self, chat_id: str) -> bool:
        """Return False: a reply must be sent."""
        del chat_id
        return False

    def wake_waiting_clients(self, chat_id: str) -> None:
        """Do nothing: replies are sent."""

    def _build_outgoing_message(
        self, part: OutboundPart, message_id: str = ""
    ) -> wire.OutgoingMessage:
        formatting, file = _load_formatting(), None
        html = part.rendered or (formatting.to_html(part.text) if part.markdown else "")
        if part.file is not None:
            if len(part.file.data) > wire.MAX_SENT_FILE:
                raise SendError(TOO_LARGE, SendOutcome.PERMANENT)
            data = base64.b64encode(part.file.data).decode()
            file = FileContent(name=part.file.name, media_type=part.file.media_type, data=data)
        return wire.OutgoingMessage(
            chat_id=part.chat_id,
            text=formatting.extract_visible_text(html)
            if html.strip()
            else formatting.render_plain_text(part.text),
            html=html,
            thread_id=part.thread_id,
            reply_to=part.reply_to,
            key=part.key,
            queued_at=part.queued_at,
            file=file,
            voice=part.file is not None and part.file.voice,
            message_id=message_id,
        )

    async def _call_host(
        self,
        method: str,
        params: wire.OutgoingMessage | wire.MessageName | wire.WantedDownload,
        timeout: float = CALL_TIMEOUT,  # noqa: ASYNC109 - passed on to the wire
    ) -> wire.CallReport:
        """Call the process.

        Raises:
            SendError: the call failed; the error says what is known about the message.
        """
        child = self._kept.child
        if child is None or child.peer.closed.is_set():
            why = f": {self.status.detail}" if self.status.detail else ""
            raise SendError(NOT_RUNNING.format(why=why), SendOutcome.NOT_SENT)
        child.start_watching()
        try:
            report = await child.peer.call(method, params, wire.CallReport, timeout=timeout)
        except (RpcError, PeerClosedError, TimeoutError, ValidationError) as error:
            problem = f"the channel's process gave no answer: {str(error) or 'it takes too long'}"
            raise SendError(problem, SendOutcome.UNKNOWN) from error
        if report.outcome is not None:
            raise SendError(report.problem, report.outcome, report.retry_after)
        return report


@dataclass(kw_only=True)
class _HostProcess(ChildProcess):
    """A channel's process. It is pinged at all times, as it may only be listening."""

    handlers: Mapping[str, RequestHandler]
    report: NotificationHandler

    @property
    def is_busy(self) -> bool:
        """Always True: messages may arrive at any time."""
        return True

    def register_handlers(self) -> None:
        super().register_handlers()
        self.peer.requests |= self.handlers
        self.peer.notifications[wire.STATE] = self.report


def _load_formatting() -> ModuleType:
    """Return the module that renders Markdown, loaded late: its parser is slow to import."""
    return importlib.import_module("orchestrator.channels.formatting")
