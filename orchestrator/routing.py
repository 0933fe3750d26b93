"""Choose the agent that answers a message: by the bindings, then by handoffs in the journal.

The most specific binding wins (thread, then chat, then ``*``), among equals the first. A message
for an agent that cannot take it is refused: another agent must not read it.

Where: is the agent of a chat chosen by bindings?
"""

from collections.abc import Sequence
from typing import Protocol

from orchestrator.agentsfile import AgentsFile, Binding
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import handoffs
from orchestrator.journal.turns.inbox import InboxRow

THREAD, CHAT, ANY_CHAT, NO_MATCH = 3, 2, 1, 0


class Place(Protocol):
    """The origin of a message."""

    @property
    def channel(self) -> str:
        """The chat system."""

    @property
    def chat_id(self) -> str:
        """The chat in it."""

    @property
    def thread_id(self) -> str | None:
        """The thread in the chat, if there is one."""


class RoutedMessage(Place, Protocol):
    """The fields of a message that decide which agent answers."""

    @property
    def target(self) -> str | None:
        """The agent that the message itself names, if any."""


def route_message(db: Database, agents: AgentsFile, row: InboxRow, now: int) -> str | None:
    """Return the agent that answers a stored message; None to refuse it.

    Ends the chat's handoffs if one leads to an unusable agent.
    """
    found, usable = handoffs.list_handoffs_in_chat(db, row.chat_key), agents.list_enabled_ids()
    if any(handoff.agent_id not in usable for handoff in found):
        handoffs.take_back_chat(db, row.chat_key, now)
    return find_answering_agent(db, agents, row, row.chat_key)


def find_answering_agent(
    db: Database, agents: AgentsFile, message: RoutedMessage, chat_key: str
) -> str | None:
    """Return the agent that answers in a chat, handoffs included; None to refuse the message."""
    usable = agents.list_enabled_ids()
    bindings = agents.list_bindings(message.channel, message.chat_id)
    routed = resolve_agent(bindings, message, usable, agents.fallback_agent_id)
    for handoff in handoffs.list_handoffs_in_chat(db, chat_key):
        if handoff.routed_id == routed:
            return handoff.agent_id if handoff.agent_id in usable else routed
    return routed


def resolve_agent(
    bindings: Sequence[Binding],
    message: RoutedMessage,
    agents: frozenset[str],
    fallback: str | None,
) -> str | None:
    """Return the agent in ``agents`` that answers ``message``; None to refuse it."""
    chosen = message.target
    if not chosen:
        binding = match_binding(bindings, message)
        chosen = binding.agent_id if binding is not None else fallback
    return chosen if chosen in agents else None


def match_binding(bindings: Sequence[Binding], place: Place) -> Binding | None:
    """Return the binding that applies to a place: the most specific one, then the first."""
    best, most = None, NO_MATCH
    for binding in bindings:
        if binding.channel == place.channel and (score := score_binding(binding, place)) > most:
            best, most = binding, score
    return best


def score_binding(binding: Binding, place: Place) -> int:
    """Return the specificity of ``binding`` for a place; 0 for no match."""
    if binding.channel != place.channel:
        return NO_MATCH
    if binding.thread_id is not None:
        same = (binding.chat_id, binding.thread_id) == (place.chat_id, place.thread_id)
        return THREAD if same else NO_MATCH
    if binding.chat_id == place.chat_id:
        return CHAT
    return ANY_CHAT if binding.chat_id == "*" else NO_MATCH
