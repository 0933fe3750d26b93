"""An agent moves between two real daemons, with its bot and a question that waits."""

import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType

import anyio
import pytest
from fakes.bot_api import FakeBotApi
from fakes.control_server import ask
from fakes.daemon import TOKEN, RunningDaemon, dying, environment, running_daemon
from fakes.held_model import HeldModel, agent
from fakes.model_api import Reply
from pydantic import JsonValue

from orchestrator.control import protocol
from orchestrator.control.protocol import Ack, ApprovalDecision, ApprovalList
from orchestrator.journal.opening import open_for_reading
from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="operations")]
FACT = {"fact": "Likes tea.", "category": "preference"}
KEY = "TELEGRAM_BOT_TOKEN"


def _write_config(model: HeldModel, *names: str, bound: bool) -> JsonObject:
    """Agents of a model, of which `work` has the bot and asks before it stores anything."""
    bindings: list[JsonValue] = [{"channel": "telegram", "chatId": "*", "agentId": "work"}]
    return {
        "agents": [agent(name, model, approvals=["store_*"]) for name in names],
        "bindings": bindings if bound else [],
        "channels": {"telegram": {"access": "open"}} if bound else {},
    }


async def _until_bots(daemon: RunningDaemon, *, served: bool) -> None:
    """Wait until a daemon receives its bot, or does not."""
    await daemon.until(
        lambda report: served == any(one.name == "telegram" for one in report.channels)
    )


