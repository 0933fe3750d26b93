"""Commands from another PID namespace, as from a second container that has the home as a volume."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from fakes.daemon import running_daemon
from fakes.time_limit import time_limit

from orchestrator.errors import ExitCode
from orchestrator.settings import Settings
from orchestrator.system.homelock import hold_lock
from thinker.protocol.messages import JsonObject

UNSHARE = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")
pytestmark = [
    pytest.mark.process,
    pytest.mark.thorough(part="operations"),
    pytest.mark.skipif(
        shutil.which("unshare") is None
        or subprocess.run((*UNSHARE, "true"), capture_output=True, check=False).returncode != 0,
        reason="this machine lets nobody make a PID namespace",
    ),
]
DEMO: JsonObject = {"agents": [{"agentId": "work", "llmProvider": "demo"}]}


async def run_elsewhere(home: Path, *words: str) -> tuple[int, str]:
    """Exit code and output of a command in a PID namespace of its own."""
    program = (sys.executable, "-P", "-m", "orchestrator", *words, "--home", str(home))
    with time_limit():
        done = await anyio.run_process((*UNSHARE, *program), check=False, env=dict(os.environ))
    return done.returncode, (done.stdout + done.stderr).decode()


async def test_daemon_is_shown_reloaded_and_stopped_from_another_container(
    tmp_path: Path,
) -> None:
    """Its process has no number there; a second daemon and a restore are refused."""
    backup = tmp_path / "backup.tar"
    home = tmp_path / "home"
    home.mkdir()
    async with running_daemon(home, DEMO) as daemon:
        code, said = await run_elsewhere(home, "backup", str(backup))
        assert (code, "Traceback" in said) == (ExitCode.OK, False), said
        for words, expected, part in (
            (("status",), ExitCode.OK, "ready"),
            (("reload",), ExitCode.OK, ""),
            (("run",), ExitCode.ALREADY_RUNNING, "another daemon runs on"),
            (("restore", str(backup), "--replace"), ExitCode.ALREADY_RUNNING, "orchestrator stop"),
            (("stop",), ExitCode.OK, "stopped the daemon on"),
            (("stop",), ExitCode.NOT_RUNNING, "no daemon runs"),
        ):
            code, said = await run_elsewhere(home, *words)
            assert code == expected, (words, said)
            assert part in said
            assert "Traceback" not in said
        assert await daemon.ended() == 0
        daemon.killed = True


async def test_daemon_that_does_not_listen_elsewhere_is_told(tmp_path: Path) -> None:
    """The number in its lock file would be that of a stranger here."""
    with hold_lock(Settings(home=tmp_path)):
        code, said = await run_elsewhere(tmp_path, "stop")
        assert code == ExitCode.FAILED
        assert "in another container" in said
        assert "Traceback" not in said
