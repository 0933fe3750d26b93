"""Matrix keeps the promises of a channel, on a real homeserver."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from fakes.homeserver import Homeserver, MatrixWorld, homeserver, matrix_world
from fakes.own_task import in_own_task

from orchestrator.extensions.channel_folders.testing.channel_tests import (
    ChannelContract,
    MemoryIntake,
)

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="channels")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Homeserver]:
    """One homeserver for all tests; each has accounts and rooms of its own."""
    folder: Path = tmp_path_factory.mktemp("synapse")
    with homeserver(folder) as running:
        yield running


@pytest.fixture
async def world(server: Homeserver) -> AsyncIterator[MatrixWorld]:
    """Ann, Bob and the bot."""
    async with in_own_task(matrix_world(server)) as made:
        yield made


class TestMatrix(ChannelContract):
    """All promises, and those of Matrix alone."""

    async def test_what_was_said_before_the_first_start_is_not_answered(
        self, world: MatrixWorld
    ) -> None:
        """A room may have years of history."""
        await world.say(world.private, "long ago")
        intake = MemoryIntake()
        async with self.receiving(world, intake):
            await world.say(world.private, "now")
            await intake.wait_for_message("now")
        assert intake.list_texts(world.private) == ["now"]

    async def test_an_invitation_is_accepted_with_what_was_said_since(
        self, world: MatrixWorld
    ) -> None:
        """Who invites a bot writes at once."""
        intake = MemoryIntake()
        async with self.receiving(world, intake):
            body = {"invite": [world.bot.user], "preset": "trusted_private_chat"}
            room = (await world.ann.ask("POST", "/_matrix/client/v3/createRoom", body))["room_id"]
            await world.say(room, "hello new friend")
            await intake.wait_for_message("hello new friend")
            await world.say(room, "and again")
            await intake.wait_for_message("and again")
        assert intake.list_texts(room) == ["hello new friend", "and again"]

    async def test_more_messages_than_a_poll_has_are_all_received(self, world: MatrixWorld) -> None:
        """What a poll leaves out is fetched."""
        intake = MemoryIntake()
        async with self.receiving(world, intake):
            await world.say(world.private, "start")
            await intake.wait_for_message("start")
        said = [f"number {number}" for number in range(130)]
        for text in said:
            await world.say(world.private, text)
        async with self.receiving(world, intake):
            await intake.wait_for_message(said[-1])
        assert intake.list_texts(world.private) == ["start", *said]
