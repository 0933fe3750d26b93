"""Agents and prompts that a definition lists are tools of its agents."""

from pathlib import Path

from fakes.definition_files import agents, library, write


def test_optional_agent_is_a_tool_where_its_variable_switches_it_on(tmp_path: Path) -> None:
    """Unset is off; the agent's own variables count."""
    write(tmp_path, tools=[{"name": "work", "optional": "HELP"}])
    file = agents(asTool="subagent")
    found = library(tmp_path, file)
    (agent,) = file.agents
    assert found.current_set.list_prompt_tools(agent) == {}
    assert found.current_set.list_prompt_tools(
        agent.model_copy(update={"env": {"HELP": "Yes"}})
    ).keys() == {"work"}
    assert (
        found.current_set.list_prompt_tools(agent.model_copy(update={"env": {"HELP": "off"}})) == {}
    )
