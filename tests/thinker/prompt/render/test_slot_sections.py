"""Definitions written as slots inherit, include and are checked like other forms."""

import pytest
from pydantic import JsonValue

from thinker.formats.prompts.definition import parse_definition
from thinker.formats.prompts.problem import DefinitionError
from thinker.formats.prompts.sources import Source
from thinker.prompt.render.bind import bind_variables
from thinker.prompt.render.layouts import render_markdown
from thinker.prompt.render.lower import lower_definition
from thinker.prompt.render.sections import Section


def source(prompt: JsonValue) -> Source:
    """Return the prompt of a definition with this JSON."""
    given = {"name": "x", "toolDescription": "d", "model": "inherit", "prompt": prompt}
    definition, problems = parse_definition(given)
    assert definition is not None, problems
    return definition.prompt


def lowered(**prompts: JsonValue) -> tuple[Section, ...]:
    """Return the sections of the definition ``root``."""
    return lower_definition({name: source(prompt) for name, prompt in prompts.items()}, "root")


def test_child_inherits_the_slots_of_its_parents() -> None:
    """Through three generations: text is replaced, info and output are merged."""
    sections = lowered(
        root={
            "slots": {"input": "x", "info": {"c": 1}, "output": {"b": {"$type": "int"}}},
            "parent": "middle",
        },
        middle={"slots": {"system": "M", "info": {"m": 1}}, "parent": "top"},
        top={"slots": {"system": "T", "output": {"a": {"$type": "str", "$desc": "d"}}}},
    )
    assert render_markdown(sections) == (
        '# SYSTEM\nM\n\n# INFO\n{\n  "c": 1,\n  "m": 1\n}\n\n# INPUT\nx\n\n'
        "# OUTPUT REQUIREMENT\nAnswer with JSON of this structure:\n"
        '{\n  "a": <str>, // d\n  "b": <int>\n}'
    )


def test_parent_of_another_form_is_refused() -> None:
    """The error says to include it instead."""
    with pytest.raises(DefinitionError, match="not written as slots; include it"):
        lowered(root={"slots": {"input": "x"}, "parent": "other"}, other="words")


def test_slot_may_include_any_definition() -> None:
    """Text and variables become part of the slot; more sections follow in its role."""
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
    bound = bind_variables(sections, {"WHO": "Ann"})
    assert render_markdown([section for section in bound if section.role == "system"]) == (
        "# SYSTEM\n# Identity\nYou plan.\n\n# Safety\n- Ask first."
    )
    assert render_markdown([section for section in bound if section.role == "user"]) == (
        "# INSTRUCT\nBe brief, Ann\n\n# INPUT\nx"
    )


def test_any_form_may_include_slots() -> None:
    """Their sections keep their headings."""
    sections = lowered(
        root=[{"type": "text", "content": "First.\n\n"}, {"type": "include", "prompt": "shop"}],
        shop={"slots": {"info": {"opens": 9}, "output": {"a": {"$type": "str"}}}},
    )
    text = render_markdown(sections)
    assert text.startswith('First.\n\n# INFO\n{\n  "opens": 9\n}')
    assert text.endswith('Answer with JSON of this structure:\n{\n  "a": <str>\n}')


def test_every_problem_of_slots_is_found_by_the_check() -> None:
    """Each with its path and the correction."""
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
    problems = {str(problem) for problem in parse_definition(given)[1]}
    assert "prompt.slots.chat_history.content: is missing" in problems
    assert any(problem.startswith("prompt.slots.tools") for problem in problems)
    assert any("prompt.slots.output: $type 'strnig' is not a type" in p for p in problems)
    assert any(problem.startswith("prompt.slots.options.max_retries") for problem in problems)


def test_slots_come_in_one_order_however_they_are_written() -> None:
    """That of upstream's texts; tools and their results come before the facts, extras after."""
    before = ["system", "developer", "chat_history", "tools", "action_results", "info", "mood"]
    order = [*before, "instruct", "examples", "input", "attachment", "output"]
    values: dict[str, JsonValue] = dict.fromkeys(order, "x")
    values["chat_history"] = [{"role": "user", "content": "x"}]
    values["tools"] = [{"name": "x", "desc": "x", "kwargs": {}}]
    values["output"] = {"x": {"$type": "str"}}
    slots: dict[str, JsonValue] = {name: values[name] for name in sorted(order)}
    assert [section.id for section in lowered(root={"slots": slots})] == order
