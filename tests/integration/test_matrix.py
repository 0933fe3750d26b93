"""The daemon in a room of a real homeserver, while anything of it is killed."""

import os
import random
import re
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import pytest
from fakes.calling_model import CallingModel, one_agent
from fakes.daemon import RunningDaemon, running_daemon
from fakes.document_files import pdf
from fakes.homeserver import Homeserver, MatrixPerson, MatrixWorld, homeserver, matrix_world
from fakes.openai_api import PNG, MediaApi, recording, said
from fakes.time_limit import time_limit

from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="channels")]
MESSAGES = int(os.environ.get("MATRIX_MESSAGES", "30"))  # more by hand
EVERY = 6  # messages between two kills
HOST = "channel matrix"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Homeserver]:
    """One homeserver for all tests."""
    with homeserver(tmp_path_factory.mktemp("synapse")) as running:
        yield running


def config(server: Homeserver, world: MatrixWorld) -> JsonObject:
    """One agent in all rooms that the bot is in."""
    return {
        "agents": [{"agentId": "demo", "llmProvider": "demo"}],
        "channels": {
            "matrix": {"homeserver": server.url, "user": world.bot.user, "access": "open"}
        },
        "bindings": [{"channel": "matrix", "chatId": "*", "agentId": "demo"}],
    }


@asynccontextmanager
async def lives(home: Path, document: JsonObject, token: str) -> AsyncIterator["Lives"]:
    """Daemons of one home, one after another."""
    async with AsyncExitStack() as stack:
        found = Lives(home, document, token, stack)
        await found.begin()
        yield found


class Lives:
    """The daemon that runs, and what kills it."""

    def __init__(self, home: Path, document: JsonObject, token: str, stack: AsyncExitStack) -> None:
        self._home = home
        self._document = document
        self._env = {"MATRIX_ACCESS_TOKEN": token}
        self._stack = stack
        self.daemon: RunningDaemon

    async def begin(self) -> None:
        """Start a daemon and wait until it receives."""
        started = running_daemon(self._home, self._document, env=self._env)
        self.daemon = await self._stack.enter_async_context(started)

    async def receives(self) -> None:
        """Wait until the room is read."""
        await self.daemon.until(
            lambda report: any(c.name == "matrix" and c.state == "ok" for c in report.channels)
        )

    async def kill_daemon(self) -> None:
        """``kill -9``, and a new one."""
        await self.daemon.kill()
        await self.begin()

    async def kill_host(self) -> None:
        """``kill -9`` of the channel's process."""
        for process in (await self.daemon.status()).processes:
            if process.name == HOST:
                os.kill(process.pid, signal.SIGKILL)


async def echoed(ann: MatrixPerson, room: str, bot: str) -> list[int]:
    """The numbers that the bot has answered, in the order of the room."""
    texts = [m["content"].get("body", "") for m in await ann.messages(room) if m["sender"] == bot]
    return [int(found[1]) for text in texts if (found := re.search(r"number (\d+)", text))]


async def test_no_message_is_lost_or_answered_twice_whatever_is_killed(
    tmp_path: Path, server: Homeserver
) -> None:
    """The daemon, its channel's process and the homeserver die in turn, at random moments."""
    chance = random.Random(7)  # noqa: S311 - repeatable
    async with (
        matrix_world(server) as world,
        lives(tmp_path, config(server, world), world.bot.token) as life,
    ):
        await life.receives()
        for number in range(1, MESSAGES + 1):
            await world.say(world.private, f"number {number}")
            if number % EVERY == 0:
                victim = chance.choice((life.kill_daemon, life.kill_host, None))
                if victim is None:
                    server.kill()
                    server.start()
                else:
                    await victim()
        with time_limit():
            while (
                len(answered := await echoed(world.ann, world.private, world.bot.user)) < MESSAGES
            ):
                with anyio.move_on_after(1):
                    await life.daemon.logged("turn_replied", 10**6)
        assert answered == [*range(1, MESSAGES + 1)]


async def test_a_room_is_paired_by_its_code_and_its_process_is_jailed(
    tmp_path: Path, server: Homeserver
) -> None:
    """A stranger gets a code; status shows the channel, and a jail that holds."""
    async with matrix_world(server) as world:
        document = config(server, world)
        document["channels"] = {"matrix": {"homeserver": server.url, "user": world.bot.user}}
        async with lives(tmp_path, document, world.bot.token) as life:
            await life.receives()
            await world.say(world.private, "hello")
            shown = await world.shows(world.private, "I don't know you yet")
            report = await life.daemon.status()
    assert "orchestrator pair approve" in shown
    (process,) = [found for found in report.processes if found.name == HOST]
    assert process.sandbox == "full"


async def test_a_refused_token_says_what_to_do(tmp_path: Path, server: Homeserver) -> None:
    """The channel's state has the sentence; the daemon and its other channels go on."""
    async with (
        matrix_world(server) as world,
        lives(tmp_path, config(server, world), "wrong") as life,
    ):
        report = await life.daemon.until(
            lambda report: any(
                c.name == "matrix" and c.state == "degraded" for c in report.channels
            )
        )
    (channel,) = [found for found in report.channels if found.name == "matrix"]
    assert channel.detail.startswith("the homeserver refuses MATRIX_ACCESS_TOKEN; log in")


async def test_documents_voice_and_pictures_are_talked_about(
    tmp_path: Path, server: Homeserver
) -> None:
    """A PDF of 40 pages is read, a voice message answered by voice, a picture drawn and sent."""
    async with matrix_world(server) as world, CallingModel() as model, MediaApi() as api:

        def place(name: str, **fields: str) -> JsonObject:
            return {"model": name, "provider": "openai", "baseUrl": f"{api.url}/v1", **fields}

        voice = {"hear": place("ears"), "speak": place("mouth", voice="alloy")}
        found = one_agent(model, {}, voice=voice, images=place("brush"))
        section: JsonObject = {"homeserver": server.url, "user": world.bot.user, "access": "open"}
        document: JsonObject = {
            **found,
            "bindings": [{"channel": "matrix", "chatId": "*", "agentId": "work"}],
            "channels": {"matrix": section},
        }
        env = {"MATRIX_ACCESS_TOKEN": world.bot.token, "OPENAI_API_KEY": "sk-of-voices"}
        async with running_daemon(tmp_path, document, env=env) as daemon:
            await daemon.until(
                lambda report: any(c.name == "matrix" and c.state == "ok" for c in report.channels)
            )
            pages = [f"The secret of page {number} is apple {number}." for number in range(1, 41)]
            await world.hand_in_file(world.private, "pages.pdf", pdf(*pages))
            assert "apple 40" in await world.shows(world.private, "work-model: [")
            spoken = {"msgtype": "m.audio", "org.matrix.msc3245.voice": {}}
            await world.hand_in_file(world.private, "v.ogg", recording("tea please"), **spoken)
            await world.shows(world.private, "work-model: tea please")
            await world.shows(world.private, "answer.ogg")
            assert said(await world.load_shown_file(world.private)).startswith(
                "work-model: tea please"
            )
            await world.say(world.private, '!draw_picture {"prompt": "a cat"}')
            told = await world.shows(world.private, "result: Drawn; send_file shows it")
            handle = told.partition("[")[2].partition(":")[0]
            await world.say(world.private, f'!send_file {{"file": "{handle}"}}')
            await world.shows(world.private, "a cat.png")
            assert await world.load_shown_file(world.private) == PNG + b"a cat 0"
