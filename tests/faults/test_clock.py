"""The wall clock jumps by an hour or a year, either way (F29): nothing waits for it or ends early.

Waits are measured in monotonic time; where a wall time is stored, one that cannot be right is not
waited for.
"""

import time
from pathlib import Path

import anyio
import pytest
from fakes.channel import silent
from fakes.journal import job, next_turn, opened, receive, store_in, update
from fakes.scripted import MemoryHost, ScriptedModel, call, calls, says, spec, turn_run
from fakes.time_limit import time_limit

from orchestrator.channel_api import Adapter, OutboundPart
from orchestrator.channels.pacing import Rate, RateLimiter
from orchestrator.control.console import Console
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import outbox, turns
from orchestrator.journal.turns.outbox import Address
from orchestrator.outbound.delivery import Delivery
from thinker.agent import Agent
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import JsonObject
from thinker.protocol.methods import StopReason

HOUR = 3_600.0
YEAR = 365 * 24 * HOUR
JUMPS = pytest.mark.parametrize("jump", [HOUR, -HOUR, YEAR, -YEAR])


class Wall:
    """A wall clock that goes on by itself and that a test can set."""

    def __init__(self) -> None:
        self.offset = 0.0  # seconds

    def __call__(self) -> int:
        """Milliseconds since the epoch."""
        return round((time.time() + self.offset) * 1000)


class Listener(Console):
    """Notes that something was sent."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.sent = anyio.Event()

    async def send(self, part: OutboundPart) -> str:
        """Always works."""
        del part
        self.sent.set()
        return "1"


@JUMPS
async def test_failed_message_is_sent_again_in_a_moment(tmp_path: Path, jump: float) -> None:
    """A row that was to be repeated in a second is not kept for an hour."""
    wall = Wall()
    store = store_in(tmp_path)
    adapter = Listener(store)
    adapters: dict[str, Adapter] = {"console": adapter}
    await store.transact(outbox.add_notice, Address("console", "", "c"), "hello", wall())
    await store.transact(outbox.requeue, 1, "not now", wall() + 1000)
    wall.offset = jump
    with time_limit():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Delivery(store, adapters, tasks, wall, silent).run, "console")
            await adapter.sent.wait()
            tasks.cancel_scope.cancel()
    store.close()


@JUMPS
async def test_pacing_owes_no_hour_to_a_chat(jump: float) -> None:
    """The next call waits its second at most."""
    now = [0.0]
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await anyio.lowlevel.checkpoint()

    rate = Rate(1.0, 4)
    pacer = RateLimiter(Rate(30.0, 30), lambda: now[0], sleep)
    for _ in range(rate.burst):
        await pacer.wait("1", rate)
    now[0] += jump
    await pacer.wait("1", rate)
    assert sum(slept) <= 1 / rate.per_second


@JUMPS
async def test_turn_in_hand_keeps_the_time_that_it_had(
    jump: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine's clock is set while a tool runs; the loop goes on to its answer."""
    real = time.time

    async def tool(arguments: JsonObject) -> str:
        del arguments
        monkeypatch.setattr(time, "time", lambda: real() + jump)
        return "done"

    model = ScriptedModel(calls(call("c1", "act")), says("here it is"))
    agent = Agent(ThinkerSettings(agent_id="work", llm_provider="demo"), model)
    began = real()
    turn = turn_run("go", spec("act"), started_at=began, deadline=began + 900)
    with time_limit():
        result = await agent.run_turn(turn, MemoryHost({"act": tool}))
    assert (result.text, result.stop_reason) == ("here it is", StopReason.DONE)


@JUMPS
def test_open_turns_are_adopted_with_their_whole_time(tmp_path: Path, jump: float) -> None:
    """A restart under another clock ends no turn, and messages stay in the order they came."""
    later = round(jump * 1000) + 10_000_000_000_000
    with opened(tmp_path) as db:
        with job(db):
            epoch = turns.boot(db, 10_000_000_000_000)
        receive(db, update(1, "first"), update(2, "second"), now=10_000_000_000_000)
        turn = next_turn(db, "t1", epoch=epoch, now=10_000_000_000_000)
        assert turn is not None
        receive(db, update(3, "third"), now=later)
        with job(db):
            epoch = turns.boot(db, later)
        adopted = turns.load_turn(db, "t1")
        assert (adopted.state, adopted.deadline) == ("running", later + 15 * 60_000)
        with job(db):
            turns.end_with_reply(
                db, adopted, [outbox.OutboxPart("done")], "edit", ("done", None), later
            )
        following = next_turn(db, "t2", epoch=epoch, now=later)
        assert following is not None
        assert turns.load_opening_message(db, "t2").text == "second"
