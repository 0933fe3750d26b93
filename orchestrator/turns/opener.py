"""Open the next turn of a chat (T2).

Where: does a turn begin (T2)?
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import structlog

from orchestrator import __version__, chat_texts, routing
from orchestrator.agentsfile import AgentDefinition
from orchestrator.journal.db.database import Database, roll_back_on_failure
from orchestrator.journal.turns import albums, cancellations, inbox, subagents, turns
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.pauses import Pause
from orchestrator.journal.turns.turns import Turn, TurnAdmission
from orchestrator.loop_bound import LoopBound
from orchestrator.placement import Placement, Share, SingleNode
from orchestrator.prompts.prompt_set import PromptSet
from orchestrator.spending.spending_rules import SpendingRules
from orchestrator.turns import own_chats
from orchestrator.turns.input_loader import InputLoader
from orchestrator.turns.turn_context import LoopFacts
from orchestrator.turns.turn_inputs import TurnInputs
from orchestrator.turns.turn_runner import OpenTurn, find_recipe

KINDS: dict[str, str] = {  # recipes by the kind of message
    inbox.TASK: "proactive",
    inbox.SUBAGENT: "subagent",
    inbox.REQUEST: "request",
    inbox.HOOK: "hook",
}
UNBOUND = "no agent is bound to this chat"
UNKNOWN = "there is no agent {agent!r} that can answer"
log = structlog.get_logger()


class IncompleteAlbum(NamedTuple):
    """An album that may still get parts; look again in ``seconds``."""

    seconds: float


class CommandsFirst(NamedTuple):
    """Commands of the chat that another node has received; answer them before its next message."""

    queue: str


Obstacle: TypeAlias = InboxRow | IncompleteAlbum | CommandsFirst  # then look again


@dataclass(frozen=True, kw_only=True)
class TurnOpening:
    """Opens turns inside the caller's transaction; see `TurnOpener`.

    ``since`` is when this process began, in milliseconds since the epoch; ``fresh`` as in
    `LoopFacts`; ``share`` is what this node works for, None if there is no other. What is
    ``closing`` is left to the node that takes it, except open turns.
    """

    rules: SpendingRules
    prompts: PromptSet
    epoch: int
    new_id: Callable[[int], str]
    since: int
    admitting: bool
    fresh: frozenset[str] = frozenset()
    share: Share | None = None
    closing: Share | None = None

    def open_all(
        self, chats: Sequence[str], opened: dict[str, OpenTurn | None], db: Database
    ) -> None:
        """Open turns for these chats at the end of T1; a failure never rolls back T1.

        ``opened`` gets the chats that have a turn now (None: nothing to do).
        """
        opened.clear()  # of a try that the database has ended
        for chat in chats:
            with roll_back_on_failure(db):
                found = self.open_next(db, chat)
                if found is None or isinstance(found, OpenTurn):
                    opened[chat] = found

    def open_next(self, db: Database, chat: str) -> OpenTurn | Pause | Obstacle | None:
        """Return the chat's turn, opening one if needed, or the reason, or the refused message."""
        row = inbox.find_next_message(db, chat) if self.admitting else None
        if row is None:
            found = own_chats.find_own_turn(db, chat, self.epoch, self.share, self.rules.clock())
            return None if found is None else OpenTurn(found)
        now = self.rules.clock()
        if row.album is not None:
            wait = albums.compute_album_wait(db, chat, row.album, now, self.since)
            if wait:
                return IncompleteAlbum(wait / 1000)
        handed, paused = turns.find_hindrances(db, chat)
        definition = self._route_message(db, row, now, handed=handed)
        own = own_chats.is_own_message(row, definition, self.share) and not (
            self.closing and own_chats.is_own_message(row, definition, self.closing)
        )
        if definition is None or not own:
            return self._refuse_message(db, row, now) if own else None
        agent_id = definition.agent_id
        earlier = own_chats.find_earlier_commands(db, agent_id, chat, self.share)
        if earlier is not None:
            return CommandsFirst(earlier)
        if paused or not self.rules.is_unlimited(definition):
            pause = self.rules.enforce_admission_limits(db, agent_id, row)
            if pause is not None:
                return pause
        minutes: float = definition.turn_minutes
        if row.kind == inbox.SUBAGENT:
            minutes = subagents.load_run_of_message(db, row.id).spec.timeout_minutes
        admission = TurnAdmission(
            turn_id=self.new_id(now),
            agent_id=agent_id,
            epoch=self.epoch,
            minutes=minutes,
            code_version=__version__,
            recipe=KINDS.get(row.kind, "interactive"),
        )
        turn = turns.admit_message(db, row, admission, now)
        return None if turn is None else self._prepare_turn(db, turn, row, definition)

    def _route_message(
        self, db: Database, row: InboxRow, now: int, *, handed: bool
    ) -> AgentDefinition | None:
        agents = self.rules.agents
        if handed:
            agent_id = routing.route_message(db, agents, row, now)
        else:
            bindings = agents.list_bindings(row.channel, row.chat_id)
            agent_id = routing.resolve_agent(
                bindings, row, agents.list_enabled_ids(), agents.fallback_agent_id
            )
        return None if agent_id is None else agents.find_agent(agent_id)

    def _refuse_message(self, db: Database, row: InboxRow, now: int) -> InboxRow:
        reason = UNBOUND if row.target is None else UNKNOWN.format(agent=row.target)
        log.warning("message_refused", chat=row.chat_key, reason=reason)
        answered = row.private and not row.is_internal
        inbox.refuse_message(db, row, reason, chat_texts.NO_AGENT if answered else None, now)
        return row

    def _prepare_turn(
        self, db: Database, turn: Turn, row: InboxRow, definition: AgentDefinition
    ) -> OpenTurn:
        """Reserve the first model call, and load the inputs if that needs nothing else.

        Inputs are not loaded here if an embedding, an eager subagent or a changed definition must
        come first.
        """
        recipe = find_recipe(turn.recipe)
        if not recipe.limited:  # it may need no model
            return OpenTurn(turn)
        self.rules.reserve_first_call(db, turn)
        eager = definition.prompt and self.prompts.list_immediate_subagents(definition)
        if eager or definition.embeddings or not recipe.as_configured:
            return OpenTurn(turn)
        said = own_chats.load_claimed_message(db, row, turn, self.share)
        facts = LoopFacts(self.rules, fresh=self.fresh, first=said)
        found = None
        with roll_back_on_failure(db):
            found = recipe.gather_inputs(db, turn, definition, facts, None)
        return OpenTurn(turn, found if isinstance(found, TurnInputs) else None)

    def has_own_work(self, db: Database, chat: str) -> bool:
        """Return whether this node works for the next message of a chat, or for its turn."""
        return own_chats.has_own_work(db, chat, self.rules.agents, self.epoch, self.share)

    def is_interrupt_wanted(self, db: Database, chat: str) -> bool:
        """Return whether the chat's next message should end the open turn."""
        row = inbox.find_oldest_new(db, chat)
        if row is None or row.is_internal or row.kind == inbox.REQUEST:
            return False
        agents = self.rules.agents
        agent_id = routing.find_answering_agent(db, agents, row, chat)
        definition = None if agent_id is None else agents.find_agent(agent_id)
        return definition is not None and (row.while_busy or definition.while_busy) == "interrupt"

    def interrupt_turn(self, db: Database, chat: str) -> str | None:
        """Cancel the chat's turn for the waiting message; return the turn's id."""
        if not (self.has_own_work(db, chat) and self.is_interrupt_wanted(db, chat)):
            return None
        return cancellations.cancel_turn(db, chat, "a newer message came", self.rules.clock())


@dataclass
class TurnOpener(LoopBound):
    """Opens turns for transactions, unless it is not ``admitting``.

    ``epoch`` is that of this process: a newer one fences what it commits.
    """

    inputs: InputLoader
    epoch: int
    new_id: Callable[[int], str] = turns.make_turn_id
    placement: Placement = field(default_factory=SingleNode)
    admitting: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        self._since = self.inputs.clock()

    def build_opening(self) -> TurnOpening:
        """Build the opening for a transaction, which must not touch this object."""
        return TurnOpening(
            rules=self.inputs.guard.build_rules(),
            prompts=self.inputs.prompts.current_set,
            epoch=self.epoch,
            new_id=self.new_id,
            since=self._since,
            admitting=self.admitting,
            fresh=self.inputs.tools.servers.new_tools,
            share=self.placement.share,
            closing=self.placement.closing,
        )
