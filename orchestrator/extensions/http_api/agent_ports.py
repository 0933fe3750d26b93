"""The older HTTP interface: an agent with a ``port`` takes messages there, for existing clients.

The supervisor listens, not the worker: a message goes through the inbox like any other, so it is
answered once however often it is sent, and starts an idle agent.
"""

import errno
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path

import anyio
import structlog

from orchestrator.agentsfile import AgentsFile
from orchestrator.channel_api import InboundMessage, Intake
from orchestrator.channels.stored_replies import EndedMessage, JournalChannel
from orchestrator.errors import JournalError
from orchestrator.extensions.http_api.agent_port_messages import AgentPortAnswer, AgentPortMessage
from orchestrator.extensions.http_api.token import SecretFile
from orchestrator.files import run_off_loop, write_private
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import steps
from orchestrator.web.error_response import ApiProblem
from thinker.formats.regular_file import FileError

ANSWER_TIMEOUT = 120.0  # seconds that a client waits, as in the original system
RETRY_SECONDS, MAX_RETRY_SECONDS = 1.0, 30.0  # until a port that cannot be opened is retried
CANNOT_OPEN = {
    errno.EADDRINUSE: "is taken by another program; end that program",
    errno.EACCES: "needs root; choose one above 1023",
}
log = structlog.get_logger()


@dataclass(frozen=True)
class PortServer:
    """A served port: cancel ``scope`` to stop serving, then wait for ``closed``."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    closed: anyio.Event = field(default_factory=anyio.Event)


class AgentPorts(JournalChannel):
    """The `Adapter` of all agents' ports.

    ``token_file`` has the clients' token, and is written when the first port opens; ``configured``
    waits until the configuration has changed; ``where`` returns the place of an agent's field in
    the configuration, such as ``agents.json:12``.
    """

    name = "http"

    def __init__(
        self,
        store: Store,
        token_file: Path,
        agents: Callable[[], AgentsFile],
        configured: Callable[[], Awaitable[None]],
        where: Callable[[str, str], str],
    ) -> None:
        super().__init__(store)
        self._where = where
        self._refused: dict[str, str] = {}  # why the ports of agents cannot be opened
        self._token_file = SecretFile(token_file)
        self._agents = agents
        self._configured = configured

    async def run(self, intake: Intake) -> None:
        servers: dict[tuple[int, str], PortServer] = {}
        async with anyio.create_task_group() as tasks:
            while True:
                file = self._agents()
                configured = {
                    (agent.port, agent.agent_id)
                    for agent in file.agents
                    if agent.port is not None and agent.agent_id in file.list_enabled_ids()
                }
                closing = [servers.pop(port) for port in servers.keys() - configured]
                for server in closing:
                    server.scope.cancel()
                for server in closing:  # another agent may take the same number
                    await server.closed.wait()
                for port in configured - servers.keys():
                    servers[port] = PortServer()
                    tasks.start_soon(self._serve_port, *port, servers[port], intake)
                if self._agents() is file:  # or else the file was edited while servers closed
                    await self._configured()

    async def _serve_port(
        self, port: int, agent_id: str, server: PortServer, intake: Intake
    ) -> None:
        # Most daemons have no agent with a port, and do without a web server.
        from orchestrator.extensions.http_api.agent_port_endpoints import AgentPortApi  # noqa: PLC0415 - see above

        api = AgentPortApi(
            agent_id, self._load_token, partial(self._answer_message, agent_id, intake)
        )
        with server.scope:
            delay = RETRY_SECONDS
            while True:
                try:
                    await (
                        self._load_token()
                    )  # a client finds it as soon as the agent can be reached
                    async with api.serve_on_port(port) as number:
                        self._set_refused(agent_id, "")
                        log.info("agent_port", agent_id=agent_id, port=number)
                        await anyio.sleep_forever()
                except (OSError, FileError) as error:
                    place, problem = (
                        self._where(agent_id, "port"),
                        describe_port_problem(port, agent_id, error),
                    )
                    again = f"(tried again every {MAX_RETRY_SECONDS:.0f} seconds)"
                    self._set_refused(agent_id, f"{place}: {problem} {again}")
                await anyio.sleep(delay)
                delay = min(2 * delay, MAX_RETRY_SECONDS)
        self._set_refused(agent_id, "")
        server.closed.set()

    def _set_refused(self, agent_id: str, problem: str) -> None:
        """Record why an agent's port is closed; ``problem`` is empty if it is open or unwanted."""
        if problem == self._refused.get(agent_id, ""):
            return
        self._refused[agent_id] = problem
        if problem:
            log.error("agent_port_failed", agent_id=agent_id, problem=problem)
        told = [text for text in self._refused.values() if text]
        self.status.state = "degraded" if told else "ok"
        self.status.detail = "; ".join(told)

    async def _answer_message(
        self, agent_id: str, intake: Intake, request: AgentPortMessage
    ) -> AgentPortAnswer | None:
        """Store a message and wait for its answer; return None if no answer comes in time.

        Raises:
            ApiProblem: the journal cannot store the message now.
        """
        names = request.channel, request.chat_id, request.id
        message = InboundMessage(
            channel=self.name,
            bot_id=agent_id,
            chat_id=request.chat_id,
            message_id="/".join((agent_id, *map(_escape_id_part, names))),
            sender_id=request.sender_id,
            text=request.text,
            target=agent_id,
            skip=None if request.text.strip() else "no text",
        )
        try:
            await intake.accept([message])
        except JournalError as error:
            raise ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error
        ended = await self._wait_for_end(message.message_id, ANSWER_TIMEOUT)
        return (
            None
            if not isinstance(ended, EndedMessage)
            else await self._store.transact(_build_port_answer, ended)
        )

    async def _load_token(self) -> str:
        """Return the clients' token.

        Raises:
            FileError, OSError: the token's file cannot be used.
        """
        if self._token_file.is_unchanged():
            return _load_or_make_token(self._token_file)
        return await run_off_loop(_load_or_make_token, self._token_file)


def describe_port_problem(port: int, agent_id: str, error: OSError | FileError) -> str:
    """Explain why a port is closed, and what to do."""
    if isinstance(error, FileError):
        reason = str(error)
    else:
        reason = CANNOT_OPEN.get(error.errno or 0, f"cannot be opened ({error.strerror})")
        reason += ', or set another "port"'
    return f"port {port} of agent {agent_id!r} {reason}"


def _escape_id_part(name: str) -> str:
    """Escape a part of a message id, so that it cannot look like two."""
    return name.replace("%", "%25").replace("/", "%2F")


def _load_or_make_token(file: SecretFile) -> str:
    """Read the token from its file, or write a new one."""
    try:
        token = file.read_text()
    except FileError as error:
        raise FileError(f"{file.path}: {error}") from error
    if token is None:
        token = secrets.token_urlsafe(32)
        write_private(file.path, token.encode())
    if not token:
        raise FileError(f"{file.path}: it is empty; remove it, and a new token is written")
    return token


def _build_port_answer(db: Database, ended: EndedMessage) -> AgentPortAnswer:
    row = ended.row
    done = row.state == "done"
    text = "\n\n".join(ended.texts)
    return AgentPortAnswer(
        success=done,
        response=text if done else None,
        error=None if done else row.error or text or "not answered",
        tools_used=steps.list_tool_names(db, row.turn_id) if row.turn_id else (),
        total_steps=steps.count_model_calls(db, row.turn_id) if row.turn_id else 0,
    )
