"""The disk under a running daemon: full, freed again, broken."""

import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, running_daemon
from fakes.held_model import HeldModel, two_agents
from fakes.postgresql import sqlite_only
from fakes.time_limit import time_limit

from orchestrator.control import protocol
from orchestrator.control.protocol import HealthReport
from orchestrator.errors import ExitCode
from orchestrator.inbound.intake import NO_SPACE

pytestmark = [pytest.mark.process, sqlite_only, pytest.mark.thorough(part="chats")]
SIZE = "8m"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with little space."""
    disk = tmp_path / "disk"
    disk.mkdir()
    umount = ["umount", "--lazy", str(disk)]
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(disk)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if done.returncode:
        pytest.skip("only root can mount a small file system")
    yield disk
    subprocess.run(umount, check=True)


def fill(disk: Path) -> Path:
    """Leave no byte free; the file that does."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 9, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue
    return ballast


async def test_message_on_a_full_disk_is_answered_when_there_is_space(small_disk: Path) -> None:
    """The chat is told once, the operator sees why, nothing is confirmed meanwhile (F21)."""
    async with (
        FakeBotApi(TOKEN) as bot,
        HeldModel() as model,
        running_daemon(small_disk, two_agents(model), bot) as daemon,
    ):
        bot.send_user_message(123, "before")
        assert await bot.reply_in(123) == "work-model: before"
        await bot.confirmed()
        ballast = fill(small_disk)
        number = bot.send_user_message(123, "x" * 4000)
        assert await bot.reply_in(123) == NO_SPACE
        report = await daemon.until(lambda report: not report.ready)
        assert any("disk is full" in hint for hint in report.hints)
        assert number in bot.unconfirmed_updates
        ballast.unlink()
        assert await bot.reply_in(123) == "work-model: " + "x" * 4000
        await daemon.until(lambda report: report.ready)
        health = await daemon.ask(protocol.HEALTH, None, HealthReport)
    assert health == HealthReport(ready=True)
    assert bot.list_texts(123).count(NO_SPACE) == 1
    assert len(daemon._lines("storage_full", {})) == 1


async def test_disk_that_fails_ends_the_daemon(tmp_path: Path) -> None:
    """Exit 74, at once; the next one opens the file anew and goes on (F22)."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        async with running_daemon(tmp_path, two_agents(model), bot) as daemon:
            bot.send_user_message(123, "before")
            assert await bot.reply_in(123) == "work-model: before"
            await bot.confirmed()
            resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (1, 1))
            bot.send_user_message(123, "lost by nobody")
            assert await daemon.ended() == ExitCode.IO
            daemon.killed = True
        assert "check the disk" in "".join(daemon.noise)
        async with running_daemon(tmp_path, None, bot):
            assert await bot.reply_in(123) == "work-model: lost by nobody"
        with time_limit():
            await bot.confirmed()
