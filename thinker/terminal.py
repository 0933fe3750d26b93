"""A worker run by hand: type a line, read the answer.

Without a supervisor, ``python -m thinker`` reads standard input. A line of text is a turn; its
steps are kept in memory, and no tools are offered, since tools belong to the supervisor. A line
with a JSON object is a frame of the wire, answered as for a supervisor.
"""

import sys
import time
from typing import TextIO

import anyio
from anyio import to_thread

from thinker.agent import Agent
from thinker.protocol.messages import AssistantMessage, Message, ToolResult, UserMessage
from thinker.protocol.methods import ChatRef, StepCommit, StepCommitted, TurnRun
from thinker.protocol.peer import Peer
from thinker.server import WorkerServer

TURN_SECONDS = 600.0
WELCOME = "Type a message and press Enter; end with Ctrl-D.\n"


class StandaloneHost:
    """A host without journal and tools."""

    def __init__(self) -> None:
        self._seq = 0

    async def commit_step(self, commit: StepCommit) -> StepCommitted:
        first = self._seq + 1
        self._seq += 1 + len(commit.calls)
        return StepCommitted(seq=first, call_seqs=tuple(range(first + 1, self._seq + 1)))

    async def call_tool(self, seq: int) -> ToolResult:
        """Refuse: tools belong to the supervisor."""
        problem = "no tools without a supervisor"
        return ToolResult(call_id=str(seq), name="", content=problem, is_error=True)

    async def take_new_messages(self) -> tuple[UserMessage, ...]:
        """Return no messages; input is read only between turns."""
        return ()

    def show_partial_answer(self, text: str) -> None:
        """Do nothing; the answer is printed once it is whole."""

    def is_draining(self) -> bool:
        return False


class _LineWriter:
    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, data: bytes) -> None:
        self._out.write(data.decode())
        self._out.flush()

    def close(self) -> None:
        self._out.flush()


async def run_terminal(agent: Agent, source: TextIO, out: TextIO) -> None:
    """Answer each line of ``source`` on ``out`` until ``source`` ends.

    Then requests that still wait for a response from ``source`` fail.
    """
    if source.isatty():
        sys.stderr.write(WELCOME)
    history: list[Message] = []
    server = WorkerServer(agent)
    async with anyio.create_task_group() as tasks:
        peer = Peer(_LineWriter(out), tasks, server.requests, server.notifications)
        server.peer = peer
        while line := await to_thread.run_sync(source.readline, abandon_on_cancel=True):
            if line.lstrip().startswith("{"):
                peer.feed(f"{line}\n".encode())  # the last line may have no newline
            elif line.strip():
                out.write(await _answer_line(agent, history, line.strip()) + "\n")
                out.flush()
        peer.mark_lost()


async def _answer_line(agent: Agent, history: list[Message], text: str) -> str:
    now = time.time()
    message = UserMessage(content=text)
    turn = TurnRun(
        turn_id="by-hand",
        chat=ChatRef(channel="terminal", chat_id="terminal"),
        messages=(message,),
        history=tuple(history),
        started_at=now,
        deadline=now + TURN_SECONDS,
    )
    result = await agent.run_turn(turn, StandaloneHost())
    history += [message] if result.notice else [message, AssistantMessage(content=result.text)]
    return result.text if result.error is None else f"{result.text}\n({result.error})"
