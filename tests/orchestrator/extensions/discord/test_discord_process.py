"""The library works in its own process, where no file can be opened and no program started."""

import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from fakes.discord_server import TOKEN
from fakes.discord_world import DiscordWorld

from orchestrator.agentsfile.channel_kinds import load_channel_kinds
from orchestrator.channel_api import OutboundFile, OutboundPart
from orchestrator.extensions.channel_folders import hosted_channel
from orchestrator.extensions.channel_folders.hosted_channel import HostedChannel, HostResources
from orchestrator.extensions.channel_folders.testing.channel_tests import PICTURE, MemoryIntake
from orchestrator.extensions.channel_folders.testing.memory_host import build_agents
from orchestrator.processes.child_process import execute_program
from orchestrator.settings import Settings

PROGRAM = """
import sys
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route
from orchestrator.extensions.channel_folders.__main__ import main
Route.BASE = {api!r}
DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL({gateway!r})
main(sys.argv[1])
"""

pytestmark = pytest.mark.process


@asynccontextmanager
async def _running(
    world: DiscordWorld, home: Path, patch: pytest.MonkeyPatch, intake: MemoryIntake
) -> AsyncIterator[HostedChannel]:
    """Run the channel's process as the daemon does, in its jail."""
    api = f"{world.proxy.url}/api/v10".replace("127.0.0.1", "localhost")  # a name to look up
    gateway = f"{world.server.url}/gateway".replace("http", "ws")
    program = PROGRAM.format(api=api, gateway=gateway)
    patch.setattr(hosted_channel, "ARGV", (sys.executable, "-P", "-c", program))
    agents = build_agents("discord", {}).model_copy(update={"sandbox": "required"})
    means = HostResources(
        settings=Settings(home=home),
        environ={**os.environ, "DISCORD_BOT_TOKEN": TOKEN},
        agents=lambda: agents,
        clock=anyio.current_time,
        jitter=lambda: 1.0,
        spawn=execute_program,
    )
    channel = HostedChannel("discord", load_channel_kinds()["discord"], means)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(channel.keep_process, anyio.sleep_forever)
        tasks.start_soon(channel.run, intake)
        await world.server.seen(1)
        yield channel
        tasks.cancel_scope.cancel()


async def test_a_jailed_process_receives_and_sends(
    world: DiscordWorld, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Messages and files, in both directions; what was said while it was dead comes once."""
    intake = MemoryIntake()
    async with _running(world, tmp_path, monkeypatch, intake) as channel:
        await world.hand_in_file(world.private, "notes.txt", b"some notes")
        await world.say(world.private, "hello")
        await intake.wait_for_message("hello")
        (file,) = intake.stored[0].attachments
        assert await channel.download(file.handle, 100) == b"some notes"
        dot = OutboundFile("dot.png", "image/png", PICTURE)
        await channel.send(OutboundPart(world.private, "a dot", file=dot, key="dot"))
        assert channel.child is not None
        os.kill(channel.child.pid, signal.SIGKILL)
        for number in range(5):
            await world.say(world.private, f"while dead {number}")
        await world.server.seen(2)
        await world.say(world.private, "alive")
        await intake.wait_for_message("alive")
        await channel.send(OutboundPart(world.private, "a dot", file=dot, key="dot"))
    said = ["", "hello", *(f"while dead {number}" for number in range(5)), "alive"]
    assert intake.list_texts(world.private) == said
    assert await world.load_shown_file(world.private) == PICTURE
    assert await world.list_shown_texts(world.private) == ["a dot"]
