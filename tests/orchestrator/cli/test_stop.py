"""``orchestrator stop``."""

from functools import partial
from pathlib import Path

import pytest
from anyio import to_thread
from fakes.control_server import command
from fakes.daemon import running_daemon

from orchestrator.errors import ExitCode
from thinker.protocol.messages import JsonObject

DEMO: JsonObject = {"agents": [{"agentId": "work", "llmProvider": "demo"}]}


@pytest.mark.process
async def test_daemon_is_stopped_in_order_and_awaited(tmp_path: Path) -> None:
    """Afterwards there is none to stop, which has an exit code of its own."""
    async with running_daemon(tmp_path, DEMO) as daemon:
        done = await to_thread.run_sync(partial(command, tmp_path, "stop"))
        assert (done.exit_code, done.stdout) == (0, f"stopped the daemon on {tmp_path}\n")
        assert await daemon.ended() == 0
    again = command(tmp_path, "stop")
    assert again.exit_code == ExitCode.NOT_RUNNING
    assert "no daemon runs" in again.stderr
