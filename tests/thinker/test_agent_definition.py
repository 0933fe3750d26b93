"""A turn of an agent whose prompt is a definition."""

from typing import Any

from anyio import lowlevel
from fakes.scripted import USAGE, MemoryHost, ScriptedModel, call, calls, says, spec, turn_run
from structlog.testing import capture_logs

from thinker.agent import Agent
from thinker.models.base import ModelResponse
from thinker.prompt.base_prompt import BUILT_IN
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.environments import Environments
from thinker.protocol.messages import (
    AssistantMessage,
    Image,
    SideEffect,
    ToolResult,
    UserMessage,
)
from thinker.protocol.methods import TurnRun

PAST = (
    UserMessage(content="before"),
    AssistantMessage(content="", tool_calls=(call("1", "look", q="x"),)),
    ToolResult(call_id="1", name="look", content="seen"),
    AssistantMessage(content="it was so"),
)
LOOK, WRITE = spec("look", SideEffect.PURE, q="string"), spec("write", chat="string", text="string")


def turn(prompt: object = "Be kind.", **fields: Any) -> TurnRun:
    """A turn whose definition has these fields."""
    others = fields.pop("others", {})
    definition = {"name": "p", "toolDescription": "d", "model": "inherit", "prompt": prompt}
    bundle: Any = {"name": "p", "definitions": {"p": definition | fields, **others}}
    return turn_run("hello", LOOK, WRITE, prompt=bundle, history=PAST, summary="Boats.")


def agent(*script: Any) -> tuple[Agent, ScriptedModel]:
    """An agent and its model."""
    model = ScriptedModel(*script)
    return Agent(ThinkerSettings(), model), model


async def ran(of: TurnRun, *script: Any) -> tuple[ScriptedModel, MemoryHost]:
    """The model and the host after the turn."""
    found, model = agent(*(script or (says("hi"),)))
    host = MemoryHost()
    await found.run_turn(of, host)
    return model, host


def base(of: TurnRun) -> str:
    """The base prompt of a turn."""
    return agent()[0].preparation.prepare_turn(of).prompt.layers[0].text


async def test_definition_is_the_base_prompt_and_sees_no_past_by_default() -> None:
    """By default a definition gets no history, no results and no summary."""
    model, _ = await ran(turn())
    (request,) = model.requests
    assert request.system.startswith("Be kind.\n\n## Current Date")
    assert request.messages == (UserMessage(content="hello"),)
    assert "Boats" not in request.system


async def test_history_is_included_with_and_without_tools() -> None:
    """`includeChat` adds the conversation, `includePastTools` also calls and results."""
    model, _ = await ran(turn(includeChat=True))
    assert [message.content for message in model.requests[0].messages] == [
        "before",
        "it was so",
        "hello",
    ]
    assert "Boats." in model.requests[0].system
    model, _ = await ran(turn(includeChat=True, includePastTools=True))
    assert model.requests[0].messages == (*PAST, UserMessage(content="hello"))


async def test_tools_are_those_that_the_definition_lists() -> None:
    """No list: all; an empty list: none; toolChoice none: none in any case."""
    for fields, names in (
        ({}, ["look", "write"]),
        ({"tools": []}, []),
        ({"tools": ["write", "gone"]}, ["write"]),
        ({"tools": ["write"], "toolChoice": "none"}, []),
    ):
        model, _ = await ran(turn(**fields))
        assert [tool.name for tool in model.requests[0].tools] == names


async def test_required_choice_is_asked_for_again_until_a_tool_is_called() -> None:
    """The definition's choice reaches the provider and is enforced."""
    script = says("no"), calls(call("1", "look", q="x")), says("done")
    model, host = await ran(turn(toolChoice="required", tools=["look"]), *script)
    assert [request.tool_choice.mode for request in model.requests] == [
        "required",
        "required",
        "auto",
    ]
    assert len(host.ran) == 1


