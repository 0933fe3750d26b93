"""The broker in a whole daemon: it dies, keys change, answers break off."""

import os
import signal
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, running_daemon
from fakes.held_model import HeldModel, held_daemon, two_agents
from fakes.inspection import holds, looks_inside
from fakes.journal import reading_in
from fakes.model_api import Reply

from orchestrator.control.protocol import StatusReport
from orchestrator.files import write_private
from orchestrator.home_paths import Paths

pytestmark = pytest.mark.process

KEY = "sk-the-first-key"


def broker_of(report: StatusReport) -> int:
    """The process id of the broker that runs."""
    assert report.broker is not None
    assert report.broker.pid is not None
    return report.broker.pid


def calls(home: Path) -> list[tuple[str, int, int]]:
    """The settled calls: agent, tokens sent and received."""
    with reading_in(home) as db:
        query = "SELECT agent_id, prompt, completion FROM model_call WHERE state = 'settled'"
        return [(str(a), int(p), int(c)) for a, p, c in db.execute(query)]


@pytest.mark.parametrize("spawn", ["exec", "zygote"])
async def test_killed_broker_costs_no_turn(tmp_path: Path, spawn: str) -> None:
    """In the middle of an answer: the worker asks again through the next one, in the same turn."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        model.script.append(Reply("half of an answer that is never whole", fault="drip"))
        env = {"ORCHESTRATOR_SPAWN": spawn}
        async with running_daemon(tmp_path, two_agents(model), bot, env) as daemon:
            bot.send_user_message(123, "hello")
            await model.asked("hello")
            work, broker = await daemon.pid("work"), broker_of(await daemon.status())
            os.kill(broker, signal.SIGKILL)
            assert await bot.reply_in(123) == "work-model: hello"
            report = await daemon.until(lambda report: broker_of(report) != broker)
            assert report.broker is not None
            assert (report.broker.state, report.broker.restarts) == ("running", 1)
            bot.send_user_message(123, "and on")
            assert await bot.reply_in(123) == "work-model: and on"
            assert await daemon.pid("work") == work
    assert len(model.requests_about("hello")) == 2
    assert bot.list_texts(123) == ["work-model: hello", "work-model: and on"]


@looks_inside
async def test_broker_alone_holds_the_key_and_is_walled_off(tmp_path: Path) -> None:
    """Also the one of an agent's own; its level is what it found itself."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, env={"OPENAI_API_KEY": KEY})
        async with running_daemon(tmp_path, config, bot, executed=True) as daemon:
            bot.send_user_message(123, "hello")
            assert await bot.reply_in(123) == "work-model: hello"
            report = await daemon.status()
            levels = {process.name: process.sandbox for process in report.processes}
            pids = {process.name: process.pid for process in report.processes}
            holding = [name for name in ("zygote", "agent work") if holds(pids[name], KEY)]
    assert model.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert holding == []
    assert levels["broker"] in ("full", "no-landlock")


async def test_changed_key_is_used_without_a_new_broker(tmp_path: Path) -> None:
    """The agent's next worker has the grant of the new key."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, env={"OPENAI_API_KEY": KEY})
        async with running_daemon(tmp_path, config, bot) as daemon:
            bot.send_user_message(123, "one")
            assert await bot.reply_in(123) == "work-model: one"
            broker = broker_of(await daemon.status())
            daemon.write(two_agents(model, env={"OPENAI_API_KEY": "sk-the-second-key"}))
            await daemon.logged("config_applied")
            bot.send_user_message(123, "two")
            assert await bot.reply_in(123) == "work-model: two"
            assert broker_of(await daemon.status()) == broker
    sent = [request.headers["authorization"] for request in model.requests]
    assert sent == [f"Bearer {KEY}", "Bearer sk-the-second-key"]


@looks_inside
async def test_key_of_the_homes_file_reaches_the_broker_alone_and_an_edit_of_it_is_used(
    tmp_path: Path,
) -> None:
    """agents.json has its name; no worker, no copy and no output of the daemon has the key."""
    keys = Paths(tmp_path).keys
    write_private(keys, f"MINE={KEY}\n".encode())
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, env={"OPENAI_API_KEY": "${MINE}"})
        async with running_daemon(tmp_path, config, bot, executed=True) as daemon:
            bot.send_user_message(123, "one")
            assert await bot.reply_in(123) == "work-model: one"
            report = await daemon.status()
            pids = {process.name: process.pid for process in report.processes}
            holding = [name for name in ("zygote", "agent work") if holds(pids[name], KEY)]
            write_private(keys, b"MINE=sk-the-second-key\n")
            await daemon.logged("config_applied")
            bot.send_user_message(123, "two")
            assert await bot.reply_in(123) == "work-model: two"
            last_good = Paths(tmp_path).last_good.read_text("utf-8")
    sent = [request.headers["authorization"] for request in model.requests]
    assert sent == [f"Bearer {KEY}", "Bearer sk-the-second-key"]
    assert holding == []
    assert KEY not in f"{report}{last_good}{daemon.log}"


async def test_call_that_breaks_off_counts_beside_the_one_that_answers(tmp_path: Path) -> None:
    """Its provider may bill it, though no step names it."""
    async with held_daemon(tmp_path) as (bot, model, daemon):
        model.script.append(Reply("half of an answer", fault="cut"))
        bot.send_user_message(123, "hello")
        assert await bot.reply_in(123) == "work-model: hello"
        await daemon.until(lambda report: report.open_turns == 0)
        assert (await model.asked("hello", 2)).body["stream"]
    counted = calls(tmp_path)
    assert [agent for agent, *_ in counted] == ["work", "work"]
    answered = [call for call in counted if call[1:] == (11, 7)]
    (broken,) = [call for call in counted if call not in answered]
    assert len(answered) == 1
    assert broken[1] > 500  # an estimate of the whole prompt
    assert broken[2] > 0
