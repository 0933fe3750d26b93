"""T2: the turn that a chat goes on with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import apsw
import structlog

from orchestrator import __version__, chat_texts, routing
from orchestrator.journal.db.savepoints import savepoint_or_rollback
from orchestrator.journal.turns import inbox, subagents, turns
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.pauses import Pause
from orchestrator.journal.turns.turns import Turn, TurnAdmission
from orchestrator.turns.api_turn import RequestTurnRunner
from orchestrator.turns.subagent_turn import SubagentTurnRunner
from orchestrator.turns.task_turn import TaskTurnRunner
from orchestrator.turns.turn_inputs import TurnServices
from orchestrator.turns.turn_runner import TurnRunner

RECIPES = {  # by the kind of message
    inbox.TASK: "proactive",
    inbox.SUBAGENT: "subagent",
    inbox.REQUEST: "request",
}
RUNNERS = {
    "proactive": TaskTurnRunner,
    "subagent": SubagentTurnRunner,
    "request": RequestTurnRunner,
}
BOUNDED_ELSEWHERE = ("proactive", "subagent")  # such a turn takes no place from a person's
UNBOUND = "no agent is bound to this chat"
UNKNOWN = "there is no agent {agent!r} that can answer"
log = structlog.get_logger()


@dataclass(frozen=True)
class OpenTurn:
    """A turn that is open, and who brings it to its end."""

    turn: Turn
    runner: TurnRunner


class TurnOpener:
    """Opens turns, inside the transactions of whoever asks; none while it is not ``admitting``."""

    def __init__(self, services: TurnServices, new_id: Callable[[int], str] = turns.new_id) -> None:
        self._services = services
        self._new_id = new_id
        self.admitting = True

    def open_all(
        self, chats: Sequence[str], begun: dict[str, OpenTurn | None], db: apsw.Connection
    ) -> None:
        """At the end of T1: T2 of these chats, of which nothing undoes that.

        ``begun`` is told of those that have a turn now or have nothing to do.
        """
        for chat in chats:
            with savepoint_or_rollback(db):
                found = self.open_next(db, chat)
                if found is None or isinstance(found, OpenTurn):
                    begun[chat] = found

    def open_next(self, db: apsw.Connection, chat: str) -> OpenTurn | Pause | InboxRow | None:
        """The open turn, a new one, or the pause or the message because of which there is none."""
        found = turns.open_in(db, chat)
        if found is not None:
            return OpenTurn(found, self._runner(found))
        row = inbox.oldest_new(db, chat) if self.admitting else None
        if row is None:
            return None
        now = self._services.clock()
        routing.recover_handoffs(db, self._services.agents(), chat, now)
        agent_id = routing.agent_for(db, self._services.agents(), row)
        if agent_id is None:
            reason = UNBOUND if row.target is None else UNKNOWN.format(agent=row.target)
            log.warning("message_refused", chat=chat, reason=reason)
            told = row.private and not row.ours
            inbox.refuse(db, row, reason, chat_texts.NO_AGENT if told else None, now)
            return row
        admission = TurnAdmission(
            turn_id=self._new_id(now),
            agent_id=agent_id,
            epoch=self._services.epoch,
            minutes=self._minutes(db, agent_id, row),
            code_version=__version__,
            recipe=RECIPES.get(row.kind, "interactive"),
        )
        pause = self._services.gate.admits(db, agent_id, row)
        if pause is not None:
            return pause
        turn = turns.admit(db, row, admission, now)
        if turn is None:
            return None
        if turn.recipe not in RUNNERS:  # which may need no model
            self._services.gate.reserve(db, turn)
        runner = self._runner(turn)
        if turn.recipe not in BOUNDED_ELSEWHERE:
            with savepoint_or_rollback(db):
                runner.begin(db)
        return OpenTurn(turn, runner)

    def _runner(self, turn: Turn) -> TurnRunner:
        return RUNNERS.get(turn.recipe, TurnRunner)(self._services, turn)

    def _minutes(self, db: apsw.Connection, agent_id: str, row: InboxRow) -> float:
        """How long a turn may take."""
        if row.kind == inbox.SUBAGENT:
            return subagents.of_message(db, row.id).spec.timeout_minutes
        definition = self._services.agents().agent(agent_id)
        return definition.limits.turn_minutes if definition is not None else 1
