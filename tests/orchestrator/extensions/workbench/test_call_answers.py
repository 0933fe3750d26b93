"""What answers calls of a trial that the record does not."""

import pytest
from fakes.replayed import LOOK, MAIL, made, replayed

from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.workbench.call_answers import CallAnswerer
from orchestrator.extensions.workbench.matching import CallKey
from orchestrator.extensions.workbench.trial_host import CallAnswer
from thinker.protocol.messages import JsonObject
from thinker.protocol.methods import PlannedCall

SKILL = """\
---
name: travel
description: Plans journeys.
---
1. Ask for the class.
"""
KEY = CallKey("look", "0" * 64, 1)


async def object_to_nothing(call: PlannedCall) -> str:
    """No turn has read anything."""
    del call
    return ""


async def object_to_all(call: PlannedCall) -> str:
    """Every turn has read too much."""
    return f"{call.name} would carry data out"


async def invent(call: PlannedCall) -> str:
    """Make a result up."""
    return f"invented for {call.name}"


async def invent_nothing(call: PlannedCall) -> str:
    """Have no money."""
    raise OrchestratorError(f"no money for {call.name}")


def answerer(**fields: object) -> CallAnswerer:
    """What answers calls of an agent that may use all tools."""
    given = {
        "turn": replayed(made("look", "sunny", q="a"), "Hi."),
        "definition": AgentDefinition(agent_id="work", llm_provider="demo"),
        "tools": {"look": LOOK, "send_mail": MAIL},
        "find_objection": object_to_nothing,
        "invent": invent,
        **fields,
    }
    return CallAnswerer(**given)  # type: ignore[arg-type]


def call(name: str = "look", /, **arguments: str) -> PlannedCall:
    """A call."""
    given: JsonObject = {**arguments}
    return PlannedCall(id="c", name=name, arguments=given)


def content(answer: CallAnswer) -> str:
    """The text that the model reads."""
    assert answer.result is not None
    return answer.result.content


async def test_read_skill_gets_the_file_under_trial() -> None:
    """Its other files, and skills that are not changed, are left to the record."""
    trier = answerer(files={"skills/travel/SKILL.md": SKILL, "skills/x/SKILL.md": "no skill"})
    found = await trier.find_first(call("read_skill", name="travel"), KEY)
    assert found.source == "file"
    assert "Ask for the class." in content(found)
    for other in (
        call("read_skill", name="x"),
        call("read_skill", name="travel", file="a.md"),
        call(),
    ):
        assert await trier.find_first(other, KEY) == CallAnswer("none")


async def test_unrecorded_call_stops_with_its_key_by_default() -> None:
    """That is what a person types a result for."""
    found = await answerer().find_last(call(), KEY)
    assert (found.source, found.result) == ("none", None)
    assert KEY.format_key() in found.reason
    typed = answerer(typed={KEY.format_key(): "rain"}, unrecorded="ask")
    found = await typed.find_last(call(), KEY)
    assert (found.source, content(found)) == ("typed", "rain")
    assert found.result is not None
    assert found.result.is_untrusted
    assert found.result.fence


async def test_denied_call_gets_the_words_of_the_policy() -> None:
    """As the agent is configured now; a task may send nothing."""
    definition = AgentDefinition(agent_id="work", llm_provider="demo", denied_tools=("look",))
    found = await answerer(definition=definition).find_last(call(), KEY)
    assert found.source == "denied"
    assert "not allowed" in content(found)
    found = await answerer(denied=("send_*",)).find_last(call("send_mail"), KEY)
    assert found.source == "denied"
    found = await answerer(definition=None, denied=("send_*",)).find_last(call("send_mail"), KEY)
    assert found.source == "none"


@pytest.mark.parametrize(
    "fields",
    [
        {"definition": AgentDefinition(agent_id="a", llm_provider="demo", approvals=("look",))},
        {"tools": {"look": LOOK.model_copy(update={"approval": True})}},
        {"find_objection": object_to_all},
    ],
)
async def test_call_that_would_ask_stops_whatever_the_choice(fields: dict[str, object]) -> None:
    """A person decides about it, and no typed or invented result stands for that."""
    trier = answerer(unrecorded="invent", typed={KEY.format_key(): "rain"}, **fields)
    found = await trier.find_last(call(), KEY)
    assert found.result is None
    assert found.reason.startswith("look would have asked for approval: ")


async def test_invented_result_is_marked_and_may_fail() -> None:
    """Without money for it, the run stops and says so."""
    found = await answerer(unrecorded="invent").find_last(call(), KEY)
    assert (found.source, content(found)) == ("invented", "invented for look")
    poor = answerer(unrecorded="invent", invent=invent_nothing)
    found = await poor.find_last(call(), KEY)
    assert (found.result, found.reason) == (None, "no money for look")
