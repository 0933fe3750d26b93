"""Serve the control socket: run the requests of the command line."""

import signal
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import anyio
import structlog
from pydantic import JsonValue

from orchestrator.agentsfile.problems import suggest_name
from orchestrator.channel_api import ChatRole, Intake
from orchestrator.control import listings, protocol
from orchestrator.control.chat_watch import ChatWatcher
from orchestrator.control.descendants import is_from_descendant, read_peer_pid
from orchestrator.control.operations import DaemonOperations
from orchestrator.control.status_reports import report_health, report_status
from orchestrator.errors import JournalError, OrchestratorError, UnknownNameError
from orchestrator.journal.access import pairing, tool_pins
from orchestrator.journal.access.pairing import Pairing
from orchestrator.journal.db.database import Database
from orchestrator.journal.schedule import task_runs, tasks
from orchestrator.journal.turns import deadletters
from orchestrator.toolcalls.approvals import ApprovalQueue
from thinker.protocol.names import ChatName
from thinker.protocol.peer import FAILED, Peer, RequestHandler, RpcError, connect_peer

MAX_LOGGED = 1000  # processes whose refusal is logged
REFUSED = (
    "processes that the daemon started may not use the control socket; run the command in"
    " your own shell"
)
NO_PAIRING = (
    "pairings do not count while channels.{channel}.access in agents.json is {access!r}; set it to"
    ' "pairing", or name the chat in a binding or in channels.{channel}.allowlist'
)
NO_CODE = "no chat has the code {code!r}, or it has expired; see: orchestrator pair list"
PROOF_AGE = 60.0  # seconds since the journal was written, as a proof that it can be
ACCEPT_RETRY = 1.0  # seconds; the process may be out of file descriptors for a while
log = structlog.get_logger()


