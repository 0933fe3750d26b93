"""Which agent may use which tool."""

from orchestrator.agentsfile import AgentDefinition
from orchestrator.extensions.page.daemon_side.tool_rules import build_tool_table
from orchestrator.tools.remote_tools import RemoteTool
from thinker.protocol.messages import ToolSpec


def spec(name: str) -> ToolSpec:
    """A tool."""
    return ToolSpec(name=name, description=f"{name}.", parameters={"type": "object"})


def test_rule_of_agents_json_is_told_for_each_agent() -> None:
    """And whether a person is asked."""
    home = AgentDefinition.model_validate(
        {"agentId": "home", "llmProvider": "demo", "approvals": ["wiki_*"]}
    )
    work = AgentDefinition.model_validate(
        {"agentId": "work", "llmProvider": "demo", "deniedTools": ["get_*"]}
    )
    served = {
        "home": {"wiki_edit": RemoteTool(spec("wiki_edit"), "wiki", "edit", 5.0, keyed=False)}
    }
    table = build_tool_table((home, work), {"get_time": spec("get_time")}, served)
    assert [(tool.name, tool.server) for tool in table.tools] == [
        ("get_time", ""),
        ("wiki_edit", "wiki"),
    ]
    rules = {(rule.agent_id, rule.tool): rule for rule in table.rules}
    assert rules.keys() == {("home", "get_time"), ("home", "wiki_edit"), ("work", "get_time")}
    assert rules["home", "wiki_edit"].asks
    assert not rules["home", "get_time"].asks
    assert rules["work", "get_time"].reason == 'denied by "get_*" in deniedTools'
