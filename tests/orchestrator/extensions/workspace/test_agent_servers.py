"""Which tool servers agents.json asks for."""

import stat
from pathlib import Path

import pytest
from fakes.agents_file import WORK, parsed

from orchestrator.agentsfile import ServerSandbox
from orchestrator.extensions.workspace.agent_servers import build_tool_servers, list_served_tools
from orchestrator.extensions.workspace.web_settings import WebSettings
from orchestrator.extensions.workspace.workspace_checks import PROGRAM
from orchestrator.extensions.workspace.workspace_settings import WorkspaceSettings
from orchestrator.home_paths import Paths
from orchestrator.tools.tool_server import ToolServer, prepare_tool_servers


def servers(home: Path, **fields: object) -> dict[str, ToolServer]:
    """Those of the agent ``work`` with these fields, and of one that is disabled."""
    off = {**WORK, "agentId": "off", "enabled": False, "workspace": True}
    return build_tool_servers(parsed({**WORK, **fields}, off).file, Paths(home))


def settings(found: ToolServer) -> WorkspaceSettings:
    return WorkspaceSettings.from_json(found.server.args[-1])


def test_agent_has_no_server_unless_it_asks(tmp_path: Path) -> None:
    """``false`` is the same as nothing."""
    assert servers(tmp_path) == servers(tmp_path, workspace=False) == {}


def test_workspace_is_a_server_of_one_agent(tmp_path: Path) -> None:
    """Its name cannot be one of agents.json, and it is believed what its tools do."""
    (name,) = servers(tmp_path, workspace=True)
    assert name == "workspace@work"
    found = servers(tmp_path, workspace=True)[name]
    assert (found.agent_id, found.network) == ("work", False)
    assert (found.server.trusted, found.server.pin) == (True, False)
    told = settings(found)
    assert told.workspace == str(tmp_path.resolve() / "workspaces" / "work")
    assert (told.network, told.jailed, told.paths) == (False, True, {})
    assert str(tmp_path.resolve() / "skills") in told.skills


def test_settings_reach_the_server(tmp_path: Path) -> None:
    """Folders by their real paths, limits in bytes, and openings."""
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    (tmp_path / "link").symlink_to(project)
    wanted = {
        "network": True,
        "sandbox": "off",
        "paths": {str(tmp_path / "link"): "rw", "/srv": "ro"},
        "limits": {"seconds": 700, "memoryMegabytes": 64},
    }
    (found,) = servers(home, workspace=wanted).values()
    told = settings(found)
    assert told.paths == {str(project.resolve()): True, "/srv": False}
    assert (told.network, told.jailed, found.network) == (True, False, True)
    assert (told.limits.seconds, told.limits.memory) == (700, 64 * 1024 * 1024)
    assert found.server.timeout_seconds > 700


def test_workspace_finds_libraries_where_this_python_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that names what it reads sees nothing else, such as packages of the user."""
    packages = tmp_path / "packages"
    packages.mkdir()
    monkeypatch.syspath_prepend(str(packages))
    (found,) = servers(tmp_path / "home", workspace=True).values()
    assert isinstance(found.server.sandbox, ServerSandbox)
    assert str(packages) in (found.server.sandbox.read or ())


def test_hosts_of_a_list_are_for_the_proxy(tmp_path: Path) -> None:
    """Its calls can leave the machine all the same."""
    wanted = {"network": ["PyPI.org:443"]}
    (found,) = servers(tmp_path, workspace=wanted).values()
    told = settings(found)
    assert (told.network, told.hosts, found.network) == (False, ["pypi.org:443"], True)


def test_no_folder_opens_the_daemons_home(tmp_path: Path) -> None:
    """Neither the home, nor one that holds it, nor one in it, nor a link to it."""
    home = tmp_path / "home"
    (home / "skills").mkdir(parents=True)
    (tmp_path / "link").symlink_to(home)
    paths = (home, tmp_path, home / "skills", tmp_path / "link", "/")
    (found,) = servers(home, workspace={"paths": {str(p): "rw" for p in paths}}).values()
    assert settings(found).paths == {}


def test_commands_never_change_the_program_of_the_daemon(tmp_path: Path) -> None:
    """It runs outside of every jail; to read it does no harm."""
    inside = PROGRAM / "tests"
    (found,) = servers(tmp_path, workspace={"paths": {str(inside): "rw"}}).values()
    assert settings(found).paths == {}
    (found,) = servers(tmp_path, workspace={"paths": {str(inside): "ro"}}).values()
    assert settings(found).paths == {str(inside): False}


def test_folder_of_a_workspace_is_made_for_this_user_alone(tmp_path: Path) -> None:
    """And stays as it is when it exists."""
    file = parsed({**WORK, "workspace": True}).file
    for _ in range(2):
        assert [*prepare_tool_servers(file, Paths(tmp_path))] == ["workspace@work"]
    folder = tmp_path / "workspaces" / "work"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_prompts_may_name_the_tools_that_some_agent_has() -> None:
    """As those of MCP servers: by what agents.json has."""
    (plain, files, both) = (
        {*list_served_tools(parsed({**WORK, **fields}).file)}
        for fields in ({}, {"workspace": True}, {"workspace": True, "web": True})
    )
    assert not plain
    assert "run_command" in files
    assert both - files == {"fetch", "search"}
    assert both == {*list_served_tools(None)}


def test_subagents_copy_keeps_the_id_of_its_agent() -> None:
    """Its tools are those of the agent that it is a copy of."""
    (agent,) = parsed({**WORK, "workspace": True}).file.agents
    assert agent.model_copy(update={"agent_id": "sub-1"}).configured_id == "work"


def test_access_to_the_web_is_a_server_of_its_own(tmp_path: Path) -> None:
    """With the origin that its results have."""
    wanted = {"search": "ddgs", "allowPrivate": ["Wiki.Internal."], "megabytes": 1}
    (found,) = servers(tmp_path, web=wanted).values()
    told = WebSettings.from_json(found.server.args[-1])
    assert (told.search, told.private, told.max_bytes) == ("ddgs", ("wiki.internal",), 1024 * 1024)
    assert (found.origin, found.network, found.tools) == ("web", True, ("fetch", "search"))
    assert [*servers(tmp_path, web=True, workspace=True)] == ["workspace@work", "web@work"]
