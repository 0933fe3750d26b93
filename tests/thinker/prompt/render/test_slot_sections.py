"""Slots as a form of prompt definition: parents, includes, and the one pipeline behind them."""

import pytest
from pydantic import JsonValue

from thinker.formats.prompts.definition import read
from thinker.formats.prompts.problem import DefinitionError
from thinker.formats.prompts.sources import Source
from thinker.prompt.render.agently.message_layout import agently_messages
from thinker.prompt.render.agently.text_layout import agently_text
from thinker.prompt.render.bind import bind
from thinker.prompt.render.layouts import markdown
from thinker.prompt.render.lower import lower
from thinker.prompt.render.sections import Section


def source(prompt: JsonValue) -> Source:
    """The prompt of a definition with this JSON."""
    given = {"name": "x", "toolDescription": "d", "model": "inherit", "prompt": prompt}
    definition, problems = read(given)
    assert definition is not None, problems
    return definition.prompt


def lowered(**prompts: JsonValue) -> tuple[Section, ...]:
    """The sections of the definition ``root`` among these."""
    return lower({name: source(prompt) for name, prompt in prompts.items()}, "root")


def test_parents_stand_behind_their_children() -> None:
    """Three generations of files: text is replaced, info and output merged."""
    sections = lowered(
        root={
            "slots": {"input": "x", "info": {"c": 1}, "output": {"b": {"$type": "int"}}},
            "parent": "middle",
        },
        middle={"slots": {"system": "M", "info": {"m": 1}}, "parent": "top"},
        top={"slots": {"system": "T", "output": {"a": {"$type": "str", "$desc": "d"}}}},
    )
    assert agently_text(sections).text == (
        "user:\n[SYSTEM]:\nM\n\n[INFO]:\n- m: 1\n- c: 1\n\n[INPUT]:\nx\n\n"
        "[OUTPUT REQUIREMENT]:\nData Format: JSON\nData Structure:\n"
        '{\n  "a": <str>, // d\n  "b": <int>\n}\n\n[OUTPUT]:\nassistant:'
    )


def test_a_parent_of_another_form_is_refused() -> None:
    """It can be included instead, says the error."""
    with pytest.raises(DefinitionError, match="not written as slots; include it"):
        lowered(root={"slots": {"input": "x"}, "parent": "other"}, other="words")


def test_a_slot_may_hold_another_definition_of_any_form() -> None:
    """Text and variables become part of the slot, further sections follow it in its role."""
    sections = lowered(
        root={
            "slots": {
                "system": {"type": "include", "prompt": "layers"},
                "instruct": {"type": "include", "prompt": "words"},
                "input": "x",
            }
        },
        words=[{"type": "text", "content": "Be brief, "}, {"type": "env", "property": "WHO"}],
        layers={"layered": {"identity": "You plan.", "safety": ["Ask first."]}},
    )
    bound = bind(sections, {"WHO": "Ann"})
    messages = agently_messages(bound).messages
    assert messages[0] == {"role": "system", "content": "You plan.\n\n- Ask first."}
    assert "[INSTRUCT]:\nBe brief, Ann\n\n[INPUT]:" in str(messages[1]["content"])
    assert [m["role"] for m in messages] == ["system", "user"]


def test_slots_may_be_included_by_any_form() -> None:
    """Their sections keep their headings in the layout of agents."""
    sections = lowered(
        root=[{"type": "text", "content": "First.\n\n"}, {"type": "include", "prompt": "shop"}],
        shop={"slots": {"info": {"opens": 9}, "output": {"a": {"$type": "str"}}}},
    )
    text = markdown(sections)
    assert text.startswith('First.\n\n# INFO\n{\n  "opens": 9\n}')
    assert text.endswith('Answer with JSON of this structure:\n{\n  "a": <str>\n}')


def test_every_fault_of_slots_is_found_when_the_file_is_checked() -> None:
    """With its place and what to write instead."""
    given: JsonValue = {
        "name": "x",
        "toolDescription": "d",
        "model": "inherit",
        "prompt": {
            "slots": {
                "chat_history": [{"role": "user"}],
                "tools": "t",
                "output": {"a": {"$type": "strnig"}},
                "options": {"max_retries": 99},
            }
        },
    }
    problems = {str(problem) for problem in read(given)[1]}
    assert "prompt.slots.chat_history.content: is missing" in problems
    assert any(problem.startswith("prompt.slots.tools") for problem in problems)
    assert any("prompt.slots.output: $type 'strnig' is not a type" in p for p in problems)
    assert any(problem.startswith("prompt.slots.options.max_retries") for problem in problems)
