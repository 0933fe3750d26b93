"""What `orchestrator route` says of a message."""

from dataclasses import replace

from orchestrator.agentsfile import Binding
from orchestrator.channel_api import InboundMessage
from orchestrator.extensions.reports.commands.route import explain_routing

MESSAGE = InboundMessage("telegram", "bot", "1", "m", "s", thread_id="7")
ALL = frozenset({"any", "chat", "thread", "other"})
BINDINGS = (
    Binding(channel="telegram", chat_id="*", agent_id="any"),
    Binding(channel="telegram", chat_id="1", agent_id="chat"),
    Binding(channel="telegram", chat_id="1", thread_id="7", agent_id="thread"),
    Binding(channel="telegram", chat_id="1", agent_id="other"),
)


def test_explanation_ends_with_the_decision() -> None:
    """What `orchestrator route explain` prints."""
    lines = explain_routing(BINDINGS, MESSAGE, ALL, None)
    assert lines[2] == "binding telegram:1/7 -> thread: names the thread, applies"
    assert lines[-1] == "answered by agent 'thread'"
    unbound = explain_routing(BINDINGS, replace(MESSAGE, channel="web"), ALL, None)
    assert unbound[-2:] == [
        "no binding matches; fallbackAgentId: not set",
        "refused: add a binding for this chat or set fallbackAgentId",
    ]
    named = explain_routing(BINDINGS, replace(MESSAGE, target="nobody"), ALL, None)
    assert named[-2:] == [
        "the message names agent 'nobody' itself",
        "refused: agent 'nobody' is unknown, disabled or invalid",
    ]
