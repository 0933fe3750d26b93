"""``orchestrator tools``: the tools of MCP servers, and approval of changed ones."""

import json
from pathlib import Path

from fakes.control_server import ask, serving

from orchestrator.control.protocol import TOOL_APPROVE, TOOL_LIST, Ack, PinList, PinReport
from orchestrator.errors import ExitCode
from thinker.protocol.peer import FAILED, RpcError

PINS = PinList(
    tools=(
        PinReport(name="files/read", changed=False, by="first sight", at=1_800_000_000),
        PinReport(name="files/write", changed=True, by="operator", at=1_800_000_000),
    )
)


async def test_tools_are_listed_with_what_has_changed(tmp_path: Path) -> None:
    """For people as a table, for programs as JSON."""
    async with serving(tmp_path, {TOOL_LIST: PINS}):
        shown = await ask(tmp_path, "tools", "list")
        as_json = await ask(tmp_path, "tools", "list", "--json")
    assert "files/read as approved first sight" in " ".join(shown.stdout.split())
    assert "files/write CHANGED, not offered operator" in " ".join(shown.stdout.split())
    assert [tool["changed"] for tool in json.loads(as_json.stdout)["tools"]] == [False, True]


async def test_empty_list_of_tools_says_so(tmp_path: Path) -> None:
    """An empty table would look like a fault."""
    async with serving(tmp_path, {TOOL_LIST: PinList(tools=())}):
        shown = await ask(tmp_path, "tools", "list")
    assert "no MCP server has listed any tools yet" in shown.stdout


async def test_approval_reaches_the_daemon_and_its_refusal_the_operator(tmp_path: Path) -> None:
    """The daemon's sentence, and an exit code."""
    async with serving(tmp_path, {TOOL_APPROVE: Ack()}) as server:
        done = await ask(tmp_path, "tools", "approve", "files/write")
        assert done.stdout == "approved\n"
        assert server.params(TOOL_APPROVE) == [{"name": "files/write"}]
    async with serving(tmp_path, {TOOL_APPROVE: RpcError(FAILED, "no tool 'x' has changed")}):
        refused = await ask(tmp_path, "tools", "approve", "x")
    assert refused.exit_code == ExitCode.FAILED
    assert "no tool 'x' has changed" in refused.stderr
