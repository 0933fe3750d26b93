"""A subagent's definition: its parent's, cut down, and never the other way round."""

from typing import Any

import pytest
from fakes.agents_file import WORK, parsed

from orchestrator.agentsfile import AgentDefinition
from orchestrator.extensions.subagents.subagent_process import WITHHELD, derive_definition
from orchestrator.journal.turns.subagents import SubagentSpec
from orchestrator.tools.host_tools import list_offered_host_tools, list_own_tools

MCP = ("files_read", "files_write")  # tools of a server that the parent may use


def parent(**fields: Any) -> AgentDefinition:
    """The agent ``work``."""
    definition = parsed({**WORK, **fields}).file.find_agent("work")
    assert definition is not None
    return definition


def tools(agent: AgentDefinition) -> set[str]:
    """What an agent may use of what there is."""
    return {spec.name for spec in list_offered_host_tools(list_own_tools(), agent)}


def child(agent: AgentDefinition, **asked: Any) -> AgentDefinition:
    """A subagent of an agent that has all tools of its server."""
    offered = (*sorted(tools(agent)), *MCP)
    return derive_definition(agent, "work-sub-t1-2", SubagentSpec.model_validate(asked), offered)


def test_subagent_has_its_parents_tools_but_those_that_nobody_passes_on() -> None:
    """No second level, and no task that would run with all of the parent's rights."""
    agent = parent(deniedTools=["send_*"])
    found = child(agent)
    assert set(found.allowed_tools) == (tools(agent) | set(MCP)) - set(WITHHELD)
    assert not set(WITHHELD) & tools(found)
    assert "send_message" not in tools(found)


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        ({"allowed_tools": ["files_*", "send_message"]}, {"files_read", "files_write"}),
        ({"allowed_tools": ["*_read"], "denied_tools": ["files_*"]}, set()),
        ({"allowed_tools": ["*_read"]}, {"files_read"}),
        ({"allowed_tools": ["get_time", "files_read"]}, {"get_time", "files_read"}),
        ({"allowed_tools": ["spawn_subagent"]}, set()),
    ],
)
def test_subagent_has_at_most_what_was_asked_for_and_its_parent_has(
    asked: dict[str, list[str]], left: set[str]
) -> None:
    """An empty rest is nothing, although an empty list of a configuration allows all."""
    found = child(parent(deniedTools=["send_*"]), **asked)
    assert set(found.allowed_tools) == left
    assert tools(found) == left - set(MCP)


def test_subagent_keeps_its_parents_limits_and_has_a_prompt_of_its_own() -> None:
    """Approvals, environment and time zone are inherited; port and persona are not."""
    agent = parent(
        approvals=["files_*"], env={"A": "1"}, timezone="Europe/Warsaw", port=0, maxSteps=3
    )
    found = child(agent, model="small")
    assert (found.agent_id, found.model, found.port) == ("work-sub-t1-2", "small", None)
    assert (found.approvals, found.env, found.timezone, found.max_steps) == (
        ("files_*",),
        {"A": "1"},
        "Europe/Warsaw",
        3,
    )
    assert found.system_prompt.startswith("You are a focused subagent.")
    assert child(agent).model == "m"
