"""People who talk over the fake of Discord."""

from collections.abc import AsyncIterator

import pytest
from fakes.discord_server import discord_server
from fakes.discord_world import DiscordWorld, discord_world
from fakes.own_task import in_own_task


@pytest.fixture
async def world() -> AsyncIterator[DiscordWorld]:
    """Ann, a robot and the bot."""
    async with in_own_task(discord_server()) as server, in_own_task(discord_world(server)) as made:
        yield made
