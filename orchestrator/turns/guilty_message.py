"""Give up on the message that has ended the daemon again and again, before it is read once more.

Where: is a message given up that kills the daemon?
"""

import structlog

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import deadletters, inbox, turns
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.turns import Turn
from orchestrator.loop_bound import LoopBound
from orchestrator.turns.opener import TurnOpening
from orchestrator.turns.turn_runner import OpenTurn
from orchestrator.turns.turn_services import TurnServices
from thinker.protocol.logs import bound

log = structlog.get_logger()


class GuiltyMessage(LoopBound):
    """The message that was next in its chat when this process began, or its turn."""

    def __init__(self, services: TurnServices, chat: str) -> None:
        self._services = services
        self._chat = chat
        self._suspect: str | int | None = None  # the id of the turn or the message

    async def give_up(self, opening: TurnOpening) -> bool:
        """Give up on the message, or return False while another node works for it.

        What follows a message that another node has dealt with is innocent.

        Raises:
            JournalError: the journal cannot be used; look again.
        """
        store, clock = self._services.store, self._services.inputs.clock
        found, own = await store.read(_find_suspect, self._chat, opening)
        if found is None or self._suspect not in (None, found.id):
            return True
        self._suspect = found.id
        if not own:
            return False
        died_in, deaths = store.crashes.died_in, store.crashes.deaths
        problem = f"the daemon died {deaths} times in a row in its {died_in.lstrip('_')}"
        if isinstance(found, Turn):
            with bound(turn_id=found.id, agent_id=found.agent_id, chat_id=found.chat_key):
                runner = await OpenTurn(found).make_runner(self._services)
                await runner.give_up_message(deaths, problem)
        elif not await store.transact(_give_up_row, found, opening, problem, clock()):
            return False
        log.error("message_given_up", chat=self._chat, problem=problem)
        self._services.delivery.wake()
        return True


def _find_suspect(
    db: Database, chat: str, opening: TurnOpening
) -> tuple[Turn | InboxRow | None, bool]:
    """Return what a chat goes on with, and whether this node works for it."""
    found = turns.find_open_turn(db, chat) or inbox.find_oldest_new(db, chat)
    return found, opening.has_own_work(db, chat)


def _give_up_row(db: Database, row: InboxRow, opening: TurnOpening, problem: str, now: int) -> bool:
    found, own = _find_suspect(db, row.chat_key, opening)
    if not own or found is None or found.id != row.id:
        return False
    return deadletters.give_up_next(db, row.chat_key, problem, now)
