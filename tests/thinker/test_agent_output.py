"""A turn of an agent whose definition has an output: the reply is the object it describes."""

import json
from typing import Any

from fakes.manual import REFERENCES, examples
from fakes.scripted import MemoryHost, ScriptedModel, says, turn_run
from structlog.testing import capture_logs

from thinker.agent import Agent
from thinker.formats import plain_yaml
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.methods import StopReason

SLOTS = {
    "system": "You sort mail.",
    "info": {"folders": ["in", "out"]},
    "output": {"folder": {"$type": "Literal['in', 'out']", "$desc": "where to"}, "why": "a reason"},
    "options": {"ensure_keys": ["why"], "max_retries": 1},
}


async def answered(slots: object, *script: Any, **source: Any) -> tuple[str, str, ScriptedModel]:
    """Return the reply, the stop reason and the model."""
    definition = {
        "name": "p",
        "toolDescription": "d",
        "model": "inherit",
        "prompt": {"slots": slots, **source},
    }
    model = ScriptedModel(*script)
    turn = turn_run("a letter", prompt={"name": "p", "definitions": {"p": definition}})
    result = await Agent(ThinkerSettings(), model).run_turn(turn, MemoryHost())
    return result.text, result.stop_reason, model


async def test_the_reply_is_the_object_that_the_definition_asks_for() -> None:
    """After one invalid answer; the model reads the structure first and then its fault."""
    text, reason, model = await answered(
        SLOTS, says('{"folder": "bin", "why": "x"}'), says('So: {"folder": "in", "why": "y"}')
    )
    assert (text, reason) == ('{"folder":"in","why":"y"}', StopReason.DONE)
    system = model.requests[0].system
    assert "You sort mail." in system
    assert '"folder": <Literal[in, out]>, // where to' in system
    assert "- folder: Input should be 'in' or 'out'" in model.requests[1].messages[-1].content


async def test_a_model_that_cannot_is_not_asked_for_ever() -> None:
    """The chat gets a plain sentence."""
    text, reason, model = await answered(SLOTS, says("in"), says("out"))
    assert reason is StopReason.OUTPUT
    assert "did not answer in the form" in text
    assert len(model.requests) == 2


async def test_a_definition_without_structure_takes_any_text() -> None:
    """An output described in words requests Markdown."""
    text, _, model = await answered({"instruct": "Rhyme.", "output": "A poem"}, says("Roses"))
    assert text == "Roses"
    assert "Answer with markdown." in model.requests[0].system


async def test_slots_that_do_not_go_with_their_parent_are_reported() -> None:
    """The agent answers without them."""
    with capture_logs() as logs:
        text, _, _ = await answered({"input": "x"}, says("hello"), parent="p")
    assert text == "hello"
    assert any("includes go in a circle: p > p" in str(line) for line in logs)


async def test_example_of_the_manual_is_shown_checked_and_asked_for_again_as_it_says() -> None:
    """The structure that the model reads, what is said of a wrong answer, and the reply."""
    page = [
        (found.info, found.text.strip()) for found in examples(REFERENCES / "output-grammar.md")
    ]
    (source,) = (text for info, text in page if info == "yaml")
    shown, complaint = (text for info, text in page if info == "text")
    prompt: Any = plain_yaml.parse_mapping(source, "the example")["prompt"]
    wrong = '{"number": 7, "lines": [{"item": "bolt"}]}'
    right = (
        'Here: {"number": "7", "currency": "USD", "lines": {"item": "bolt", "amount": 2},'
        ' "seller": {"name": "A"}, "remarks": ""}'
    )
    text, reason, model = await answered(prompt["slots"], says(wrong), says(right))
    assert shown in model.requests[0].system
    asked_again = model.requests[1].messages[-1]
    assert asked_again.content == complaint
    assert reason == StopReason.DONE
    assert json.loads(text) == {
        "number": "7",
        "currency": "USD",
        "lines": [{"item": "bolt", "amount": 2.0}],
        "seller": {"name": "A", "vat_id": None},
        "remarks": "",
    }