@dataclass(frozen=True)
class ControlServer:
    """The server of the control socket; each connection is a peer.

    Descendants of the daemon are refused: a hook or an MCP server is not the operator. ``by`` is
    the name in the audit log, ``added`` returns the methods of extensions for a connection, or for
    the page (None), and ``authored`` those that record ``by``. ``placed`` returns methods that
    other nodes may answer. ``wake`` is called when inbox, outbox or schedule have changed.
    """

    daemon: DaemonOperations
    chats: ChatWatcher
    intake: Intake
    approvals: ApprovalQueue
    wake: Callable[[], None]
    added: Callable[[Peer | None], Mapping[str, RequestHandler]] = lambda _: {}
    authored: Callable[[str], Mapping[str, RequestHandler]] = lambda _: {}
    placed: Callable[[Mapping[str, RequestHandler], str], Mapping[str, RequestHandler]] = (
        lambda methods, _: methods
    )
    by: str = "operator"
    _refused: set[int] = field(default_factory=set)

    def build_methods_for(self, by: str) -> dict[str, RequestHandler]:
        """Build the methods for anyone but the operator at the terminal.

        Showing the state writes nothing: a page that refreshes after each change would loop.
        """
        looks: dict[str, RequestHandler] = {
            protocol.STATUS: partial(report_status, self.daemon, PROOF_AGE),
            protocol.HEALTH: lambda _: report_health(self.daemon, PROOF_AGE),
        }
        return {**replace(self, by=by).build_methods(), **self.added(None), **looks}

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
                tasks.start_soon(self._serve_connection, connection)

    async def _serve_connection(self, sock: socket.socket) -> None:
        refused = is_from_descendant(sock)
        if refused:
            self._log_refusal(read_peer_pid(sock))
        async with connect_peer(sock) as peer:
            own = {protocol.CHAT_WATCH: self._make_watch_handler(peer), protocol.STOP: _stop_daemon}
            methods = {**self.build_methods(), **self.added(peer), **own}
            peer.requests |= dict.fromkeys(methods, _refuse_descendant) if refused else methods
            await peer.closed.wait()

    def _log_refusal(self, pid: int) -> None:
        if pid not in self._refused and len(self._refused) < MAX_LOGGED:
            self._refused.add(pid)
            log.warning("control_refused", pid=pid, problem="a descendant of the daemon")

    def _make_watch_handler(self, peer: Peer) -> RequestHandler:
        async def watch_chat(params: JsonValue) -> protocol.ChatScene:
            request = protocol.ChatWatch.model_validate(params)
            scene = await self.chats.load_scene(request)
            show = partial(peer.notify, protocol.CHAT_EVENT)
            peer.tasks.start_soon(self.chats.follow_chat, request.chat, scene.position, show)
            return scene

        return watch_chat

    def build_methods(self) -> dict[str, RequestHandler]:
        """Build all methods, except those that need a connection for later events."""
        methods: dict[str, RequestHandler] = {
            protocol.STATUS: partial(report_status, self.daemon, 0.0),
            protocol.HEALTH: lambda _: report_health(self.daemon),
            protocol.CHAT_SEND: self._accept_chat_message,
            protocol.CHAT_WAIT: self._wait_for_outcome,
            protocol.PAIR_LIST: lambda _: self.daemon.store.transact(listings.list_pairings),
            protocol.PAIR_APPROVE: self._approve_pairing,
            protocol.PAIR_REVOKE: self._revoke_pairing,
            protocol.PAIR_ROLE: self._change_role,
            protocol.APPROVAL_LIST: lambda _: self.daemon.store.transact(
                listings.list_approvals, self.daemon.clock()
            ),
            protocol.APPROVAL_DECIDE: self._decide_approval,
            protocol.TOOL_LIST: lambda _: self.daemon.store.transact(listings.list_pins),
            protocol.TOOL_APPROVE: self._approve_tool,
            protocol.RELOAD: lambda _: self.daemon.reload_configuration(),
            protocol.AGENT_PAUSE: self._pause_agent,
            protocol.AGENT_RESUME: self._resume_agent,
            protocol.DLQ_RETRY: partial(self.change_row, deadletters.retry_dead_letter),
            protocol.DLQ_DROP: partial(self.change_row, deadletters.drop_dead_letter),
            protocol.TASK_RUN: partial(self.change_row, task_runs.run_task_now),
            protocol.TASK_ENABLE: partial(self.change_row, tasks.enable_task),
            protocol.TASK_DISABLE: partial(self.change_row, tasks.disable_task),
            **self.authored(self.by),
        }
        return dict(self.placed(methods, self.by))

    async def _accept_chat_message(self, params: JsonValue) -> protocol.Ack:
        request = protocol.ChatSend.model_validate(params)
        if request.agent is not None:
            self._require_agent(request.agent)
        try:
            await self.chats.console.accept_message(self.intake, request)
        except JournalError as error:
            raise RpcError(FAILED, f"the message was not stored: {error}") from error
        return protocol.Ack()

    async def _wait_for_outcome(self, params: JsonValue) -> protocol.ChatOutcome:
        request = protocol.ChatWait.model_validate(params)
        return await self.chats.console.wait_for_outcome(request.message, request.seconds)

    async def _approve_pairing(self, params: JsonValue) -> protocol.AdmittedChat:
        asked = protocol.PairCode.model_validate(params)
        return await self.approve_chat(asked.code, asked.role)

    async def approve_chat(self, code: str, role: ChatRole | None = None) -> protocol.AdmittedChat:
        """Approve the chat that has this code, in a role or that of `pairing.approve`.

        Raises:
            RpcError: pairing is off, or no chat has the code.
            JournalError: the approval was not stored.
        """
        await self.find_waiting_chat(code)
        now = self.daemon.clock()
        found = await self.daemon.store.transact(pairing.approve, code, now, role)
        if found is None:
            raise _make_unknown_error(NO_CODE.format(code=code))
        self.wake()
        return protocol.AdmittedChat(
            channel=found.channel, chat_id=found.chat_id, role=found.role or "operate"
        )

    async def find_waiting_chat(self, code: str) -> Pairing:
        """Return the chat that `approve_chat` would approve, or raise its `RpcError`."""
        found = await self.daemon.store.read(pairing.find_waiting_chat, code, self.daemon.clock())
        if found is None:
            raise _make_unknown_error(NO_CODE.format(code=code))
        channels = self.daemon.configuration.file.channels.list_chat_channels()
        access = channels[found.channel].access if found.channel in channels else "pairing"
        if access != "pairing":
            raise RpcError(FAILED, NO_PAIRING.format(channel=found.channel, access=access))
        return found

    async def _revoke_pairing(self, params: JsonValue) -> protocol.Ack:
        chat = protocol.PairedChat.model_validate(params)
        now = self.daemon.clock()
        if not await self.daemon.store.transact(
            pairing.revoke_pairing, chat.channel, chat.chat_id, now
        ):
            raise _make_unpaired_error(chat, "was never paired")
        return protocol.Ack()

    async def _change_role(self, params: JsonValue) -> protocol.Ack:
        chat = protocol.AdmittedChat.model_validate(params)
        now = self.daemon.clock()
        if not await self.daemon.store.transact(
            pairing.change_role, chat.channel, chat.chat_id, chat.role, now
        ):
            raise _make_unpaired_error(chat, "is not paired")
        return protocol.Ack()

    async def _decide_approval(self, params: JsonValue) -> protocol.Ack:
        decision = protocol.ApprovalDecision.model_validate(params)
        granted, seen, note = decision.granted, decision.args_hash, decision.note
        try:
            decided = await self.approvals.decide_question(
                decision.code, self.by, granted=granted, seen=seen, note=note
            )
        except OrchestratorError as error:
            raise RpcError(FAILED, str(error)) from error
        if decided is None:
            raise _make_unknown_error(
                f"no call has the code {decision.code!r}; see: orchestrator approvals list"
            )
        self.wake()
        return protocol.Ack()

    async def _approve_tool(self, params: JsonValue) -> protocol.Ack:
        asked = protocol.ToolName.model_validate(params)

        def approve_seen(db: Database, name: str, by: str, now: int) -> list[str]:
            return tool_pins.approve_tools(db, name, by, now, asked.seen)

        done = await self.change_journal(approve_seen, asked.name, self.by)
        self.daemon.servers.recheck_pins()
        return done

    async def _pause_agent(self, params: JsonValue) -> protocol.Ack:
        agent_id = protocol.AgentName.model_validate(params).agent_id
        self._require_agent(agent_id)
        await self.daemon.guard.change_pause(agent_id, self.by, paused=True)
        return protocol.Ack()

    async def _resume_agent(self, params: JsonValue) -> protocol.Ack:
        agent_id = protocol.AgentName.model_validate(params).agent_id
        self._require_agent(agent_id)
        if agent_id in self.daemon.supervisor.slots:
            self.daemon.supervisor.resume_quarantined(agent_id)
        refused = await self.daemon.guard.change_pause(agent_id, self.by, paused=False)
        if refused is not None:
            raise RpcError(FAILED, f"agent {agent_id!r} stays paused: {refused}")
        return protocol.Ack()

    async def change_row(
        self, change: Callable[[Database, int, int], None], params: JsonValue
    ) -> protocol.Ack:
        """Run ``change(db, id, now)`` on the row that ``params``, a `RowId`, names."""
        return await self.change_journal(change, protocol.RowId.model_validate(params).id)

    async def change_journal(self, change: Callable[..., object], *what: object) -> protocol.Ack:
        """Run ``change(db, *what, now)``.

        Raises:
            RpcError: the change was refused, or not stored.
        """
        try:
            await self.daemon.store.transact(change, *what, self.daemon.clock())
        except UnknownNameError as error:
            raise _make_unknown_error(str(error)) from error
        except OrchestratorError as error:
            raise RpcError(FAILED, str(error)) from error
        self.wake()
        return protocol.Ack()

    def _require_agent(self, agent_id: str) -> None:
        """Refuse an agent that is neither in agents.json nor in the daemon."""
        slots, file = self.daemon.supervisor.slots, self.daemon.configuration.file
        if agent_id not in slots and file.find_agent(agent_id) is None:
            known = {*slots, *(agent.agent_id for agent in file.agents)}
            hint = suggest_name(agent_id, known, "see: orchestrator agents list")
            raise _make_unknown_error(f"unknown agent {agent_id!r}{hint}")


def _make_unpaired_error(chat: protocol.PairedChat, problem: str) -> RpcError:
    name = ChatName(chat.channel, chat.chat_id)
    return _make_unknown_error(f"the chat {name} {problem}; see: orchestrator pair list")


def _make_unknown_error(problem: str) -> RpcError:
    return RpcError(protocol.UNKNOWN_NAME, problem)


async def _stop_daemon(_: JsonValue) -> protocol.Ack:
    """Stop as by a signal, for callers whose signals do not reach this process."""
    signal.raise_signal(signal.SIGTERM)
    return protocol.Ack()


async def _refuse_descendant(_: JsonValue) -> protocol.Ack:
    raise RpcError(FAILED, REFUSED)
