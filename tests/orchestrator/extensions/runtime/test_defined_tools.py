"""Tools of Python functions: their schemas, their arguments, and what is refused."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from orchestrator.extensions.runtime import (
    RunContext,
    RuntimeSpecError,
    ToolkitSpec,
    define_tool,
    define_toolkit,
    layered_prompt,
)

CONTEXT = RunContext("agent", "acme", "call_1")


class Search(BaseModel):
    """Arguments as a model."""

    query: str
    limit: int = 3


@pytest.mark.parametrize(
    ("schema", "arguments", "seen"),
    [
        ({"query": str, "limit": (int, "so many", 3)}, {"query": "a"}, {"query": "a", "limit": 3}),
        (Search, {"query": "a"}, Search(query="a")),
        ({"type": "object", "properties": {}}, {"x": 1}, {"x": 1}),
        ({}, {}, {}),
    ],
)
async def test_function_gets_arguments_as_its_schema_says(
    schema: Any, arguments: dict[str, Any], seen: object
) -> None:
    """A mapping with its defaults, an instance of its model, or what a JSON Schema let through."""
    got: list[object] = []

    def search(args: object, ctx: RunContext) -> object:
        got.append(args)
        return {"tenant": ctx.tenant}

    tool = define_tool(name="search", description="d", input_schema=schema)(search)
    assert await tool(arguments, CONTEXT) == '{"tenant":"acme"}'
    assert got == [seen]
    assert tool.spec.parameters["type"] == "object"


def test_schema_describes_what_the_mapping_says() -> None:
    """Types, descriptions, defaults; what has a default is not required."""
    schema = {"query": str, "limit": (int, "so many", 3)}
    parameters = defined(name="search", input_schema=schema).spec.parameters
    assert parameters["required"] == ["query"]
    assert parameters["properties"] == {
        "query": {"title": "Query", "type": "string"},
        "limit": {"default": 3, "description": "so many", "title": "Limit", "type": "integer"},
    }


def test_tool_is_a_row_of_a_layered_prompt() -> None:
    """With its approval; a function as approval is shown as conditional."""
    tools = [
        defined(name="a", approval="never"),
        defined(name="b", approval="always"),
        defined(name="c", approval=bool),
    ]
    text = layered_prompt(identity="You.", tools=tools).text
    assert "| a | d | never |\n| b | d | always |\n| c | d | conditional |" in text


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": "my tool"}, "tool name 'my tool' cannot be used; use 1 to 64 letters"),
        ({"name": None}, "tool name None cannot be used"),
        ({"description": None}, "description of the tool 't' is None; say what"),
        ({"approval": "maybe"}, "approval of the tool 't' is 'maybe'; use \"never\""),
        ({"input_schema": "str"}, 'write a mapping such as {"query": str}'),
        ({"input_schema": {"query": "str"}}, "'query' is 'str'; write str without quotes"),
        (
            {"input_schema": {"q": "words"}},
            "'q' is 'words'; write a type, such as (str, \"words\")",
        ),
        ({"input_schema": {"q": {"$type": "strung"}}}, "'strung' is not a type; write str"),
        ({"input_schema": {"q": compile}}, "'q' is <built-in function compile>; write a type"),
    ],
)
def test_wrong_definition_says_what_to_write(wrong: dict[str, Any], said: str) -> None:
    """Before any model is asked."""
    with pytest.raises(RuntimeSpecError) as caught:
        defined(**wrong)
    assert said in str(caught.value)


def test_function_must_take_arguments_and_context() -> None:
    """The message shows how."""

    def alone(args: object) -> None:
        """Lacks the context."""

    with pytest.raises(RuntimeSpecError, match=r"two arguments: def t\(args, ctx\)"):
        defined(alone)  # type: ignore[arg-type]  # the wrong input


def test_kit_is_narrowed_to_the_tools_that_an_agent_names() -> None:
    """In the kit's order; an unknown name lists what there is."""
    kit = define_toolkit("catalog", [defined(name="read"), defined(name="drop")])
    assert kit.narrowed(ToolkitSpec(id="catalog")) == kit.tools
    narrowed = kit.narrowed(ToolkitSpec(id="catalog", config={"tools": ["read"]}))
    assert [tool.name for tool in narrowed] == ["read"]
    wrong = ToolkitSpec(id="catalog", config={"tools": ["write"]})
    with pytest.raises(RuntimeSpecError, match="has no tool 'write'; it has read, drop"):
        kit.narrowed(wrong)


@pytest.mark.parametrize("config", [{"tool": ["read"]}, {"tools": "read"}])
def test_kit_is_narrowed_by_a_list_of_tools_alone(config: Any) -> None:
    """A misspelt key would leave the kit whole."""
    with pytest.raises(ValidationError, match=r"'tools'|not allowed as a Sequence"):
        ToolkitSpec(id="catalog", config=config)


def test_kit_has_tools_of_different_names_only() -> None:
    """Two of one name could not be told apart, and a name alone is no tool."""
    with pytest.raises(RuntimeSpecError, match="'catalog' has two tools 'read'; rename"):
        define_toolkit("catalog", [defined(name="read"), defined(name="read")])
    with pytest.raises(RuntimeSpecError, match="is 'read', which @define_tool has not made"):
        define_toolkit("catalog", ["read"])  # type: ignore[list-item]  # the wrong input


def defined(
    handler: Callable[[Any, RunContext], object] = lambda args, ctx: (args, ctx), **given: Any
) -> Any:
    """A tool with these properties."""
    parts = {"name": "t", "description": "d", "input_schema": {}, **given}
    return define_tool(**parts)(handler)
