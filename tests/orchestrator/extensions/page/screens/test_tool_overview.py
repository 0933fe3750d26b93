"""Tools on the page."""

from fakes.screens import NOW, html, request

from orchestrator.control.protocol import ToolServerReport
from orchestrator.extensions.page.daemon_side.page_protocol import (
    ListedTool,
    ToolRule,
    ToolRuleTable,
)
from orchestrator.extensions.page.reads.call_figures import CallFigures
from orchestrator.extensions.page.screens import tool_overview
from orchestrator.extensions.page.screens.tool_overview import ToolScene
from orchestrator.journal.access.tool_pins import Pin

TOOL = ListedTool(
    name="files_write",
    server="files",
    description="<script>write</script>",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where to write"},
            "mode": {"enum": ["a", "w"]},
            "odd": True,
        },
        "required": ["path"],
    },
    effect="non_idempotent",
)
RULES = (
    ToolRule(agent_id="home", tool="files_write", allowed=True, reason="all", asks=True),
    ToolRule(agent_id="bad", tool="files_write", allowed=False, reason="denied", asks=False),
)
SCENE = ToolScene(
    servers=(
        ToolServerReport(name="files", state="connected", tools=1, sandbox="full"),
        ToolServerReport(name="wiki", state="failed", error="connection refused"),
    ),
    table=ToolRuleTable(tools=(TOOL,), rules=RULES),
    pins=(Pin("files", "write", changed=True, by="ann", at=NOW),),
    calls=(CallFigures("files_write", 4, 1, 20.0, NOW),),
)


def test_each_sign_of_the_matrix_tells_its_rule() -> None:
    """In words, for those who point at it and those who hear it."""
    page = html(tool_overview.render_tools(request(), SCENE).content)
    assert 'aria-label="a person is asked: all"' in page
    assert 'aria-label="not allowed: denied"' in page
    assert "only its own files, no keys, no other process" in page
    assert "<script>" not in page


def test_servers_lead_to_their_forms() -> None:
    """To that of each and of a new one, for who may change them."""
    page = html(tool_overview.render_tools(request(), SCENE).content)
    assert 'href="/tools/servers/new"' in page
    assert "at=mcpServers%2Fwiki" in page
    page = html(tool_overview.render_tools(request("viewer"), SCENE).content)
    assert "/tools/servers/new" not in page
    assert "at=mcpServers" not in page


def test_changed_tool_is_decided_where_the_change_is_seen() -> None:
    """Not by a button beside its name."""
    page = html(tool_overview.render_tools(request(), SCENE).content)
    assert "changed: not offered" in page
    assert 'href="/inbox"' in page
    assert "tools/approve" not in page
    viewer = html(tool_overview.render_tools(request("viewer"), SCENE).content)
    assert 'href="/inbox"' not in viewer


def test_tool_says_what_a_model_is_told_and_how_calls_went() -> None:
    """With its parameters as rows."""
    page = html(tool_overview.render_tool(request(), SCENE, TOOL).content)
    assert "string, needed. Where to write" in page
    assert "one of a, w" in page
    assert "1 (25 %)" in page
