"""The older HTTP interface: an agent with a ``port`` takes messages there, for existing clients.

``GET /health`` and ``POST /process-message`` on 127.0.0.1, with the token of ``<home>/http-token``.
The supervisor listens, not the worker: a message goes through the inbox like any other, so it is
answered once however often it is sent, and an agent that is not running is started by it.
"""

import secrets
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path

import anyio
import apsw
import structlog
from anyio.abc import SocketStream
from pydantic import Field, ValidationError

from orchestrator.agentsfile import AgentsFile
from orchestrator.channel_api import InboundMessage, Intake
from orchestrator.channels.stored_replies import Ended, JournalChannel
from orchestrator.control import accept
from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import JournalError
from orchestrator.files import write_private
from orchestrator.http_api.legacy_http import Exchange, RefusedRequestError, read
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import steps

CHANNEL = "http"
ANSWER = 120.0  # seconds that a client waits; that of the system in seed 002
READ = 10.0  # seconds for a request to arrive
CONNECTIONS = 100  # of one agent at a time
HOSTS = frozenset({"127.0.0.1", "localhost"})
log = structlog.get_logger()


class Incoming(CamelModel):
    """The body of POST /process-message (reference/annabelle.md §3)."""

    id: str = Field(min_length=1, max_length=200)
    chat_id: str = Field(min_length=1, max_length=200)
    sender_id: str = Field(max_length=200)
    text: str = Field(max_length=1_000_000)
    channel: str = Field("http", max_length=50)


class Outcome(CamelModel):
    """Its answer."""

    success: bool
    response: str | None = None
    tools_used: tuple[str, ...] = ()
    total_steps: int = 0
    error: str | None = None


class Health(CamelModel):
    """The answer of GET /health."""

    status: str
    agent_id: str


@dataclass(frozen=True)
class Port:
    """Where an agent is reached."""

    number: int
    agent_id: str


class AgentPorts(JournalChannel):
    """The `Adapter` of all agents' ports. ``changed`` returns when the configuration did."""

    name = CHANNEL

    def __init__(
        self,
        store: Store,
        token_file: Path,
        agents: Callable[[], AgentsFile],
        changed: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(store)
        self._token_file = token_file
        self._agents = agents
        self._config_changed = changed

    async def run(self, intake: Intake) -> None:
        """Listen where the configuration in force says."""
        open_ports: dict[Port, anyio.CancelScope] = {}
        async with anyio.create_task_group() as tasks:
            while True:
                file = self._agents()
                wanted = {
                    Port(item.port, item.agent_id)
                    for item in file.agents
                    if item.port is not None and item.agent_id in file.usable()
                }
                for port in open_ports.keys() - wanted:
                    open_ports.pop(port).cancel()
                for port in wanted - open_ports.keys():
                    open_ports[port] = anyio.CancelScope()
                    tasks.start_soon(self._listen, port, open_ports[port], intake)
                await self._config_changed()

    async def _listen(self, port: Port, scope: anyio.CancelScope, intake: Intake) -> None:
        with scope:
            try:
                self._token()  # so that a client finds it when the agent can be reached
                listener = socket.create_server(("127.0.0.1", port.number))
            except OSError as error:
                self.status.state = "degraded"
                self.status.detail = f"port {port.number} of {port.agent_id!r}: {error.strerror}"
                log.error("agent_port_failed", agent_id=port.agent_id, problem=self.status.detail)
                return
            with listener:
                listener.setblocking(False)  # noqa: FBT003 - the standard library takes it by position
                self.status.state, self.status.detail = "ok", ""
                number = listener.getsockname()[1]
                log.info("agent_port", agent_id=port.agent_id, port=number)
                limit = anyio.Semaphore(CONNECTIONS)
                await accept.accept(listener, partial(self._serve, port.agent_id, intake, limit))

    async def _serve(
        self, agent_id: str, intake: Intake, limit: anyio.Semaphore, sock: socket.socket
    ) -> None:
        """One connection carries one request."""
        async with await SocketStream.from_socket(sock) as stream, limit:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, TimeoutError):
                try:
                    with anyio.fail_after(READ):
                        exchange = await read(stream)
                    status, body = await self._answer(agent_id, intake, exchange)
                except RefusedRequestError as refusal:
                    status, body = refusal.status, Outcome(success=False, error=str(refusal))
                with anyio.fail_after(READ):
                    await stream.send(_response(status, body))

    async def _answer(
        self, agent_id: str, intake: Intake, exchange: Exchange
    ) -> tuple[HTTPStatus, CamelModel]:
        host = exchange.headers.get("host", "").rsplit(":", 1)[0]
        if host not in HOSTS or "origin" in exchange.headers:
            raise RefusedRequestError(HTTPStatus.FORBIDDEN, "only for programs on this machine")
        given = exchange.headers.get("authorization", "").encode()
        if not secrets.compare_digest(given, f"Bearer {self._token()}".encode()):
            raise RefusedRequestError(
                HTTPStatus.UNAUTHORIZED, "send the token of <home>/http-token as Bearer token"
            )
        if (exchange.method, exchange.path) == ("GET", "/health"):
            return HTTPStatus.OK, Health(status="ok", agent_id=agent_id)
        if (exchange.method, exchange.path) != ("POST", "/process-message"):
            raise RefusedRequestError(
                HTTPStatus.NOT_FOUND, "there are GET /health and POST /process-message"
            )
        return await self._process(agent_id, intake, exchange.body)

    async def _process(
        self, agent_id: str, intake: Intake, body: bytes
    ) -> tuple[HTTPStatus, CamelModel]:
        try:
            said = Incoming.model_validate_json(body)
        except ValidationError as error:
            detail = error.errors(include_url=False)[0]
            place = ".".join(map(str, detail["loc"])) or "body"
            raise RefusedRequestError(
                HTTPStatus.BAD_REQUEST, f"{place}: {detail['msg']}"
            ) from error
        message = InboundMessage(
            channel=CHANNEL,
            bot_id=agent_id,
            chat_id=said.chat_id,
            message_id=f"{agent_id}/{said.channel}/{said.chat_id}/{said.id}",
            sender_id=said.sender_id,
            text=said.text,
            target=agent_id,
            skip=None if said.text.strip() else "no text",
        )
        try:
            await intake.accept([message])
        except JournalError as error:
            raise RefusedRequestError(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error
        ended = await self._ended(message.message_id, said.chat_id, ANSWER)
        if ended is None:
            error_text = "not answered yet; send the same id again to get the answer"
            return HTTPStatus.ACCEPTED, Outcome(success=False, error=error_text)
        return HTTPStatus.OK, await self._store.transact(_outcome, ended)

    def _token(self) -> str:
        """The token; made when the first port is opened."""
        try:
            return self._token_file.read_text("utf-8").strip()
        except FileNotFoundError:
            token = secrets.token_urlsafe(32)
            write_private(self._token_file, token.encode())
            return token


def _outcome(db: apsw.Connection, ended: Ended) -> Outcome:
    row = ended.row
    done = row.state == "done"
    text = "\n\n".join(ended.texts)
    return Outcome(
        success=done,
        response=text if done else None,
        error=None if done else row.error or text or "not answered",
        tools_used=steps.tools_of(db, row.turn_id) if row.turn_id else (),
        total_steps=steps.model_calls(db, row.turn_id) if row.turn_id else 0,
    )


def _response(status: HTTPStatus, body: CamelModel) -> bytes:
    content = body.model_dump_json(by_alias=True, exclude_none=True).encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(content)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + content
