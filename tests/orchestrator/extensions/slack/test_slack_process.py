"""The library works in its own process, which has a network and nothing else."""

import os
import re
import signal
from pathlib import Path

import pytest
from fakes.daemon import RunningDaemon, running_daemon
from fakes.journal import reading_in
from fakes.slack_server import SlackServer
from fakes.slack_world import TOKENS, SlackWorld

from thinker.protocol.messages import JsonObject

pytestmark = pytest.mark.process
HOST = "channel slack"


def config(server: SlackServer) -> JsonObject:
    """One agent in all chats, which repeats what it is told."""
    return {
        "agents": [{"agentId": "demo", "llmProvider": "demo"}],
        "channels": {"slack": {"api": f"{server.url}/api/", "access": "open"}},
        "bindings": [{"channel": "slack", "chatId": "*", "agentId": "demo"}],
    }


async def answered(world: SlackWorld, daemon: RunningDaemon, count: int) -> list[str]:
    """Wait until the daemon knows that so many answers stand in the private chat.

    One whose receipt it has not stored when it is killed may be shown twice, marked.
    """
    await daemon.until(
        lambda report: [turn.state for turn in report.recent_turns].count("closed") >= count
    )
    return await world.list_shown_texts(world.private)


def list_received(folder: Path) -> list[str]:
    """Return the texts of the messages that the journal took in, in order."""
    with reading_in(folder) as db:
        rows = db.execute("SELECT text FROM inbox WHERE kind = 'message' ORDER BY id")
        return [str(text) for (text,) in rows]


async def kill_host(daemon: RunningDaemon) -> str:
    """``kill -9`` of the channel's process; return how it was jailed."""
    processes = (await daemon.status()).processes
    (process,) = [found for found in processes if found.name == HOST]
    os.kill(process.pid, signal.SIGKILL)
    return process.sandbox


async def test_a_jailed_process_loses_and_repeats_nothing(
    world: SlackWorld, tmp_path: Path
) -> None:
    """Neither when it is killed nor when the daemon is; a file comes through."""
    world.server.url = world.server.url.replace("127.0.0.1", "localhost")  # a name to look up
    async with running_daemon(tmp_path, config(world.server), env=TOKENS) as daemon:
        await world.server.connected()
        await world.say(world.private, "number one")
        await answered(world, daemon, 1)
        assert await kill_host(daemon) == "full"
        await world.say(world.private, "number two")
        file = world.server.keep("notes.txt", b"words of a file", "text/plain")
        await world.server.write(world.private, "number three", files=[file], subtype="file_share")
        await answered(world, daemon, 3)
        await daemon.kill()
    await world.say(world.private, "number four")
    async with running_daemon(tmp_path, config(world.server), env=TOKENS) as daemon:
        shown = await answered(world, daemon, 4)
    # Slack has no keys: an answer whose receipt got lost, on a busy machine, is repeated by the
    # next one, marked and before its own words. Each message is answered once all the same.
    numbers = [f"number {word}" for word in ("one", "two", "three", "four")]
    assert [re.findall(r"number \w+", text)[-1] for text in shown] == numbers
    assert list_received(tmp_path) == numbers
    assert world.server.fetched == [file["id"]]
