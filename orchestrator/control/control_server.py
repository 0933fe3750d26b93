"""Serve the control socket: run what the command line asks for."""

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
import apsw
import structlog
from pydantic import JsonValue

from orchestrator.channel_api import Intake
from orchestrator.control import protocol
from orchestrator.control.console import Console
from orchestrator.control.descendants import from_descendant, peer_pid
from orchestrator.control.operations import DaemonOperations
from orchestrator.errors import (
    AlreadyRunningError,
    JournalError,
    OrchestratorError,
    UnknownAgentError,
)
from orchestrator.journal.access import pairing, tool_pins
from orchestrator.journal.schedule import task_runs, tasks
from orchestrator.journal.turns import deadletters
from orchestrator.journal.upkeep import erasure
from orchestrator.journal.upkeep.erasure import Subject
from orchestrator.settings import Settings
from orchestrator.toolcalls.approvals import ApprovalQueue
from thinker.protocol.peer import FAILED, Peer, RequestHandler, RpcError, connected

MAX_LOGGED = 1000  # processes whose refusal is logged
REFUSED = (
    "the control socket is not for processes that the daemon started; run the command in a shell"
    " of your own"
)
NO_PAIRING = (
    "pairings do not count while channels.telegram.access in agents.json is {access!r}; set it to"
    ' "pairing", or name the chat in a binding or in channels.telegram.allowlist'
)
ACCEPT_RETRY = 1.0  # seconds; the process may be out of file descriptors for a while
log = structlog.get_logger()