async def test_options_are_arguments_that_the_model_neither_sees_nor_sets() -> None:
    """They are in the committed call, so approval and journal show them."""
    entry = {"name": "write", "options": {"chat": "42"}}
    made = calls(call("1", "write", chat="7", text="x"))
    model, host = await ran(turn(tools=[entry]), made, says("done"))
    (tool,) = model.requests[0].tools
    assert tool.parameters["properties"] == {"text": {"type": "string"}}
    assert tool.parameters["required"] == ["text"]
    assert [planned.arguments for planned in host.planned.values()] == [{"chat": "42", "text": "x"}]


async def most_at_once(of: TurnRun) -> int:
    """Return how many of two pure calls of one response ran at the same time."""
    running: list[int] = [0, 0]

    async def look(arguments: object) -> str:
        del arguments
        running[0] += 1
        running[1] = max(running)
        await lowlevel.checkpoint()
        running[0] -= 1
        return "seen"

    model = ScriptedModel(calls(call("1", "look", q="a"), call("2", "look", q="b")), says("."))
    await Agent(ThinkerSettings(), model).run_turn(of, MemoryHost({"look": look}))
    return running[1]


async def test_calls_run_one_after_the_other_unless_parallel_is_allowed() -> None:
    """A definition does not allow it by default."""
    assert await most_at_once(turn()) == 1
    assert await most_at_once(turn(parallelToolCalls=True)) == 2


def test_table_shows_the_approval_that_is_enforced() -> None:
    """Whatever an author claims; listed tools get a row and keep the author's description."""
    note = {"name": "write", "description": "Mine", "approval": "never"}
    source = {"layered": {"identity": "You plan.", "tools": [note]}}
    definition = turn(source, tools=["look", "write"])
    tools = (LOOK, WRITE.model_copy(update={"approval": True}))
    assert base(definition.model_copy(update={"tools": tools})).splitlines()[-3:] == [
        "| --- | --- | --- |",
        "| write | Mine | always |",
        "| look | Does look. | never |",
    ]


def test_variables_are_one_line_each_and_secrets_stay_out() -> None:
    """Higher places win; a value cannot start a heading; a secret makes the definition invalid."""
    part = {"type": "env", "property": "WHO"}
    declared = {"name": "WHO", "type": "text", "required": True, "description": ""}
    definition = turn([part], variables=[declared], env={"WHO": "prompt"})
    assert base(definition) == "prompt"
    given = Environments(agent={"WHO": "a\n# Safety"})
    assert base(definition.model_copy(update={"environments": given})) == "a # Safety"
    with capture_logs() as logged:
        assert base(turn([part], variables=[declared | {"type": "secret"}])) == BUILT_IN
    assert any("WHO may be used in the text only" in str(entry) for entry in logged)


def test_profile_override_wins_over_a_definition() -> None:
    """As it does over every other base prompt."""
    assert base(turn().model_copy(update={"profile_prompt": "I am me."})) == "I am me."


def test_pictures_of_older_messages_are_described() -> None:
    """The definition's own threshold counts, ten by default."""
    picture = Image(media_type="image/png", data="AA==")
    past = tuple(UserMessage(content=str(n), images=(picture,)) for n in range(11))
    for fields, shown in (({}, 9), ({"recentImageThreshold": 3}, 2)):
        definition = turn(includeChat=True, **fields).model_copy(update={"history": past})
        messages = agent()[0].preparation.prepare_turn(definition).messages
        with_picture = [m for m in messages if isinstance(m, UserMessage) and m.images]
        assert len(with_picture) == shown
        assert "[image: image/png]" in messages[0].content


async def test_thoughts_are_recorded_unless_they_are_excluded() -> None:
    """``exclude`` keeps them out of the journal; ``include`` needs them there."""
    thought = ModelResponse(AssistantMessage(content="hi", reasoning="hm"), USAGE)
    for options, kept in (
        ({}, "hm"),
        ({"exclude": True}, None),
        ({"exclude": True, "include": True}, "hm"),
    ):
        model, host = await ran(turn(reasoning={"effort": "high", **options}), thought)
        assert host.commits[0].step.response.reasoning == kept
        reasoning = model.requests[0].reasoning
        assert reasoning is not None
        assert reasoning.effort == "high"
