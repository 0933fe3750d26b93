"""Tool tables and the tools on offer match the definition and the agent's tools."""

from fakes.scripted import spec

from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.tooluse import ToolEntry
from thinker.prompt.render.attach import attach_tools, list_offered_tools
from thinker.prompt.render.lower import lower_definition
from thinker.prompt.render.sections import ToolRow, ToolTable

SEARCH = spec("search").model_copy(
    update={
        "description": "Searches",
        "approval": True,
        "parameters": {
            "type": "object",
            "properties": {"q": {"type": "string"}, "key": {"type": "string"}},
            "required": ["q", "key"],
        },
    }
)
CREATE = spec("create")
CHILD = spec("subagent_create")


def definition(**changes: object) -> PromptDefinition:
    """Return a layered definition with these changes."""
    layers = {"identity": "You plan.", "tools": [{"name": "search", "approval": "never"}]}
    fields = {"name": "p", "tool_description": "d", "model": "inherit"}
    return PromptDefinition.model_validate({**fields, "prompt": {"layered": layers}, **changes})


def test_table_shows_the_approval_that_is_enforced() -> None:
    """It also lists the definition's tools, and fills in missing descriptions."""
    prompt = definition(tools=["create", "unknown"])
    sections = attach_tools(lower_definition({"p": prompt.prompt}, "p"), prompt, [SEARCH, CREATE])
    table = sections[-1].body
    assert table == ToolTable(
        (ToolRow("search", "Searches", "always"), ToolRow("create", CREATE.description, "never"))
    )


def test_definition_chooses_the_tools_and_their_order() -> None:
    """Unknown tools are left out; tools that agents get without naming them stay."""
    tools = [SEARCH, CREATE, CHILD]
    assert list_offered_tools(definition(), tools) == tuple(tools)
    assert list_offered_tools(definition(tools=["create", "unknown"]), tools) == (CREATE, CHILD)
    assert list_offered_tools(definition(tool_choice="none"), tools) == ()


def test_fixed_arguments_are_hidden_from_the_model() -> None:
    """They are neither properties nor required."""
    entry = ToolEntry(name="search", options={"key": "k"})
    (tool,) = list_offered_tools(definition(tools=[entry]), [SEARCH])
    assert tool.parameters["properties"] == {"q": {"type": "string"}}
    assert tool.parameters["required"] == ["q"]
    assert tool.fixed == {"key": "k"}
