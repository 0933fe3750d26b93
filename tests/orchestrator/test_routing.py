"""Routing: which binding applies; no other agent reads a refused message."""

from dataclasses import replace
from itertools import permutations

import pytest

from orchestrator.agentsfile import AgentsFile, Binding
from orchestrator.channel_api import InboundMessage
from orchestrator.routing import match_binding, resolve_agent

MESSAGE = InboundMessage("telegram", "bot", "1", "m", "s", thread_id="7")
ALL = frozenset({"any", "chat", "thread", "other"})


def bound(chat: str, agent: str, thread: str | None = None) -> Binding:
    """A telegram binding."""
    return Binding(channel="telegram", chat_id=chat, thread_id=thread, agent_id=agent)


BINDINGS = (bound("*", "any"), bound("1", "chat"), bound("1", "thread", "7"), bound("1", "other"))


def test_most_specific_binding_wins_in_any_order() -> None:
    """Thread before chat before any chat."""
    elsewhere = replace(MESSAGE, thread_id="8")
    for bindings in (BINDINGS, (BINDINGS[2], BINDINGS[1], BINDINGS[3], BINDINGS[0])):
        assert resolve_agent(bindings, MESSAGE, ALL, None) == "thread"
        assert resolve_agent(bindings, elsewhere, ALL, None) == "chat"
        assert resolve_agent(bindings, replace(MESSAGE, chat_id="2"), ALL, None) == "any"


def test_unbound_chat_goes_to_the_fallback_or_nowhere() -> None:
    """Never to an unconfigured default."""
    message = replace(MESSAGE, channel="web")
    assert resolve_agent(BINDINGS, message, ALL, None) is None
    assert resolve_agent(BINDINGS, message, ALL, "other") == "other"
    assert resolve_agent(BINDINGS, message, ALL, "unknown") is None


def test_thread_binding_is_for_its_chat_alone() -> None:
    """Thread numbers repeat between chats."""
    assert (
        resolve_agent((bound("1", "thread", "7"),), replace(MESSAGE, chat_id="2"), ALL, None)
        is None
    )


def test_message_of_an_unusable_agent_is_refused_not_passed_on() -> None:
    """The wildcard's agent must not read what was meant for another."""
    assert resolve_agent(BINDINGS, MESSAGE, ALL - {"thread"}, "any") is None


def test_target_names_the_agent_outright() -> None:
    """The console says whom it means; an unknown name is refused, not guessed."""
    assert resolve_agent((), replace(MESSAGE, target="other"), ALL, None) == "other"
    assert resolve_agent(BINDINGS, replace(MESSAGE, target="nobody"), ALL, "any") is None


@pytest.mark.parametrize("order", list(permutations(BINDINGS)))
@pytest.mark.parametrize("chat", ["1", "2", "*"])
@pytest.mark.parametrize("channel", ["telegram", "web"])
def test_bindings_of_a_chat_decide_as_all_do(
    order: tuple[Binding, ...], chat: str, channel: str
) -> None:
    """So that a message is not compared with the bindings of ten thousand other chats."""
    far = bound("9", "far")
    file = AgentsFile.model_construct(agents=(), bindings=(far, *order))
    for thread in ("7", "8", None):
        message = replace(MESSAGE, channel=channel, chat_id=chat, thread_id=thread)
        found = file.list_bindings(channel, chat)
        assert match_binding(found, message) is match_binding(file.bindings, message)
        assert far not in found
