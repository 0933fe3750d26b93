"""Serve the control socket: run what the command line asks for."""

import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import anyio
import structlog
from pydantic import JsonValue

from orchestrator.agentsfile.problems import suggestion
from orchestrator.channel_api import Intake
from orchestrator.control import listings, protocol
from orchestrator.control.chat_watch import ChatWatcher
from orchestrator.control.descendants import from_descendant, peer_pid
from orchestrator.control.operations import DaemonOperations
from orchestrator.errors import (
    AlreadyRunningError,
    JournalError,
    OrchestratorError,
    UnknownNameError,
)
from orchestrator.files import off_loop
from orchestrator.journal.access import pairing, tool_pins
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import conversations, memories
from orchestrator.journal.schedule import task_runs, tasks
from orchestrator.journal.turns import call_verdicts, deadletters
from orchestrator.journal.turns.call_verdicts import CallOutcome
from orchestrator.journal.upkeep import erasure
from orchestrator.journal.upkeep.erasure import Subject
from orchestrator.settings import Settings
from orchestrator.system import log_file
from orchestrator.toolcalls.approvals import ApprovalQueue
from orchestrator.turns.rehearsal import ImaginedMessage, TurnRehearsal
from thinker.protocol.names import ChatName
from thinker.protocol.peer import FAILED, Peer, RequestHandler, RpcError, connected
from thinker.protocol.prompt_record import PromptPreview

MAX_LOGGED = 1000  # processes whose refusal is logged
REFUSED = (
    "the control socket is not for processes that the daemon started; run the command in a shell"
    " of your own"
)
NO_PAIRING = (
    "pairings do not count while channels.{channel}.access in agents.json is {access!r}; set it to"
    ' "pairing", or name the chat in a binding or in channels.{channel}.allowlist'
)
PROOF_AGE = 60.0  # seconds since the journal was written, as a proof that it can be
ACCEPT_RETRY = 1.0  # seconds; the process may be out of file descriptors for a while
log = structlog.get_logger()


