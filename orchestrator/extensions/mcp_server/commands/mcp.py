"""``orchestrator mcp``: the daemon as an MCP server on standard input and output.

The command carries lines to the daemon and messages back. A line that a stopping daemon did not
finish is sent to the next one, which knows by the session what was begun.
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

from orchestrator.cli.client import connect_to_daemon
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import Home, load_settings
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.mcp_server.mcp_lines import MCP_LINE, MCP_OUT, McpLine, McpOutput
from orchestrator.settings import Settings
from thinker.protocol.messages import JsonObject
from thinker.protocol.peer import MAX_FRAME, Peer, PeerClosedError, RpcError

ANSWER_SECONDS = 4000.0  # timeout of a line; an agent may take an hour to answer
RESTART_SECONDS = 30.0  # that a request waits for a daemon that restarts
RECONNECT_SECONDS = 0.2  # pause between attempts to reach it
UNAVAILABLE = -32000  # error code for a missing daemon
TOO_LONG = f"a line is longer than {MAX_FRAME} bytes"

app = make_command_group()


@app.command()
def mcp(*, home: Home = None) -> None:
    """Serve the running daemon to an MCP client.

    The client starts it and talks on standard input and output. Each agent is a tool; others are
    for chats and approvals, and traces are resources. The client may do all that you may.
    """
    output = sys.stdout
    bridge = McpBridge(load_settings(home), sys.stdin.buffer, output.buffer)
    with redirect_stdout(sys.stderr):  # what goes to the client are messages alone
        anyio.run(bridge.run)


class McpBridge:
    """Carries lines between a client and the home's present or next daemon."""

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
                await self._read_requests(requests)
            link.cancel_scope.cancel()

    async def _read_requests(self, requests: TaskGroup) -> None:
        whole = True
        while True:
            line = await to_thread.run_sync(self._lines.readline, MAX_FRAME, abandon_on_cancel=True)
            if not line:
                return
            ended = line.endswith(b"\n")
            if whole and (ended or len(line) < MAX_FRAME):
                text = line.decode(errors="replace")
                if text.strip():
                    requests.start_soon(self._deliver_line, text)
            elif whole:
                self._refuse_line(None, TOO_LONG)
            whole = ended

    async def _deliver_line(self, line: str) -> None:
        """Have this daemon, or the next one, finish a line."""
        while True:
            peer = await self._reach_daemon()
            if peer is None:
                self._refuse_line(line, self._problem)
                return
            try:
                given = McpLine(session=self._session, line=line)
                await peer.request(MCP_LINE, given, timeout=ANSWER_SECONDS)
            except PeerClosedError:
                continue
            except (RpcError, TimeoutError) as error:
                self._refuse_line(
                    line, str(error) or "the daemon does not answer; see: orchestrator logs"
                )
            return

    async def _reach_daemon(self) -> Peer | None:
        """Return the connection to the daemon; wait for a daemon that was connected before."""
        await self._tried.wait()
        if self._peer is None and self._was_linked:
            with anyio.move_on_after(RESTART_SECONDS):
                await self._linked.wait()
        return self._peer

    async def _stay_linked(self) -> None:
        while True:
            try:
                async with connect_to_daemon(self._settings, {MCP_OUT: self._on_output}) as peer:
                    self._peer, self._was_linked = peer, True
                    self._linked.set()
                    self._tried.set()
                    await peer.closed.wait()
            except OrchestratorError as error:
                self._on_unlinked(str(error))
            else:
                self._on_unlinked("the daemon has stopped; start it again with 'orchestrator run'")
            await anyio.sleep(RECONNECT_SECONDS)

    def _on_unlinked(self, problem: str) -> None:
        if self._peer is not None:
            self._peer, self._linked = None, anyio.Event()
        if problem != self._problem:
            typer.echo(problem, err=True)
        self._problem = problem
        self._tried.set()

    def _on_output(self, params: JsonValue) -> None:
        self._write_message(McpOutput.model_validate(params).message)

    def _refuse_line(self, line: str | None, problem: str) -> None:
        """Answer each request of a line with an error."""
        try:
            value: JsonValue = orjson.loads(line or "null")
        except orjson.JSONDecodeError:
            value = None
        error: JsonObject = {"code": UNAVAILABLE, "message": problem}
        for item in value if isinstance(value, list) else [value]:
            call_id = item.get("id") if isinstance(item, dict) else None
            if call_id is not None or line is None:
                self._write_message({"jsonrpc": "2.0", "id": call_id, "error": error})

    def _write_message(self, message: JsonValue) -> None:
        with suppress(BrokenPipeError):  # the client has gone, with its end of the pipe
            self._output.write(orjson.dumps(message) + b"\n")
            self._output.flush()
