"""``orchestrator health``: an exit code for programs that watch the daemon."""

import json
from pathlib import Path

from fakes.control_server import ask, command, serving

from orchestrator.control import protocol
from orchestrator.control.protocol import HealthReport
from orchestrator.errors import ExitCode

READY = HealthReport(ready=True)
HELD = HealthReport(ready=True, notes=("channel telegram sends nothing to chat 7 until noon",))
DEAF = HealthReport(ready=False, reasons=("channel telegram has not heard",))


async def test_ready_daemon_is_exit_0(tmp_path: Path) -> None:
    """With and without --ready."""
    async with serving(tmp_path, {protocol.HEALTH: READY}):
        for arguments in ((), ("--ready",)):
            shown = await ask(tmp_path, "health", *arguments)
            assert (shown.exit_code, shown.stdout) == (0, "ready\n")


async def test_daemon_that_is_not_ready_is_exit_1_only_with_the_option(tmp_path: Path) -> None:
    """The reasons are shown in both cases."""
    async with serving(tmp_path, {protocol.HEALTH: DEAF}):
        alive = await ask(tmp_path, "health")
        ready = await ask(tmp_path, "health", "--ready")
        as_json = await ask(tmp_path, "health", "--ready", "--json")
    assert alive.exit_code == 0
    assert ready.exit_code == as_json.exit_code == ExitCode.FAILED
    assert alive.stdout == ready.stdout == "alive, not ready\nchannel telegram has not heard\n"
    found = {"ready": False, "reasons": list(DEAF.reasons), "notes": []}
    assert json.loads(as_json.stdout) == found


async def test_chat_that_takes_no_messages_is_shown_by_a_ready_daemon(tmp_path: Path) -> None:
    """Other chats are served."""
    async with serving(tmp_path, {protocol.HEALTH: HELD}):
        shown = await ask(tmp_path, "health", "--ready")
    assert (shown.exit_code, shown.stdout) == (0, f"ready\n{HELD.notes[0]}\n")


def test_no_daemon_is_not_healthy(tmp_path: Path) -> None:
    """Exit 3, as everywhere."""
    assert command(tmp_path, "health").exit_code == ExitCode.NOT_RUNNING