@dataclass(frozen=True)
class ControlServer:
    """The server of the control socket; each connection is a peer.

    Descendants of the daemon are refused: a hook or an MCP server is not the operator. ``by`` is
    whom the audit log names, ``extra`` has the methods of the page, ``attached`` those that need
    the connection itself. ``wake`` is called when inbox, outbox or schedule have changed,
    ``api_changed`` when the token of the endpoints has.
    """

    daemon: DaemonOperations
    chats: ChatWatcher
    intake: Intake
    approvals: ApprovalQueue
    rehearsal: TurnRehearsal
    wake: Callable[[], None]
    api_changed: Callable[[], None]
    by: str = "operator"
    extra: Callable[[], Mapping[str, RequestHandler]] = dict
    attached: Callable[[Peer], Mapping[str, RequestHandler]] = lambda _: {}
    _refused: set[int] = field(default_factory=set)

    def acting(self, by: str) -> dict[str, RequestHandler]:
        """Return the methods for someone else than the operator at the terminal.

        To look at the state writes nothing: what is shown again after each change would never rest.
        """
        looks: dict[str, RequestHandler] = {
            protocol.STATUS: lambda _: self.daemon.status(PROOF_AGE),
            protocol.HEALTH: lambda _: self.daemon.health(PROOF_AGE),
        }
        return {**replace(self, by=by).methods(), **self.extra(), **looks}

    async def run(self, listener: socket.socket) -> None:
        """Accept connections until cancelled; ``listener`` is non-blocking.

        `asyncio`'s own accept would lose a connection that arrives while it is cancelled.
        """
        async with anyio.create_task_group() as tasks:
            while True:
                await anyio.wait_readable(listener)
                try:
                    connection, _ = listener.accept()
                except OSError as error:
                    log.warning("accept_failed", problem=str(error))
                    await anyio.sleep(ACCEPT_RETRY)
                    continue
                connection.setblocking(False)  # noqa: FBT003 - the standard library takes it by position
                tasks.start_soon(self._serve, connection)

    async def _serve(self, sock: socket.socket) -> None:
        refused = from_descendant(sock)
        if refused:
            self._log_refusal(peer_pid(sock))
        async with connected(sock) as peer:
            own = {protocol.CHAT_WATCH: self._watch(peer), **self.attached(peer)}
            methods = {**self.methods(), **self.extra(), **own}
            peer.requests |= dict.fromkeys(methods, _refuse) if refused else methods
            await peer.closed.wait()

    def _log_refusal(self, pid: int) -> None:
        if pid not in self._refused and len(self._refused) < MAX_LOGGED:
            self._refused.add(pid)
            log.warning("control_refused", pid=pid, problem="a descendant of the daemon")

    def _watch(self, peer: Peer) -> RequestHandler:
        async def watch(params: JsonValue) -> protocol.ChatScene:
            request = protocol.ChatWatch.model_validate(params)
            scene = await self.chats.scene(request)
            show = partial(peer.notify, protocol.CHAT_EVENT)
            peer.tasks.start_soon(self.chats.follow, request.chat, scene.position, show)
            return scene

        return watch

    def methods(self) -> dict[str, RequestHandler]:
        """Return what may be asked, except what needs a connection to show something later."""
        return {
            protocol.STATUS: lambda _: self.daemon.status(),
            protocol.HEALTH: lambda _: self.daemon.health(),
            protocol.CHAT_SEND: self._send,
            protocol.CHAT_WAIT: self._wait,
            protocol.PAIR_LIST: lambda _: self.daemon.store.transact(listings.pairings),
            protocol.PAIR_APPROVE: self._approve,
            protocol.PAIR_REVOKE: self._revoke,
            protocol.APPROVAL_LIST: lambda _: self.daemon.store.transact(
                listings.questions, self.daemon.clock()
            ),
            protocol.APPROVAL_DECIDE: self._decide,
            protocol.PROMPT_PREVIEW: self._preview,
            protocol.TOOL_LIST: lambda _: self.daemon.store.transact(listings.pins),
            protocol.TOOL_APPROVE: self._approve_tool,
            protocol.FORGET: self._forget,
            protocol.LOG_TAIL: lambda _: self._log_tail(),
            protocol.RELOAD: lambda _: self.daemon.reload(),
            protocol.AGENT_PAUSE: self._pause,
            protocol.AGENT_RESUME: self._resume,
            protocol.CALL_SETTLE: self._settle,
            protocol.DLQ_RETRY: lambda params: self._change_row(deadletters.retry, params),
            protocol.DLQ_DROP: lambda params: self._change_row(deadletters.drop, params),
            protocol.API_REFRESH: lambda _: self._refresh_api(),
            protocol.TASK_RUN: lambda params: self._change_row(task_runs.run_now, params),
            protocol.TASK_ENABLE: lambda params: self._change_row(tasks.enable, params),
            protocol.SESSION_END: lambda params: self._change_row(conversations.end, params),
            protocol.FACT_FORGET: lambda params: self._change_row(memories.forget, params),
            protocol.TASK_DISABLE: lambda params: self._change_row(tasks.disable, params),
        }

    async def _send(self, params: JsonValue) -> protocol.Ack:
        request = protocol.ChatSend.model_validate(params)
        if request.agent is not None:
            self._require(request.agent)
        try:
            await self.chats.console.say(self.intake, request)
        except JournalError as error:
            raise RpcError(FAILED, f"the message was not stored: {error}") from error
        return protocol.Ack()

    async def _wait(self, params: JsonValue) -> protocol.ChatOutcome:
        request = protocol.ChatWait.model_validate(params)
        return await self.chats.console.outcome(request.message, request.seconds)

    async def _approve(self, params: JsonValue) -> protocol.PairedChat:
        return await self.let_in(protocol.PairCode.model_validate(params).code)

    async def let_in(self, code: str) -> protocol.PairedChat:
        """Approve the chat that has this code.

        Raises:
            RpcError: pairings do not count, or no chat has the code.
            JournalError: it was not stored.
        """
        store, now = self.daemon.store, self.daemon.clock()
        channel = await store.read(pairing.channel_of, code)
        settings = self.daemon.configuration.file.channels.guarded().get(channel or "")
        if settings is not None and settings.access != "pairing":
            raise RpcError(FAILED, NO_PAIRING.format(channel=channel, access=settings.access))
        found = await store.transact(pairing.approve, code, now)
        if found is None:
            raise _unknown(f"no chat waits with the code {code!r}; see: orchestrator pair list")
        self.wake()
        return protocol.PairedChat(channel=found.channel, chat_id=found.chat_id)

    async def _revoke(self, params: JsonValue) -> protocol.Ack:
        chat = protocol.PairedChat.model_validate(params)
        if not await self.daemon.store.transact(
            pairing.revoke, chat.channel, chat.chat_id, self.daemon.clock()
        ):
            name = ChatName(chat.channel, chat.chat_id)
            raise _unknown(f"the chat {name} was never paired; see: orchestrator pair list")
        return protocol.Ack()

    async def _decide(self, params: JsonValue) -> protocol.Ack:
        decision = protocol.ApprovalDecision.model_validate(params)
        granted, seen, note = decision.granted, decision.args_hash, decision.note
        decided = self.approvals.decide(
            decision.code, self.by, granted=granted, seen=seen, note=note
        )
        if await decided is None:
            raise _unknown(
                f"no call waits with the code {decision.code!r}; see: orchestrator approvals list"
            )
        self.wake()
        return protocol.Ack()

    async def _approve_tool(self, params: JsonValue) -> protocol.Ack:
        name = protocol.ToolName.model_validate(params).name
        done = await self._change(tool_pins.approve, name, self.by)
        self.daemon.servers.recheck_pins()
        return done

    async def _pause(self, params: JsonValue) -> protocol.Ack:
        agent_id = protocol.AgentName.model_validate(params).agent_id
        self._require(agent_id)
        await self.daemon.guard.order(agent_id, self.by, paused=True)
        return protocol.Ack()

    async def _resume(self, params: JsonValue) -> protocol.Ack:
        agent_id = protocol.AgentName.model_validate(params).agent_id
        self._require(agent_id)
        if agent_id in self.daemon.supervisor.slots:
            self.daemon.supervisor.resume(agent_id)
        refused = await self.daemon.guard.order(agent_id, self.by, paused=False)
        if refused is not None:
            raise RpcError(FAILED, f"agent {agent_id!r} stays paused: {refused}")
        return protocol.Ack()

    async def _log_tail(self) -> protocol.LogLines:
        path = self.daemon.settings.paths.log
        return protocol.LogLines(lines=await off_loop(log_file.tail, path))

    async def _forget(self, params: JsonValue) -> protocol.Ack:
        subject = Subject(
            **protocol.ErasureTarget.model_validate(params).model_dump(by_alias=False)
        )
        if subject.agent in self.daemon.supervisor.slots:
            raise RpcError(FAILED, f"{subject} is in agents.json; remove it there first")
        ack = await self._change(erasure.forget, subject)
        await self.daemon.reload()  # agents.json names chats by the ids that the journal knows
        return ack

    async def _preview(self, params: JsonValue) -> PromptPreview:
        asked = ImaginedMessage(**vars(protocol.PromptAsked.model_validate(params)))
        try:
            return await self.rehearsal.preview(asked)
        except OrchestratorError as error:
            raise RpcError(FAILED, str(error)) from error

    async def _refresh_api(self) -> protocol.Ack:
        self.api_changed()
        return protocol.Ack()

    async def _settle(self, params: JsonValue) -> protocol.Ack:
        found = protocol.SettledCall.model_validate(params)
        outcome = CallOutcome(found.turn_id, found.seq, found.happened)
        return await self._change(call_verdicts.settle, outcome, self.by)

    async def _change_row(
        self, change: Callable[[Database, int, int], None], params: JsonValue
    ) -> protocol.Ack:
        return await self._change(change, protocol.RowId.model_validate(params).id)

    async def _change(self, change: Callable[..., object], *what: object) -> protocol.Ack:
        try:
            await self.daemon.store.transact(change, *what, self.daemon.clock())
        except OrchestratorError as error:
            refused = _unknown if isinstance(error, UnknownNameError) else _failed
            raise refused(str(error)) from error
        self.wake()
        return protocol.Ack()

    def _require(self, agent_id: str) -> None:
        """Refuse an agent that neither agents.json nor the daemon has."""
        slots, file = self.daemon.supervisor.slots, self.daemon.configuration.file
        if agent_id not in slots and file.agent(agent_id) is None:
            known = {*slots, *(agent.agent_id for agent in file.agents)}
            hint = suggestion(agent_id, known, "see: orchestrator agents list")
            raise _unknown(f"there is no agent {agent_id!r}{hint}")


def _unknown(problem: str) -> RpcError:
    return RpcError(protocol.UNKNOWN_NAME, problem)


def _failed(problem: str) -> RpcError:
    return RpcError(FAILED, problem)


async def _refuse(_: JsonValue) -> protocol.Ack:
    raise RpcError(FAILED, REFUSED)


def listen(settings: Settings) -> socket.socket:
    """Bind the control socket, which only this user can open. The home must be locked.

    Raises:
        AlreadyRunningError: the socket's path cannot be bound.
    """
    path = settings.paths.control_socket
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        raise AlreadyRunningError(f"{path}: cannot listen ({error}); remove this file") from error
    finally:
        os.umask(before)
    listener.listen()
    listener.setblocking(False)  # noqa: FBT003 - the standard library takes it by position
    return listener
