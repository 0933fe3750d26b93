"""Every problem of a definition is reported at once, with its path and rule."""

from collections.abc import Mapping

import pytest
from pydantic import BaseModel, Field

from thinker.formats.prompts.definition import PromptDefinition, parse_definition
from thinker.formats.prompts.registry import AgentKind, Registry
from thinker.formats.prompts.sources import IncludePart, TextPart
from thinker.formats.prompts.tooluse import (
    HandoffUse,
    SubagentUse,
    SubpromptUse,
    ToolEntry,
    ToolUse,
)

REGISTRY = Registry(
    prompts={"rules": "Rules.", "summarize": "Sum up."},
    models=frozenset({"heavy"}),
    tools=frozenset({"search"}),
    agents={"sales": AgentKind(), "researcher": AgentKind(dual=True)},
    hooks=frozenset({"log_calls"}),
)
MINIMAL = {"name": "a", "toolDescription": "d", "model": "inherit", "prompt": "x"}


def found(**changes: object) -> list[tuple[str, str]]:
    """Return field and rule of every problem of the minimal definition with these changes."""
    problems = REGISTRY.validate_definition({**MINIMAL, **changes})
    return [(problem.field, problem.rule) for problem in problems]


def test_every_problem_of_a_definition_is_reported_at_once() -> None:
    """An author can correct all of them in one edit."""
    assert found(
        toolDescription=" ",
        recentImageThreshold=0,
        reasoning={"effort": "HIGH"},
        prompt=[{"type": "image"}, "x", {"type": "include"}],
        unknown=1,
    ) == [
        ("toolDescription", "non_empty_string"),
        ("prompt[0].type", "discriminator"),
        ("prompt[1]", "part_object"),
        ("prompt[2].prompt", "required"),
        ("reasoning.effort", "enum"),
        ("recentImageThreshold", "positive_integer"),
        ("unknown", "unknown_field"),
    ]


def test_problem_of_a_field_says_what_to_do() -> None:
    """In the words of this program, not of the library that validates."""
    _, problems = parse_definition(
        {"name": "p", "toolDescription": "x", "prompt": "x", "modell": "inherit"}
    )
    assert [str(problem) for problem in problems] == [
        "model: is missing",
        "modell: is an unknown field; correct its name or remove it",
    ]


KINDS = ("text", "secret")


def test_every_name_is_looked_up_at_once() -> None:
    """Model, includes, variables, tools and hooks."""
    assert found(
        model="none",
        prompt=[{"type": "include", "prompt": "gone"}, {"type": "env", "property": "KEY"}],
        tools=["search", "nothing", {"name": "search"}],
        hooks=["log_calls", "gone"],
        variables=[{"name": "A", "type": t, "required": True, "description": ""} for t in KINDS],
    ) == [
        ("model", "defined_model"),
        ("prompt[0].prompt", "known_prompt"),
        ("variables[1].name", "unique_variable"),
        ("prompt", "text_variable"),
        ("tools[1]", "known_tool"),
        ("tools[2].name", "unique_tool_name"),
        ("hooks[1]", "known_hook"),
    ]


def test_name_decides_the_use_of_an_entry() -> None:
    """Four uses, each with its defaults."""
    entries = (
        ToolEntry(name="search", env={"A": "1"}),
        ToolEntry(name="summarize", include_errors=False),
        ToolEntry(name="sales", init_user_message_property="query"),
        ToolEntry.model_validate(
            {"name": "researcher", "resumable": {"receives_messages": "side_a"}}
        ),
    )
    tool, subprompt, handoff, subagent = (REGISTRY.resolve_tool_entry(entry) for entry in entries)
    assert isinstance(tool, ToolUse)
    assert tool.env == {"A": "1"}
    assert isinstance(subprompt, SubpromptUse)
    assert (subprompt.include_errors, subprompt.include_text_response) == (False, True)
    assert isinstance(handoff, HandoffUse)
    assert isinstance(subagent, SubagentUse)
    assert subagent.blocking
    assert subagent.resumable is not None
    assert REGISTRY.resolve_tool_entry(ToolEntry(name="nothing")) is None


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("", ("tools[0]", "non_empty_string")),
        ("nobody", ("tools[0]", "known_tool")),
        ({"name": "search", "includeErrors": True}, ("tools[0]", "options_not_applicable")),
        ({"name": "summarize", "env": {"A": "1"}}, ("tools[0]", "options_not_applicable")),
        ({"name": "sales", "blocking": True}, ("tools[0].name", "exposed_dual_ai_agent")),
        ({"name": "sales", "options": {}}, ("tools[0]", "options_not_applicable")),
        ({"name": "researcher", "resumable": True}, ("tools[0].resumable", "false_or_object")),
    ],
)
def test_option_of_another_use_is_an_error(
    entry: Mapping[str, object], problem: tuple[str, str]
) -> None:
    """No option is ignored silently."""
    assert found(tools=[entry]) == [problem]


def test_circles_between_definitions_are_found_without_rendering() -> None:
    """The problem names the whole circle."""
    registry = Registry(prompts={"b": (IncludePart(prompt="a"),)})
    value = {**MINIMAL, "prompt": [{"type": "include", "prompt": "b"}]}
    (problem,) = registry.validate_definition(value)
    assert (problem.rule, str(problem)) == (
        "circular_include",
        "prompt: includes go in a circle: a > b > a; remove one of them",
    )


def test_required_without_any_tool_is_an_error() -> None:
    """No model could call a tool then."""
    assert found(toolChoice="required", tools=[]) == [("toolChoice", "required_needs_tools")]
    assert found(toolChoice="required") == []


class Request(BaseModel):
    """Arguments as a Python author defines them."""

    query: str = Field(description="What to look for")
    limit: int = 10


def test_definitions_are_written_in_python_with_a_pydantic_model() -> None:
    """The same value as from a file: snake_case names, and a schema with the descriptions."""
    definition = PromptDefinition(
        name="a",
        tool_description="d",
        model="inherit",
        prompt=(TextPart(content="x"), IncludePart(prompt="rules")),
        tools=("search", ToolEntry(name="summarize")),
        required_schema=Request,
    )
    assert REGISTRY.check_definition(definition) == ()
    assert definition.required_schema is not None
    assert definition.required_schema["required"] == ["query"]
    again, problems = parse_definition(definition.model_dump(mode="json", by_alias=True))
    assert (again, problems) == (definition, ())
