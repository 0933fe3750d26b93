"""A daemon's control socket without the daemon: answers what a test tells it to."""

import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio
from anyio import to_thread
from fakes.postgresql import store_of
from fakes.time_limit import time_limit
from pydantic import BaseModel, JsonValue
from typer.testing import CliRunner, Result

from orchestrator.cli import app
from orchestrator.control import protocol
from orchestrator.control.protocol import Ack, ChatEvent, ChatScene, StatusReport
from thinker.protocol.peer import Params, Peer, RequestHandler, RpcError, connect_peer

Answer = Params | RpcError | RequestHandler
STATUS = StatusReport(
    ready=True,
    version="1",
    home="/h",
    config_file="/h/agents.json",
    agents=(),
    channels=(),
    config_errors=(),
    open_turns=0,
    inbox={},
)
SCENE = ChatScene(  # a chat that the agent work answers
    agent_id="work",
    provider="groq",
    model="llama",
    agents=("home", "work"),
    commands={"help": "list the commands", "pause": "AGENT: stop answering"},
    position=0,
)


@dataclass
class ControlServer:
    """What was asked, and by whom; ``peers`` are the open connections."""

    asked: list[tuple[str, JsonValue]] = field(default_factory=list)
    peers: list[Peer] = field(default_factory=list)

    def params(self, method: str) -> list[JsonValue]:
        """The parameters of each request of a method."""
        return [params for name, params in self.asked if name == method]

    def tell(self, event: ChatEvent) -> None:
        """Tell all clients what happens in a chat."""
        for peer in self.peers:
            peer.notify(protocol.CHAT_EVENT, event)

    def handler(self, method: str, answer: Answer) -> RequestHandler:
        """Records a request and gives the answer."""

        async def handle(params: JsonValue) -> Params:
            self.asked.append((method, params))
            if isinstance(answer, RpcError):
                raise answer
            if isinstance(answer, BaseModel) or not callable(answer):
                return answer
            return await answer(params)

        return handle


def talking(outcome: Answer) -> dict[str, Answer]:
    """The answers of a daemon with the chat of `SCENE`; ``outcome`` is that of each message."""
    return {
        protocol.STATUS: STATUS,
        protocol.CHAT_WATCH: SCENE,
        protocol.CHAT_SEND: Ack(),
        protocol.CHAT_WAIT: outcome,
    }


@asynccontextmanager
async def serving(home: Path, answers: Mapping[str, Answer]) -> AsyncIterator[ControlServer]:
    """The control socket of ``home``; ``answers`` by method: a value, an error or a handler."""
    server = ControlServer()
    methods = {method: server.handler(method, answer) for method, answer in answers.items()}
    path = home / "run" / "control.sock"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.setblocking(False)  # noqa: FBT003 - the standard library takes it by position
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_accept, listener, server, methods)
            yield server
            tasks.cancel_scope.cancel()


async def _accept(
    listener: socket.socket, server: ControlServer, methods: Mapping[str, RequestHandler]
) -> None:
    async with anyio.create_task_group() as tasks:
        while True:
            await anyio.wait_readable(listener)
            sock, _ = listener.accept()
            tasks.start_soon(_serve, sock, server, methods)


async def _serve(
    sock: socket.socket, server: ControlServer, methods: Mapping[str, RequestHandler]
) -> None:
    async with connect_peer(sock, methods) as peer:
        server.peers.append(peer)
        await peer.closed.wait()


def command(home: Path, *arguments: str, said: str | None = None, terminal: bool = False) -> Result:
    """Run a command of the command line in this process on ``home``."""
    env = {
        "ORCHESTRATOR_HOME": str(home),
        **store_of(home),
        "ORCHESTRATOR_CONFIG": None,
        "TTY_COMPATIBLE": "1" if terminal else "0",
    }
    return CliRunner().invoke(app, arguments, input=said, env=env)


async def ask(
    home: Path, *arguments: str, said: str | None = None, terminal: bool = False
) -> Result:
    """Like `command`, in a thread, so that a server in this test can answer.

    A command that does not end is left behind: it may wait for that server.
    """
    with time_limit():
        return await to_thread.run_sync(
            partial(command, home, *arguments, said=said, terminal=terminal),
            abandon_on_cancel=True,
        )
