"""Answer chat commands that another node has received for an agent of this one.

The node that receives a command for another node's agent only stores it: what it changes, such as
an open turn, is the agent's node's to write.

Where: is a command answered that another node has received?
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import structlog

from orchestrator.inbound.commands import ChatCommand, Commands
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import deferred_commands, outbox
from orchestrator.journal.turns.deferred_commands import DeferredCommand
from orchestrator.loop_bound import LoopBound

UNKNOWN = "I don't know this command. /help lists what I understand."
log = structlog.get_logger()


@dataclass(eq=False)
class CommandQueue(LoopBound):
    """Answers the commands of a queue; ``on_answer`` is called after each commit."""

    store: Store
    commands: Commands
    on_answer: Callable[[], None]

    async def answer_commands(self, queue: str) -> None:
        """Answer what waits in a queue, in order.

        Raises:
            JournalError: something could not be stored; the rest waits.
        """
        for waiting in await self.store.read(deferred_commands.list_waiting, queue):
            command = self.commands.parse_command(waiting.message)
            if command is None:  # the node that received it has another version
                log.warning("command_unknown", inbox=waiting.row.id)
            now, owner = self.commands.gate.clock(), deferred_commands.find_agent(queue)
            stopped, failed = await self.store.transact(
                _answer_command, waiting, command, now, owner=owner
            )
            self.commands.on_commit(stopped)
            for name, error in failed:
                log.error("command_failed", command=name, exc_info=error)
            self.on_answer()


def _answer_command(
    db: Database, waiting: DeferredCommand, command: ChatCommand | None, now: int
) -> tuple[list[str], list[tuple[str, Exception]]]:
    """Answer a command unless that was done; return the turns that it stopped, and its faults."""
    row, own = waiting.row, None
    if command is not None:
        own = replace(command, role=waiting.role, stopped=[], failed=[])
    if deferred_commands.end_command(db, waiting, now):
        answer = UNKNOWN if own is None else own.answer_command(db)
        outbox.add_notice(db, row.build_address(), answer, now, reply_to=row.message_id)
    return ([], []) if own is None else (own.stopped, own.failed)
