"""The workspace that tests of the channel talk to."""

from collections.abc import AsyncIterator

import pytest
from fakes.own_task import in_own_task
from fakes.slack_world import SlackWorld, slack_world


@pytest.fixture
async def world() -> AsyncIterator[SlackWorld]:
    """Ann, Bob and the bot."""
    async with in_own_task(slack_world()) as made:
        yield made