async def test_agent_with_its_bot_moves_while_both_daemons_run(tmp_path: Path) -> None:
    """The other agent answers on, the open question is answered at the new home, once."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    keys = f"{KEY}={TOKEN}\n"
    (here / "keys.env").write_text(keys)
    (here / "keys.env").chmod(0o600)
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        env = {"TELEGRAM_API_URL": bot.url, "OPENAI_API_KEY": "key"}
        first, second = (
            _write_config(model, "home", "work", bound=True),
            _write_config(model, "other", bound=False),
        )
        model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
        async with (
            running_daemon(here, first, env=env) as old,
            running_daemon(there, second, env=env) as new,
        ):
            bot.send_user_message(123, "remember tea")
            await bot.reply_in(123)
            (asked,) = (await old.ask(protocol.APPROVAL_LIST, None, ApprovalList)).approvals
            done = await ask(here, "agents", "move", "work", "--to", str(there))
            assert done.exit_code == 0, done.output
            assert KEY in done.output
            refused = await ask(here, "approvals", "grant", asked.code)
            assert "nothing was decided" in refused.output
            bot.send_user_message(123, "and milk")
            refused = await ask(here, "agents", "moved", "work", "--confirm")
            assert "still receives the bot" in refused.output
            (here / "keys.env").write_text("")
            await ask(here, "reload")
            await _until_bots(old, served=False)
            done = await ask(here, "agents", "moved", "work", "--confirm")
            assert done.exit_code == 0, done.output
            (there / "keys.env").write_text(keys)
            (there / "keys.env").chmod(0o600)
            await ask(there, "reload")
            await _until_bots(new, served=True)
            (question,) = (await new.ask(protocol.APPROVAL_LIST, None, ApprovalList)).approvals
            assert question.code == asked.code
            decision = ApprovalDecision(code=question.code, granted=True)
            await new.ask(protocol.APPROVAL_DECIDE, decision, Ack)
            assert await bot.reply_in(123) == "work-model: remember tea"
            assert await bot.reply_in(123) == "work-model: and milk"
            answered = await ask(here, "send", "home", "still there?")
            assert "home-model: still there?" in answered.output


KEYS = {"OPENAI_API_KEY": "key"}
COMMAND = (sys.executable, "-P", "-m", "orchestrator")
STEPS = ("left", "expected", "placed", "sent", "departed")  # after which the command is killed
ARRIVAL = 2  # of the steps that change the new home: expect, arrive, activate


async def _move(here: Path, there: Path, place: str | None = None) -> int:
    """Run the command as a process of its own, killed at a place; return its exit code."""
    env = {**os.environ, **environment(here, None, None), **(dying(place, here) if place else {})}
    arguments = ("agents", "move", "work", "--to", str(there))
    done = await anyio.run_process([*COMMAND, *arguments], env=env, check=False)
    return done.returncode


async def _end(here: Path, option: str) -> None:
    done = await ask(here, "agents", "moved", "work", option)
    assert done.exit_code == 0, done.output


def _list_texts(daemon: RunningDaemon) -> list[str]:
    """What the agent `work` was asked in a home, in order."""
    with open_for_reading(daemon.settings.journal) as db:
        rows = db.execute("SELECT text FROM inbox WHERE agent_id = 'work' ORDER BY id")
        return [str(text) for (text,) in rows]


async def _say(daemon: RunningDaemon, text: str) -> None:
    answered = await ask(daemon.home, "send", "work", text)
    assert f"work-model: {text}" in answered.output


@asynccontextmanager
async def _two_daemons(
    here: Path, there: Path, model: HeldModel, dies: Mapping[str, str] = MappingProxyType({})
) -> AsyncIterator[tuple[RunningDaemon, RunningDaemon]]:
    """The daemons of two homes; in the first one `work` has answered. The second may die."""
    first, second = (
        _write_config(model, "home", "work", bound=False),
        _write_config(model, "other", bound=False),
    )
    for home in (here, there):
        home.mkdir()
    async with (
        running_daemon(here, first, env=KEYS) as old,
        running_daemon(there, second, env={**KEYS, **dies}, executed=bool(dies)) as new,
    ):
        await _say(old, "tea")
        yield old, new


async def test_command_killed_after_each_step_goes_on_with_the_next_run(tmp_path: Path) -> None:
    """What the agent was asked is at the new home once, and it works there alone."""
    here, there = tmp_path / "here", tmp_path / "there"
    async with HeldModel() as model, _two_daemons(here, there, model) as (old, new):
        for step in STEPS:
            assert await _move(here, there, f"supervisor@relocation:{step}#1") == -signal.SIGKILL
        assert await _move(here, there) == 0
        await _end(here, "--confirm")
        await _say(new, "milk")
        assert _list_texts(new) == ["tea", "milk"]
        assert _list_texts(old) == ["tea"]
        assert [len(model.requests_about(text)) for text in ("tea", "milk")] == [1, 1]


async def test_killed_command_is_undone(tmp_path: Path) -> None:
    """The agent works at its old home again, and the new one has nothing of it."""
    here, there = tmp_path / "here", tmp_path / "there"
    async with HeldModel() as model, _two_daemons(here, there, model) as (old, new):
        assert await _move(here, there, "supervisor@relocation:sent#1") == -signal.SIGKILL
        await _end(here, "--undo")
        await _say(old, "milk")
        assert (_list_texts(old), _list_texts(new)) == (["tea", "milk"], [])


@pytest.mark.parametrize("side", ["before", "after"])
async def test_new_home_killed_around_the_arrival_has_the_agent_once(
    tmp_path: Path, side: str
) -> None:
    """Its next daemon takes the agent in, or has it already."""
    here, there = tmp_path / "here", tmp_path / "there"
    dies = dying(f"supervisor@run_step:{side}#{ARRIVAL}", tmp_path)
    async with HeldModel() as model, _two_daemons(here, there, model, dies) as (_, new):
        assert await _move(here, there) > 0
        await new.died()
        async with running_daemon(there, None, env=KEYS) as again:
            assert await _move(here, there) == 0
            await _end(here, "--confirm")
            await _say(again, "milk")
            assert _list_texts(again) == ["tea", "milk"]
            assert [len(model.requests_about(text)) for text in ("tea", "milk")] == [1, 1]
