"""Choose the agent that answers a message: by the bindings, then by handoffs in the journal.

The most specific binding wins (thread, then chat, then ``*``), among equals the first. A message
for an agent that cannot take it is refused: another agent must not read it.
"""

from collections.abc import Sequence
from typing import Protocol

from orchestrator.agentsfile import AgentsFile, Binding
from orchestrator.channel_api import InboundMessage
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import handoffs
from orchestrator.journal.turns.handoffs import Handoff
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


def resolve(
    bindings: Sequence[Binding],
    message: InboundMessage,
    agents: frozenset[str],
    fallback: str | None,
) -> str | None:
    """Return the agent of ``agents`` that answers ``message``; None refuses it."""
    chosen = _named(match(bindings, message), message, fallback)
    return chosen if chosen in agents else None


def match(bindings: Sequence[Binding], message: Place) -> Binding | None:
    best = max(bindings, key=lambda binding: specificity(binding, message), default=None)
    return best if best is not None and specificity(best, message) else None


def specificity(binding: Binding, message: Place) -> int:
    """Return how specifically ``binding`` matches the origin of ``message``; 0 if it does not."""
    if binding.channel != message.channel:
        return NO_MATCH
    if binding.thread_id is not None:
        same = (binding.chat_id, binding.thread_id) == (message.chat_id, message.thread_id)
        return THREAD if same else NO_MATCH
    if binding.chat_id == message.chat_id:
        return CHAT
    return ANY_CHAT if binding.chat_id == "*" else NO_MATCH


def explain(
    bindings: Sequence[Binding],
    message: InboundMessage,
    agents: frozenset[str],
    fallback: str | None,
) -> list[str]:
    """Describe the decision of `resolve` in lines: each binding, then the outcome."""
    winner = match(bindings, message)
    words = {THREAD: "names the thread", CHAT: "names the chat", ANY_CHAT: "any chat"}
    lines = []
    for binding in bindings:
        relation = words.get(specificity(binding, message), "does not match")
        applies = ", applies" if binding is winner and not message.target else ""
        lines.append(f"binding {binding.place} -> {binding.agent_id}: {relation}{applies}")
    if message.target:
        lines.append(f"the message names agent '{message.target}' itself")
    elif winner is None:
        lines.append(f"no binding matches; fallbackAgentId: {fallback or 'not set'}")
    chosen = _named(winner, message, fallback)
    if chosen is None:
        lines.append("refused: add a binding for this chat or set fallbackAgentId")
    elif chosen in agents:
        lines.append(f"answered by agent '{chosen}'")
    else:
        lines.append(f"refused: agent '{chosen}' is unknown, disabled or invalid")
    return lines


def agent_for(db: Database, agents: AgentsFile, row: InboxRow) -> str | None:
    """Return the agent that answers a stored message; None refuses it."""
    return answering_agent(db, agents, row.message(), row.chat_key)


def answering_agent(
    db: Database, agents: AgentsFile, message: InboundMessage, chat_key: str
) -> str | None:
    """Return the agent that answers a message of a chat, handoffs included; None refuses it."""
    return _answering(agents, message, handoffs.in_chat(db, chat_key))


def route(db: Database, agents: AgentsFile, row: InboxRow, now: int) -> str | None:
    """Do as `agent_for`, but end the chat's handoffs if one is to an agent that is not usable."""
    found, usable = handoffs.in_chat(db, row.chat_key), agents.usable()
    if any(handoff.agent_id not in usable for handoff in found):
        handoffs.take_back(db, row.chat_key, now)
        found = []
    return _answering(agents, row.message(), found)


def _answering(
    agents: AgentsFile, message: InboundMessage, handed: Sequence[Handoff]
) -> str | None:
    usable = agents.usable()
    routed = resolve(agents.bindings, message, usable, agents.fallback_agent_id)
    answering = next((item.agent_id for item in handed if item.routed_id == routed), routed)
    return answering if answering in usable else routed


def _named(binding: Binding | None, message: InboundMessage, fallback: str | None) -> str | None:
    return message.target or (binding.agent_id if binding is not None else fallback)
