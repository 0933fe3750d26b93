"""Messages that are queued between a look at the outbox and what follows, or as a daemon ends."""

from pathlib import Path

import anyio
import pytest
from fakes.delivering import delivering
from fakes.suspending_reads import interrupt_transaction

from orchestrator.journal.turns import outbox

pytestmark = pytest.mark.usefixtures("reads")


@pytest.mark.parametrize("held", [False, True])
async def test_message_that_is_queued_while_a_queue_finds_nothing_more_is_sent(
    tmp_path: Path,
    held: bool,  # noqa: FBT001
) -> None:
    """Also in a chat that the platform wants silent for a moment then."""
    async with delivering(tmp_path) as running:

        async def happens(found: object) -> bool:
            if found is None and running.shown:
                if held:
                    now = anyio.current_time()
                    running.delivery.flood.hold_chat("telegram", "7", 0.5, now)
                await running.add("second")
            return bool(running.shown)

        interrupt_transaction(running.store, outbox.mark_delivered, happens)
        await running.add("first")
        while running.shown != ["first", "second"]:
            await anyio.lowlevel.checkpoint()


async def test_daemon_that_is_followed_waits_for_what_is_on_its_way_alone(tmp_path: Path) -> None:
    """The next one sends the rest, also what waited for the platform's rate until now."""
    async with delivering(tmp_path) as running:
        rate = running.channel.reached["7"] = anyio.Event()
        way = running.channel.held["8"] = anyio.Event()
        await running.add("later", "7")
        await running.add("on its way", "8")
        while running.channel.waits != {"7", "8"}:
            await anyio.lowlevel.checkpoint()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(running.delivery.finish_sending)
            await anyio.wait_all_tasks_blocked()
            rate.set()
            way.set()
        await anyio.wait_all_tasks_blocked()
        assert running.shown == ["on its way"]
