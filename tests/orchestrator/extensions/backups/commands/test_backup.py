"""``orchestrator backup`` and ``restore``."""

from functools import partial
from pathlib import Path

import orjson
import pytest
from anyio import to_thread
from fakes.control_server import command
from fakes.daemon import running_daemon

from orchestrator.errors import ExitCode
from thinker.protocol.messages import JsonObject

DEMO: JsonObject = {"agents": [{"agentId": "work", "llmProvider": "demo"}]}


@pytest.mark.process
@pytest.mark.thorough(part="operations")
async def test_home_of_a_running_daemon_is_backed_up_and_runs_again(tmp_path: Path) -> None:
    """While it runs, nothing is restored to it."""
    home, path, other = tmp_path / "home", str(tmp_path / "b.tar.gz"), tmp_path / "other"
    home.mkdir()
    async with running_daemon(home, DEMO):
        written = await to_thread.run_sync(partial(command, home, "backup", path))
        refused = await to_thread.run_sync(partial(command, home, "restore", path, "--replace"))
    assert written.exit_code == 0, written.stderr
    assert "written and verified" in written.stdout
    assert "keys are not included" in written.stdout
    assert refused.exit_code == ExitCode.ALREADY_RUNNING
    restored = command(other, "restore", path)
    assert restored.exit_code == 0, restored.stderr
    assert f"restored  {other}" in restored.stdout
    async with running_daemon(other, None) as daemon:
        assert (await daemon.status()).ready


def test_restore_says_which_messages_are_lost(tmp_path: Path) -> None:
    """Those that the old daemon took in, of any chat system; what waits there still comes."""
    home, path = tmp_path / "home", str(tmp_path / "b.tar.gz")
    home.mkdir()
    (home / "agents.json").write_bytes(orjson.dumps(DEMO))
    written = command(home, "backup", path)
    assert written.exit_code == 0, written.stderr
    told = command(tmp_path / "other", "restore", path).stdout
    assert "What the old daemon took in after the backup is lost" in told
    assert "what still waits at the chat system comes now." in told


def test_wrong_paths_are_told_in_one_sentence(tmp_path: Path) -> None:
    """Exit 1, without a traceback."""
    for arguments in (("backup", str(tmp_path)), ("restore", str(tmp_path / "none"))):
        refused = command(tmp_path, *arguments)
        assert refused.exit_code == 1
        assert len(refused.stderr.splitlines()) == 1
