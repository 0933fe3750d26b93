"""``orchestrator doctor``, with and without a daemon."""

import json
from pathlib import Path

import pytest
from fakes.control_server import ask, command
from fakes.daemon import running_daemon

from orchestrator.errors import ExitCode
from orchestrator.extensions.doctor.jail_probes import list_jail_kinds
from thinker.jail import landlock
from thinker.protocol.messages import JsonObject

CONFIG: JsonObject = {
    "agents": [{"agentId": "work", "llmProvider": "demo"}],
    "bindings": [{"channel": "console", "chatId": "*", "agentId": "work"}],
}


def test_home_without_a_daemon_is_examined_and_left_as_it_is(tmp_path: Path) -> None:
    """The jails are tried all the same."""
    tmp_path.chmod(0o700)
    (tmp_path / "agents.json").write_text(json.dumps(CONFIG), "utf-8")
    ended = command(tmp_path, "doctor")
    assert ended.exit_code == ExitCode.OK
    assert "does not run" in ended.stdout
    assert "worker with hookNetwork" in ended.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["agents.json"]


def test_home_that_is_not_made_yet_is_no_problem(tmp_path: Path) -> None:
    """A newcomer may look before the first start."""
    ended = command(tmp_path / "later", "doctor")
    assert ended.exit_code == ExitCode.OK
    assert "orchestrator init makes it" in " ".join(ended.stdout.split())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(landlock.read_abi_version() < landlock.ABI_SCOPE, reason="an older kernel")
def test_bundled_configuration_is_in_reach_of_no_jail(tmp_path: Path) -> None:
    """It is that of a daemon whose home has no agents.json."""
    tmp_path.chmod(0o700)
    report = json.loads(command(tmp_path, "doctor", "--json").stdout)
    assert [jail["unexpected"] for jail in report["jails"]] == [[]] * len(list_jail_kinds())


def test_server_that_may_reach_the_home_is_a_problem(tmp_path: Path) -> None:
    """As `orchestrator check` says."""
    tmp_path.chmod(0o700)
    server = {"command": "x", "sandbox": {"read": [str(tmp_path)]}}
    config = {**CONFIG, "mcpServers": {"s": server}}
    (tmp_path / "agents.json").write_text(json.dumps(config), "utf-8")
    ended = command(tmp_path, "doctor")
    assert ended.exit_code == ExitCode.FAILED
    assert "of which only workspaces can be opened" in " ".join(ended.stdout.split())


def test_broken_configuration_is_a_problem(tmp_path: Path) -> None:
    """The exit code says so, and the JSON has the line."""
    tmp_path.chmod(0o700)
    (tmp_path / "agents.json").write_text('{"agents": [{}]}', "utf-8")
    ended = command(tmp_path, "doctor", "--json")
    assert ended.exit_code == ExitCode.FAILED
    report = json.loads(ended.stdout)
    assert report["configProblems"][0]["line"] == 1
    assert {jail["jail"] for jail in report["jails"]} > {"worker"}


@pytest.mark.process
@pytest.mark.thorough(part="operations")
async def test_running_daemon_is_examined_too(tmp_path: Path) -> None:
    """Its processes are listed, and the probes aim at them."""
    async with running_daemon(tmp_path, CONFIG):
        ended = await ask(tmp_path, "doctor", "--json")
    report = json.loads(ended.stdout)
    assert report["running"] is True
    assert "supervisor" in {process["name"] for process in report["processes"]}
    if landlock.read_abi_version() >= landlock.ABI_SCOPE:
        assert [jail["unexpected"] for jail in report["jails"]] == [[]] * len(list_jail_kinds())
        assert ended.exit_code == ExitCode.OK
