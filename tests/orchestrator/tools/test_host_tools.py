"""The tools of the supervisor, which of them an agent is offered, and those of strangers."""

from collections.abc import Sequence

import pytest
from fakes.agents_file import WORK, parsed

from orchestrator.agentsfile import AgentDefinition
from orchestrator.extension import Extension
from orchestrator.installed import find_installed
from orchestrator.tools.builtin.catalog import TOOLS
from orchestrator.tools.builtin.host_tool import ExtensionTool, HostTool
from orchestrator.tools.extension_tool import define_tool
from orchestrator.tools.host_tools import (
    HostTools,
    TakenNames,
    build_host_tools,
    find_host_tools,
    list_offered_host_tools,
    list_own_tools,
)

TAKEN = TakenNames(frozenset({"run_command"}), frozenset({"git"}))


class Pack(Extension):
    """A stranger's tools."""

    def __init__(self, name: str, *tools: HostTool) -> None:
        self.name, self._tools = name, tools

    def list_tools(self) -> Sequence[HostTool]:
        return self._tools


class BrokenPack(Pack):
    """A pack whose library is missing."""

    def list_tools(self) -> Sequence[HostTool]:
        raise ImportError("no library")


def tool(name: str) -> ExtensionTool:
    """A tool with this name."""

    def function() -> str:
        """Do something."""
        return name

    function.__name__ = name
    return define_tool()(function)


def with_packs(*packs: Extension) -> HostTools:
    """The tools beside these packs."""
    return build_host_tools((), packs, TAKEN)


def test_offered_tools_are_what_the_lists_of_the_agent_leave() -> None:
    """Deny wins; nothing listed offers everything."""
    tools = list_own_tools()

    def names(**fields: object) -> set[str]:
        values = {"agent_id": "work", "llm_provider": "demo", **fields}
        definition = AgentDefinition.model_validate(values)
        return {spec.name for spec in list_offered_host_tools(tools, definition)}

    # Subagents alone are given notify_parent, and agents with a model for it can draw.
    assert names() == set(tools) - {"notify_parent", "draw_picture"}
    images = {"provider": "openai", "model": "gpt-image-1"}
    assert names(images=images) - names() == set(tools) & {"draw_picture"}
    assert names(allowed_tools=("*_message", "get_time")) == {"send_message", "get_time"}
    assert names(allowed_tools=("send_*",), denied_tools=("*telegram", "*file")) == {"send_message"}


def test_tools_of_a_pack_stand_behind_the_built_in_ones() -> None:
    """But before those that are about agents and tools, so that a change moves little."""
    found = with_packs(Pack("trains", tool("find_train"), tool("book_train")))
    assert not found.problems
    assert [*found.tools][-3:] == ["find_train", "book_train", "find_tools"]
    assert found.tools.keys() - TOOLS.keys() == {"find_train", "book_train"}


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("get_time", "a built-in tool has this name; rename it"),
        ("run_command", "a built-in tool has this name; rename it"),
        ("notify_parent", "a built-in tool has this name; rename it"),
        ("git_push", "its name is one for tools of the MCP server 'git'; rename one of them"),
        ("find_train", "a tool of another extension has this name; rename one of them"),
    ],
)
def test_name_that_is_taken_is_refused(name: str, problem: str) -> None:
    """The tool that has it stays, whatever the order; the rest of the pack is used."""
    first, second = Pack("trains", tool("find_train")), Pack("more", tool(name), tool("book_train"))
    found = with_packs(first, second)
    assert found.problems == (f"the tool {name!r} of the extension 'more': {problem}",)
    assert found.tools.keys() - TOOLS.keys() == {"find_train", "book_train"}


def test_strangers_tools_run_in_no_transaction_and_not_on_the_loop() -> None:
    """Only what @define_tool made is taken; a pack that breaks costs nothing else."""
    made_otherwise = Pack("sly", TOOLS["get_time"])
    found = with_packs(made_otherwise, BrokenPack("broken"), Pack("trains", tool("find_train")))
    sly, broken = found.problems
    assert sly.startswith("the extension 'sly' has a tool JournalTool(")
    assert sly.endswith("which @define_tool has not made")
    assert broken == "the extension 'broken' could not list its tools: ImportError: no library"
    assert found.tools.keys() - TOOLS.keys() == {"find_train"}


def test_tools_are_the_same_object_while_their_extensions_are_the_same() -> None:
    """What is offered is made anew for others only."""
    file, other = parsed(WORK).file, parsed({**WORK, "maxSteps": 3}).file
    assert find_host_tools(file) is find_host_tools(other)
    assert find_host_tools(file).tools == list_own_tools()
    assert find_host_tools(file).tools.keys() >= TOOLS.keys()
    assert not find_installed().broken
