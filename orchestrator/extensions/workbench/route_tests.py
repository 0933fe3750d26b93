"""The tests of agents.json: chats, and the agents that must answer them.

They are pure, so they run at each reading of the file: a file in which one fails is refused.
"""

from orchestrator.agentsfile import ChatChannel
from orchestrator.agentsfile.agents_file import RouteTest
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.problems import suggest_name
from orchestrator.channel_api import InboundMessage
from orchestrator.inbound.admission import find_group_rule
from orchestrator.routing import match_binding

NO_RULE = "no binding matches, and there is no fallbackAgentId"


def check_routes(draft: Draft) -> None:
    """Add an error for each test whose chat is not answered as it says."""
    declared = draft.list_declared_ids()
    off = {agent.agent_id for agent in draft.agents.values() if not agent.enabled}
    for number, test in draft.tests.items():
        path = ("tests", number)
        if test.agent_id is not None and test.agent_id not in declared:
            advice = suggest_name(test.agent_id, declared, "correct the test")
            text = f"test {number + 1} names the unknown agent '{test.agent_id}'{advice}"
            draft.add_error((*path, "agentId"), text)
            continue
        agent, rule = _find_answer(draft, test)
        if agent in off:
            agent, rule = None, f"{rule}, whose agent is disabled"
        if agent != test.agent_id:
            draft.add_error(path, _describe_failure(number, test, agent, rule))


def _find_answer(draft: Draft, test: RouteTest) -> tuple[str | None, str]:
    """Return the agent that answers, if any, and the rule that decides."""
    channel = draft.channels.list_chat_channels().get(test.channel)
    if channel is not None and test.text and _is_left_alone(test, channel):
        return None, f"by the rules for groups of channels.{test.channel} it is not for the bot"
    binding = match_binding(tuple(draft.bindings.values()), test)
    if binding is not None:
        line = next(
            draft.find_line("bindings", at) for at, one in draft.bindings.items() if one is binding
        )
        return binding.agent_id, f"the binding {binding.place} in line {line} decides"
    if draft.fallback_agent_id is not None:
        return draft.fallback_agent_id, "no binding matches, so fallbackAgentId decides"
    return None, NO_RULE


def _is_left_alone(test: RouteTest, channel: ChatChannel) -> bool:
    """Return whether the message is one that people of a group write to each other."""
    private = channel.is_person(test.chat_id)
    if private is None:
        private = test.sender in (None, test.chat_id)
    message = InboundMessage(
        channel=test.channel,
        bot_id="",
        chat_id=test.chat_id,
        message_id="",
        sender_id=test.sender or test.chat_id,
        text=test.text,
        private=private,
    )
    return find_group_rule(message, channel.groups) is None


def _describe_failure(number: int, test: RouteTest, agent: str | None, rule: str) -> str:
    place = f"{test.channel}:{test.chat_id}" + (f"/{test.thread_id}" if test.thread_id else "")
    found = "is refused" if agent is None else f"is answered by '{agent}'"
    wanted = "be refused" if test.agent_id is None else f"be answered by '{test.agent_id}'"
    return (
        f"test {number + 1}: {place} {found} and must {wanted}: {rule}; correct the bindings or the"
        " test"
    )
