"""T2: opens the turn that a chat goes on with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import structlog

from orchestrator import __version__, chat_texts, routing
from orchestrator.agentsfile import AgentsFile
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.savepoints import savepoint_or_rollback
from orchestrator.journal.turns import albums, cancellations, inbox, subagents, turns
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.pauses import Pause
from orchestrator.journal.turns.turns import Turn, TurnAdmission
from orchestrator.loop_owned import LoopOwned
from orchestrator.prompts.library import PromptSet
from orchestrator.spending.spending_rules import SpendingRules
from orchestrator.turns.turn_inputs import InputLoader, LoopFacts, TurnInputs
from orchestrator.turns.turn_runner import RECIPES, OpenTurn

KINDS = {  # recipes by the kind of message
    inbox.TASK: "proactive",
    inbox.SUBAGENT: "subagent",
    inbox.REQUEST: "request",
    inbox.HOOK: "hook",
}
UNBOUND = "no agent is bound to this chat"
UNKNOWN = "there is no agent {agent!r} that can answer"
log = structlog.get_logger()


class Unsettled(NamedTuple):
    """A chat's next message is an album that may have more parts; look again in ``seconds``."""

    seconds: float


@dataclass(frozen=True)
class TurnOpening:
    """Opens turns inside the caller's transaction; see `TurnOpener`.

    ``since`` is when this process began, in milliseconds since the epoch; ``fresh`` as in
    `LoopFacts`.
    """

    agents: AgentsFile
    prompts: PromptSet
    rules: SpendingRules
    epoch: int
    new_id: Callable[[int], str]
    since: int
    admitting: bool
    fresh: frozenset[str] = frozenset()

    def open_all(
        self, chats: Sequence[str], opened: dict[str, OpenTurn | None], db: Database
    ) -> None:
        """Open turns for these chats at the end of T1. A failure here never rolls back T1.

        ``opened`` gets the chats that have a turn now (None: nothing to do).
        """
        opened.clear()  # of a try that the database has ended
        for chat in chats:
            with savepoint_or_rollback(db):
                found = self.open_next(db, chat)
                if found is None or isinstance(found, OpenTurn):
                    opened[chat] = found

    def open_next(self, db: Database, chat: str) -> OpenTurn | Pause | InboxRow | Unsettled | None:
        """Return the chat's turn, opening one if needed; else why not, or the refused message."""
        row = inbox.next_in(db, chat) if self.admitting else None
        if row is None:
            found = turns.open_in(db, chat)
            # Another epoch's turn belongs to another process.
            return OpenTurn(found) if found is not None and found.epoch == self.epoch else None
        now, agents = self.rules.clock(), self.agents
        wait = albums.unsettled(db, chat, row.album, now, self.since)
        if wait:
            return Unsettled(wait / 1000)
        agent_id = routing.route(db, agents, row, now)
        if agent_id is None:
            reason = UNBOUND if row.target is None else UNKNOWN.format(agent=row.target)
            log.warning("message_refused", chat=chat, reason=reason)
            answered = row.private and not row.internal
            inbox.refuse(db, row, reason, chat_texts.NO_AGENT if answered else None, now)
            return row
        pause = self.rules.admits(db, agent_id, row)
        if pause is not None:
            return pause
        admission = TurnAdmission(
            turn_id=self.new_id(now),
            agent_id=agent_id,
            epoch=self.epoch,
            minutes=self._minutes(db, agent_id, row),
            code_version=__version__,
            recipe=KINDS.get(row.kind, "interactive"),
        )
        turn = turns.admit(db, row, admission, now)
        return None if turn is None else self._opened(db, turn, row)

    def _opened(self, db: Database, turn: Turn, row: InboxRow) -> OpenTurn:
        """Reserve the first model call, and load the inputs if that needs nothing else."""
        preloaded = None
        if RECIPES[turn.recipe].limited:  # the others may need no model
            self.rules.reserve_first(db, turn)
            with savepoint_or_rollback(db):
                preloaded = self._preloaded(db, turn, turns.claimed(row, turn))
        return OpenTurn(turn, preloaded)

    def _preloaded(self, db: Database, turn: Turn, row: InboxRow) -> TurnInputs | None:
        """Load the inputs, unless an embedding or an eager subagent is needed first."""
        definition = self.agents.agent(turn.agent_id)
        if definition is None or definition.embeddings or self.prompts.immediate(definition):
            return None
        facts = LoopFacts(self.rules, fresh=self.fresh, first=row)
        found = RECIPES[turn.recipe].gather(db, turn, definition, facts, None)
        return found if isinstance(found, TurnInputs) else None

    def wants_interrupt(self, db: Database, chat: str) -> bool:
        """Return whether the chat's next message should end the turn that is open."""
        row = inbox.oldest_new(db, chat)
        if row is None or row.internal or row.kind == inbox.REQUEST:
            return False
        agent_id = routing.agent_for(db, self.agents, row)
        definition = None if agent_id is None else self.agents.agent(agent_id)
        return definition is not None and (row.while_busy or definition.while_busy) == "interrupt"

    def interrupt(self, db: Database, chat: str) -> str | None:
        """Cancel the chat's turn for the message that waits; return the turn's id."""
        if not self.wants_interrupt(db, chat):
            return None
        return cancellations.cancel(db, chat, "a newer message came", self.rules.clock())

    def _minutes(self, db: Database, agent_id: str, row: InboxRow) -> float:
        if row.kind == inbox.SUBAGENT:
            return subagents.of_message(db, row.id).spec.timeout_minutes
        definition = self.agents.agent(agent_id)
        return definition.limits.turn_minutes if definition is not None else 1


@dataclass
class TurnOpener(LoopOwned):
    """Lets transactions open turns; none while it is not ``admitting``.

    ``epoch`` is that of this process: a newer one fences what it commits.
    """

    inputs: InputLoader
    epoch: int
    new_id: Callable[[int], str] = turns.new_id
    admitting: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        self._since = self.inputs.clock()

    def opening(self) -> TurnOpening:
        """Return what a transaction needs to open turns; it may not touch this object."""
        inputs = self.inputs
        return TurnOpening(
            agents=inputs.agents(),
            prompts=inputs.prompts.now,
            rules=inputs.guard.rules(),
            epoch=self.epoch,
            new_id=self.new_id,
            since=self._since,
            admitting=self.admitting,
            fresh=inputs.tools.servers.pins.fresh(),
        )
