"""The immutable context of a turn, made at T2 or at resumption and handed on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.taint import Taint
from orchestrator.journal.turns.turns import Turn
from orchestrator.spending.spending_rules import SpendingRules
from orchestrator.timezones import find_host_timezone
from orchestrator.tools import policy

if TYPE_CHECKING:
    from orchestrator.turns.eager_subagents import EagerCalls


@dataclass(frozen=True)
class LoopFacts:
    """The event loop's knowledge of a turn, for a transaction that reads it.

    ``rules`` have the current agents.json. ``running`` are its calls that run now: none of a new
    turn. No other can begin before the transaction, as the turn has no worker then; one that has
    ended meanwhile is recorded as ended, which counts. ``fresh`` are tools that a server has added
    since it was first seen. ``first`` is the message of a turn that the same transaction has
    opened, with its call reserved.
    """

    rules: SpendingRules
    running: frozenset[int] = frozenset()
    eager: "EagerCalls | None" = None
    fresh: frozenset[str] = frozenset()
    first: InboxRow | None = None

    def find_new_tool_taint(self, definition: AgentDefinition) -> Taint:
        """Return the taint that descriptions of new tools bring into a turn."""
        lists = definition.allowed_tools, definition.denied_tools
        names = sorted(name for name in self.fresh if policy.is_tool_allowed(name, *lists))
        return Taint(untrusted={f"the description of {name}": "tool" for name in names})


@dataclass(frozen=True)
class TurnContext:
    """The agent of a turn, as its recipe has it, and its rights to spend, read and write.

    An edit of agents.json counts for turns that are opened or resumed after it.
    """

    turn: Turn
    definition: AgentDefinition
    rules: SpendingRules
    memory: MemoryScope
    address: Address
    folder_scope: str

    @property
    def agents(self) -> AgentsFile:
        """The agents.json when the turn was opened or resumed."""
        return self.rules.agents

    @property
    def clock(self) -> Callable[[], int]:
        """Milliseconds since the epoch."""
        return self.rules.clock

    @property
    def timezone(self) -> str:
        """The name of the agent's time zone."""
        return self.definition.timezone or find_host_timezone(self.rules.environ)

    def is_steered_by(self, row: InboxRow) -> bool:
        """Return whether a message joins the turn; its own choice comes first."""
        return (row.while_busy or self.definition.while_busy) == "steer"