@dataclass(frozen=True)
class ControlServer:
    """The server of the control socket; each connection is a peer.

    Descendants of the daemon are refused: a hook or an MCP server is not the operator.
    ``wake`` is called when inbox, outbox or schedule have changed, ``api_changed`` when the token
    of the endpoints has.
    """

    daemon: DaemonOperations
    console: Console
    intake: Intake
    approvals: ApprovalQueue
    wake: Callable[[], None]
    api_changed: Callable[[], None]
    _refused: set[int] = field(default_factory=set)

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
            methods = self._methods(peer)
            peer.requests |= dict.fromkeys(methods, _refuse) if refused else methods
            await peer.closed.wait()

    def _log_refusal(self, pid: int) -> None:
        if pid not in self._refused and len(self._refused) < MAX_LOGGED:
            self._refused.add(pid)
            log.warning("control_refused", pid=pid, problem="a descendant of the daemon")

    def _methods(self, peer: Peer) -> dict[str, RequestHandler]:
        async def wait(params: JsonValue) -> protocol.ChatOutcome:
            request = protocol.ChatWait.model_validate(params)

            def view(text: protocol.ChatView) -> None:
                peer.notify(protocol.CHAT_VIEW, text)

            show = view if request.views else None
            return await self.console.outcome(request.message, request.seconds, show)

        return {
            protocol.STATUS: lambda _: self.daemon.status(),
            protocol.HEALTH: lambda _: self.daemon.health(),
            protocol.CHAT_SEND: self._send,
            protocol.CHAT_WAIT: wait,
            protocol.PAIR_LIST: lambda _: self._pairings(),
            protocol.PAIR_APPROVE: self._approve,
            protocol.PAIR_REVOKE: self._revoke,
            protocol.APPROVAL_LIST: lambda _: self._approvals(),
            protocol.APPROVAL_DECIDE: self._decide,
            protocol.TOOL_LIST: lambda _: self._tools(),
            protocol.TOOL_APPROVE: self._approve_tool,
            protocol.FORGET: self._forget,
            protocol.RELOAD: lambda _: self.daemon.reload(),
            protocol.AGENT_PAUSE: self._pause,
            protocol.AGENT_RESUME: self._resume,
            protocol.DLQ_RETRY: lambda params: self._change_row(deadletters.retry, params),
            protocol.DLQ_DROP: lambda params: self._change_row(deadletters.drop, params),
            protocol.API_REFRESH: lambda _: self._refresh_api(),
            protocol.TASK_RUN: lambda params: self._change_row(task_runs.run_now, params),
            protocol.TASK_ENABLE: lambda params: self._change_row(tasks.enable, params),
            protocol.TASK_DISABLE: lambda params: self._change_row(tasks.disable, params),
        }

    async def _send(self, params: JsonValue) -> protocol.Ack:
        try:
            await self.console.say(self.intake, protocol.ChatSend.model_validate(params))
        except JournalError as error:
            raise RpcError(FAILED, f"the message was not stored: {error}") from error
        return protocol.Ack()

    async def _pairings(self) -> protocol.PairingList:
        rows = await self.daemon.store.transact(pairing.every)
        return protocol.PairingList(
            pairings=tuple(
                protocol.PairingReport.from_object(row, created_at=row.created_at / 1000)
                for row in rows
            )
        )

    async def _approve(self, params: JsonValue) -> protocol.PairedChat:
        code = protocol.PairCode.model_validate(params).code
        access = self.daemon.configuration.file.channels.telegram.access
        if access != "pairing":
            raise RpcError(FAILED, NO_PAIRING.format(access=access))
        found = await self.daemon.store.transact(pairing.approve, code, self.daemon.clock())
        if found is None:
            raise RpcError(
                FAILED, f"no chat waits with the code {code!r}; see: orchestrator pair list"
            )
        self.wake()
        return protocol.PairedChat(channel=found.channel, chat_id=found.chat_id)

    async def _revoke(self, params: JsonValue) -> protocol.Ack:
        chat = protocol.PairedChat.model_validate(params)
        if not await self.daemon.store.transact(
            pairing.revoke, chat.channel, chat.chat_id, self.daemon.clock()
        ):
            raise RpcError(
                FAILED,
                f"the {chat.channel} chat {chat.chat_id!r} was never paired; see: orchestrator pair"
                " list",
            )
        return protocol.Ack()

    async def _approvals(self) -> protocol.ApprovalList:
        return protocol.ApprovalList(
            approvals=tuple(
                protocol.ApprovalReport.from_object(
                    approval, chat=approval.chat_key, expires=approval.expires / 1000
                )
                for approval in await self.approvals.waiting()
            )
        )

    async def _decide(self, params: JsonValue) -> protocol.Ack:
        decision = protocol.ApprovalDecision.model_validate(params)
        if await self.approvals.decide(decision.code, "operator", granted=decision.granted) is None:
            raise RpcError(
                FAILED,
                f"no call waits with the code {decision.code!r}; see: orchestrator approvals list",
            )
        return protocol.Ack()

    async def _tools(self) -> protocol.PinList:
        pins = await self.daemon.store.transact(tool_pins.every)
        return protocol.PinList(
            tools=tuple(protocol.PinReport.from_object(pin, at=pin.at / 1000) for pin in pins)
        )

    async def _approve_tool(self, params: JsonValue) -> protocol.Ack:
        name = protocol.ToolName.model_validate(params).name
        done = await self._change(tool_pins.approve, name, "operator")
        self.daemon.servers.recheck_pins()
        return done

    async def _pause(self, params: JsonValue) -> protocol.Ack:
        agent_id = protocol.AgentName.model_validate(params).agent_id
        if agent_id not in self.daemon.supervisor.slots:
            raise RpcError(FAILED, f"there is no agent {agent_id!r}; see: orchestrator status")
        await self.daemon.guard.order(agent_id, "operator", paused=True)
        return protocol.Ack()

    async def _resume(self, params: JsonValue) -> protocol.Ack:
        agent_id = protocol.AgentName.model_validate(params).agent_id
        try:
            self.daemon.supervisor.resume(agent_id)
        except UnknownAgentError as error:
            raise RpcError(FAILED, str(error)) from error
        refused = await self.daemon.guard.order(agent_id, "operator", paused=False)
        if refused is not None:
            raise RpcError(FAILED, f"agent {agent_id!r} stays paused: {refused}")
        return protocol.Ack()

    async def _forget(self, params: JsonValue) -> protocol.Ack:
        subject = Subject(
            **protocol.ErasureTarget.model_validate(params).model_dump(by_alias=False)
        )
        if subject.agent in self.daemon.supervisor.slots:
            raise RpcError(FAILED, f"{subject} is in agents.json; remove it there first")
        ack = await self._change(erasure.forget, subject)
        await self.daemon.reload()  # agents.json names chats by the ids that the journal knows
        return ack

    async def _refresh_api(self) -> protocol.Ack:
        self.api_changed()
        return protocol.Ack()

    async def _change_row(
        self, change: Callable[[apsw.Connection, int, int], None], params: JsonValue
    ) -> protocol.Ack:
        return await self._change(change, protocol.RowId.model_validate(params).id)

    async def _change(self, change: Callable[..., object], *what: object) -> protocol.Ack:
        try:
            await self.daemon.store.transact(change, *what, self.daemon.clock())
        except OrchestratorError as error:
            raise RpcError(FAILED, str(error)) from error
        self.wake()
        return protocol.Ack()


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
