"""Which node of a journal receives by which channel."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import anyio
from fakes.placed_agents import PlacedAgents
from fakes.time_limit import time_limit
from fakes.turn_bench import MemoryChannel

from orchestrator.channel_api import Intake
from orchestrator.channels.stored_replies import JournalChannel
from orchestrator.daemon.channels import ELSEWHERE, ChannelSet
from orchestrator.extension import DaemonView


class Receiver(MemoryChannel):
    """A channel that says whether it receives."""

    receives = False

    async def run(self, intake: Intake) -> None:
        """Receive until cancelled."""
        del intake
        self.receives = True
        try:
            await anyio.sleep_forever()
        finally:
            self.receives = False
            self.status.state = "stopped"


class LocalReceiver(Receiver, JournalChannel):
    """A channel of this machine."""


@asynccontextmanager
async def receiving(
    placement: PlacedAgents, *, shared: bool = True
) -> AsyncIterator[tuple[Receiver, Receiver]]:
    """Start a bot, which agents.json may lack as yet, and the API of a node."""
    bot, api = Receiver(), LocalReceiver()
    view: Any = SimpleNamespace(
        store=SimpleNamespace(is_shared=shared),
        placement=placement,
        adapters={"telegram": bot, "api": api},
        intake=None,
    )
    channels = ChannelSet(cast("DaemonView", view))
    with time_limit():
        async with anyio.create_task_group() as tasks:
            channels.start_receiving(tasks)
            await anyio.wait_all_tasks_blocked()
            yield bot, api
            tasks.cancel_scope.cancel()


async def test_a_bot_receives_where_its_account_is_held() -> None:
    """It begins when the account comes, and ends when it is lost; what is local always receives."""
    placement = PlacedAgents()
    async with receiving(placement) as (bot, api):
        assert (bot.receives, api.receives) == (False, True)
        assert (bot.status.state, bot.status.detail) == ("ok", ELSEWHERE)
        placement.change(accounts={"telegram"})
        await anyio.wait_all_tasks_blocked()
        assert bot.receives
        placement.change(own={"work"})  # which is nothing to the bot
        await anyio.wait_all_tasks_blocked()
        assert bot.receives
        placement.change(accounts=set())
        await anyio.wait_all_tasks_blocked()
        assert (bot.receives, api.receives) == (False, True)
        assert (bot.status.state, bot.status.detail) == ("ok", ELSEWHERE)


async def test_a_daemon_alone_on_its_journal_receives_by_every_channel() -> None:
    """It asks for no account."""
    async with receiving(PlacedAgents(), shared=False) as (bot, api):
        assert bot.receives
        assert api.receives


async def test_a_bot_that_cannot_send_says_so_where_another_node_receives() -> None:
    """An operator sees there which token is missing."""
    placement = PlacedAgents()
    async with receiving(placement) as (bot, _):
        bot.status.state, bot.status.detail = "degraded", "SLACK_BOT_TOKEN is not set"
        placement.change(own={"work"})
        await anyio.wait_all_tasks_blocked()
        assert bot.status.detail == "SLACK_BOT_TOKEN is not set"
        placement.change(accounts={"telegram"})
        await anyio.wait_all_tasks_blocked()
        placement.change(accounts=set())
        await anyio.wait_all_tasks_blocked()
        assert (bot.status.state, bot.status.detail) == ("ok", ELSEWHERE)
