"""A month without a message: what a daemon asks its models then, which is nothing."""

import itertools
import json
import random
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from fakes.journal import sqlite

from orchestrator.daemon.life import Daemon
from orchestrator.extensions.selftest.crash.scenario import STANDARD
from orchestrator.extensions.selftest.crash.world import TOKEN
from orchestrator.extensions.selftest.simulator.history_plan import HistoryPlan, PlannedEvent
from orchestrator.extensions.selftest.simulator.simulated_home import SimulatedHome
from orchestrator.extensions.selftest.simulator.simulated_machine import (
    SimulatedMachine,
    VirtualWriter,
)
from orchestrator.extensions.selftest.simulator.simulated_world import EPOCH, SimulatedWorld
from orchestrator.extensions.selftest.simulator.virtual_loop import VirtualLoop
from orchestrator.journal.db.sqlite_storage import SqliteStorage
from orchestrator.journal.db.store import Store
from orchestrator.settings import Settings

MINUTE, HOUR, MONTH = 60.0, 3_600.0, 30 * 24  # seconds, seconds, hours
SAID = [name for name, script in STANDARD.items() if script.chat > 0]
CALLS = "SELECT DISTINCT purpose FROM model_call WHERE at {} ? ORDER BY 1"


@pytest.fixture
def simulated(tmp_path: Path) -> tuple[Settings, SimulatedWorld]:
    """A home whose agents summarize, extract facts, are watched and share a budget."""
    events = tuple(PlannedEvent(1.0, "say", name) for name in SAID)
    plan = HistoryPlan(1, STANDARD, events)
    settings = Settings.model_validate({"home": tmp_path, "drain_seconds": 5})
    world = SimulatedWorld(plan.build_scenario(), plan.make_random("platform"))
    SimulatedHome(plan, settings.paths, world).write_files()
    file = tmp_path / "agents.json"
    found = json.loads(file.read_text("utf-8"))
    for agent in found["agents"]:
        agent |= {"compaction": {"thresholdTokens": 100}, "costControls": {"enabled": True}}
    file.write_text(json.dumps(found | {"budget": {"usdPerMonth": 5}}), "utf-8")
    return settings, world


def test_month_without_a_message_calls_no_model(
    simulated: tuple[Settings, SimulatedWorld], tmp_path: Path
) -> None:
    """What is left to do after a conversation is done in its first hours, and then nothing is.

    The wall clock passes an hour in each minute of the virtual loop, by which timers run.
    """
    settings, world = simulated
    loop, chance = VirtualLoop(0.0, itertools.count()), random.Random(1)  # noqa: S311 - repeatable
    machine = SimulatedMachine(settings, loop, world, chance)
    world.begin_life(lambda: True, lambda: EPOCH + loop.time())
    storage = SqliteStorage(
        settings.paths.journal,
        lambda commits: VirtualWriter(commits, loop, chance),
        machine.in_thread,
    )
    quiet_since: list[int] = []

    async def spend_month() -> None:
        for name in SAID:
            await anyio.sleep(5)
            world.send_script(name)
        await anyio.sleep(2 * HOUR)
        quiet_since.append(world.read_clock())
        for _ in range(MONTH):
            await anyio.sleep(MINUTE)
            world.drift += HOUR - MINUTE
        machine.stop_daemon()

    async def live() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(spend_month)
            environ = {"TZ": "UTC", "TELEGRAM_BOT_TOKEN": TOKEN}
            await Daemon(settings, environ, store, machine).run()

    with closing(Store(storage)) as store:
        loop.run(live())
    assert loop.problems == []
    assert world.read_clock() - quiet_since[0] >= MONTH * HOUR * 1000
    with sqlite(tmp_path) as db:
        before, after = (db.execute(CALLS.format(sign), quiet_since) for sign in "<>")
        assert before.fetchall() == [("facts",), ("turn",)]
        assert after.fetchall() == []
