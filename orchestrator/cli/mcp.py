"""``orchestrator mcp``: the daemon as an MCP server on standard input and output.

It carries lines to the daemon and messages back. A line that the daemon had not finished when it
went away is sent to the next one; the session lets that one know what was begun already.
"""

import sys
from contextlib import redirect_stdout, suppress
from secrets import token_hex
from typing import BinaryIO

import anyio
import orjson
import typer
from anyio import to_thread
from anyio.abc import TaskGroup
from pydantic import JsonValue

from orchestrator.cli._client import connection
from orchestrator.cli._options import Home, command_group, load_settings
from orchestrator.control.mcp_lines import MCP_LINE, MCP_OUT, McpLine, McpOutput
from orchestrator.errors import OrchestratorError
from orchestrator.settings import Settings
from thinker.protocol.messages import JsonObject
from thinker.protocol.peer import MAX_FRAME, Peer, PeerClosedError, RpcError

ANSWER_SECONDS = 4000.0  # timeout of a line; an agent's answer may be waited for an hour
PATIENCE = 30.0  # seconds that a request waits for a daemon that restarts
RECONNECT_SECONDS = 0.2  # pause between attempts to reach it
UNAVAILABLE = -32000  # code of the error that says that there is no daemon
TOO_LONG = f"a line is longer than {MAX_FRAME} bytes"

app = command_group()


@app.command()
def mcp(*, home: Home = None) -> None:
    """Serve the running daemon to an MCP client.

    The client starts this command and talks to it on standard input and output. Each agent is a
    tool; others are for chats and waiting approvals, and traces are resources. It may do all that
    you may.
    """
    output = sys.stdout
    bridge = McpBridge(load_settings(home), sys.stdin.buffer, output.buffer)
    with redirect_stdout(sys.stderr):  # what goes to the client are messages alone
        anyio.run(bridge.run)


class McpBridge:
    """Carries lines between a client and the daemon, or the next daemon on the home."""

    def __init__(self, settings: Settings, lines: BinaryIO, output: BinaryIO) -> None:
        self._settings = settings
        self._lines = lines
        self._output = output
        self._session = token_hex(16)
        self._peer: Peer | None = None
        self._problem = ""  # why there is no peer
        self._was_linked = False
        self._linked, self._tried = anyio.Event(), anyio.Event()

    async def run(self) -> None:
        """Serve until the client closes its end and has its responses."""
        async with anyio.create_task_group() as link:
            link.start_soon(self._stay_linked)
            async with anyio.create_task_group() as requests:
                await self._read(requests)
            link.cancel_scope.cancel()

    async def _read(self, requests: TaskGroup) -> None:
        whole = True
        while True:
            line = await to_thread.run_sync(self._lines.readline, MAX_FRAME, abandon_on_cancel=True)
            if not line:
                return
            ended = line.endswith(b"\n")
            if whole and (ended or len(line) < MAX_FRAME):
                text = line.decode(errors="replace")
                if text.strip():
                    requests.start_soon(self._deliver, text)
            elif whole:
                self._refuse(None, TOO_LONG)
            whole = ended

    async def _deliver(self, line: str) -> None:
        """Have the daemon finish with a line, or the next one if it goes away."""
        while True:
            peer = await self._reach()
            if peer is None:
                self._refuse(line, self._problem)
                return
            try:
                given = McpLine(session=self._session, line=line)
                await peer.request(MCP_LINE, given, timeout=ANSWER_SECONDS)
            except PeerClosedError:
                continue
            except (RpcError, TimeoutError) as error:
                self._refuse(line, str(error) or "the daemon does not answer; look at its log")
            return

    async def _reach(self) -> Peer | None:
        """Return the connection to the daemon, waited for if it was there before."""
        await self._tried.wait()
        if self._peer is None and self._was_linked:
            with anyio.move_on_after(PATIENCE):
                await self._linked.wait()
        return self._peer

    async def _stay_linked(self) -> None:
        while True:
            try:
                async with connection(self._settings, {MCP_OUT: self._receive}) as peer:
                    self._peer, self._was_linked = peer, True
                    self._linked.set()
                    self._tried.set()
                    await peer.closed.wait()
            except OrchestratorError as error:
                self._unlinked(str(error))
            else:
                self._unlinked("the daemon has stopped; start it again with 'orchestrator run'")
            await anyio.sleep(RECONNECT_SECONDS)

    def _unlinked(self, problem: str) -> None:
        if self._peer is not None:
            self._peer, self._linked = None, anyio.Event()
        if problem != self._problem:
            typer.echo(problem, err=True)
        self._problem = problem
        self._tried.set()

    def _receive(self, params: JsonValue) -> None:
        self._write(McpOutput.model_validate(params).message)

    def _refuse(self, line: str | None, problem: str) -> None:
        """Answer each request of a line with an error."""
        try:
            value: JsonValue = orjson.loads(line or "null")
        except orjson.JSONDecodeError:
            value = None
        error: JsonObject = {"code": UNAVAILABLE, "message": problem}
        for item in value if isinstance(value, list) else [value]:
            call_id = item.get("id") if isinstance(item, dict) else None
            if call_id is not None or line is None:
                self._write({"jsonrpc": "2.0", "id": call_id, "error": error})

    def _write(self, message: JsonValue) -> None:
        with suppress(BrokenPipeError):  # the client is gone, and so its end of the lines
            self._output.write(orjson.dumps(message) + b"\n")
            self._output.flush()
