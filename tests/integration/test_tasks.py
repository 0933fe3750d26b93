"""Scheduled tasks in a real daemon: once each, told in the chat, kept through kill -9."""

from pathlib import Path
from typing import Any

import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, RunningDaemon, running_daemon
from fakes.held_model import HeldModel, held_daemon, said, system, two_agents
from fakes.journal import reading_in
from fakes.model_api import Reply

from orchestrator.control import protocol
from orchestrator.control.protocol import Ack, RowId
from orchestrator.journal.schedule import task_runs, tasks
from orchestrator.journal.schedule.task_runs import TaskRun

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="agents")]
LONG_AGO = "{at: 2026-01-01T00:00:00Z, misfire_window_minutes: 99999999, notify_chat_id: 123}"
SKILL = """\
---
name: {name}
description: d
metadata:
  trigger_config: {trigger}
{more}---
{text}
"""


def write_skill(home: Path, name: str, trigger: str, text: str, more: str = "") -> None:
    """A skill of the agent ``work``."""
    folder = home / "agents" / "work" / "skills" / name
    folder.mkdir(parents=True, exist_ok=True)
    skill = SKILL.format(name=name, trigger=trigger, text=text, more=more)
    (folder / "SKILL.md").write_text(skill, "utf-8")


def history(home: Path, name: str) -> list[TaskRun]:
    """The runs of a task, the newest first; none while there is no such task."""
    with reading_in(home) as db:
        found = tasks.TASKS.select(db, "name = ?", name)
        return task_runs.list_task_runs(db, found[0].id, 10) if found else []


async def ended(daemon: RunningDaemon, name: str, state: str) -> TaskRun:
    """The newest run of a task, once it has ended so."""
    await daemon.until(lambda _: [r.state for r in history(daemon.home, name)][:1] == [state])
    return history(daemon.home, name)[0]


async def introduce(bot: FakeBotApi) -> None:
    """A task writes only to a chat that its agent knows."""
    bot.send_user_message(123, "hello")
    assert await bot.reply_in(123) == "work-model: hello"


async def test_task_runs_once_by_the_proactive_recipe_and_its_text_arrives(tmp_path: Path) -> None:
    """No history, no tool that sends, instructions as the sole user message; kill -9 or not."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model)
        async with running_daemon(tmp_path, config, bot) as daemon:
            await introduce(bot)
            gate = model.hold("Say it is time.")
            write_skill(tmp_path, "once", LONG_AGO, "Say it is time.")
            request = await model.asked("Say it is time.")
            await daemon.kill()
        gate.set()
        async with running_daemon(tmp_path, None, bot) as daemon:
            assert await bot.reply_in(123) == "work-model: Say it is time."
            run = await ended(daemon, "once", "ran")
        assert run.result == "work-model: Say it is time."
        prompt = system(request)
        assert prompt.startswith("You are work.\n\n## Current Date & Time\n")
        assert "## Current Task\nYou are executing an autonomous scheduled task." in prompt
        assert "## Current Chat" not in prompt
        assert [m["role"] for m in request.body["messages"]] == ["system", "user"]
        offered = {tool["function"]["name"] for tool in request.body["tools"]}
        assert {"get_time", "search_memories"} <= offered
        assert not offered & {"send_message", "send_telegram"}
        async with running_daemon(tmp_path, None, bot) as daemon:
            bot.send_user_message(123, "again")
            assert await bot.reply_in(123) == "work-model: again"
        asked = model.requests_about("again")[0].body["messages"]
        assert "Say it is time." not in str(asked)
        assert len(history(tmp_path, "once")) == 1
        assert bot.list_texts(123).count("work-model: Say it is time.") == 1


async def test_task_of_one_call_needs_no_model(tmp_path: Path) -> None:
    """Its result is the text; run again at the operator's word."""
    plan = "  execution_plan:\n    - {toolName: get_time, parameters: {timezone: Asia/Tokyo}}\n"
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        async with running_daemon(tmp_path, two_agents(model), bot) as daemon:
            await introduce(bot)
            write_skill(tmp_path, "clock", LONG_AGO, "What time is it?", plan)
            assert (await bot.reply_in(123)).endswith("(Asia/Tokyo)")
            await ended(daemon, "clock", "ran")
            await daemon.ask(protocol.TASK_RUN, RowId(id=1), Ack)
            assert (await bot.reply_in(123)).endswith("(Asia/Tokyo)")
            await daemon.until(
                lambda _: [r.state for r in history(tmp_path, "clock")] == ["ran"] * 2
            )
        assert [said(request.body) for request in model.requests] == ["hello"]


async def test_model_schedules_a_task_that_may_not_send(tmp_path: Path) -> None:
    """A reminder by ``schedule_task``; the call of a tool that was withheld fails."""
    reminder = {"name": "tea", "instructions": "Say: tea!", "interval_minutes": "60"}

    def answer(body: dict[str, Any]) -> Reply:
        """By what is asked: the task may begin before the chat is answered."""
        task = said(body) == "Say: tea!"
        if body["messages"][-1]["role"] != "user":
            return Reply("work-model: Say: tea!" if task else "Scheduled.")
        send = ("send_message", {"message": "tea!"})
        return Reply(tool_calls=(send if task else ("schedule_task", reminder),))

    async with FakeBotApi(TOKEN) as bot, HeldModel(answer) as model:
        async with running_daemon(tmp_path, two_agents(model), bot) as daemon:
            bot.send_user_message(123, "remind me of tea every hour")
            replies = {await bot.reply_in(123), await bot.reply_in(123)}
            assert replies == {"Scheduled.", "work-model: Say: tea!"}
            await ended(daemon, "tea", "ran")
        assert sorted(bot.list_texts(123)) == sorted(replies)


async def test_slow_task_holds_up_nobody(tmp_path: Path) -> None:
    """Neither the chat that it will write to nor another task."""
    async with held_daemon(tmp_path) as (bot, model, daemon):
        await introduce(bot)
        gate = model.hold("slow")
        write_skill(tmp_path, "slow", LONG_AGO, "slow")
        await model.asked("slow")
        bot.send_user_message(123, "are you there?")
        assert await bot.reply_in(123) == "work-model: are you there?"
        write_skill(tmp_path, "quick", LONG_AGO, "quick")
        assert await bot.reply_in(123) == "work-model: quick"
        gate.set()
        assert await bot.reply_in(123) == "work-model: slow"
        await ended(daemon, "slow", "ran")


async def test_failed_task_is_told_and_waits(tmp_path: Path) -> None:
    """The chat hears that it did not work; the task has one failure."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        async with running_daemon(tmp_path, two_agents(model), bot) as daemon:
            await introduce(bot)
            refusal = Reply("no", status=400, kind="invalid_request_error")
            model.script.extend([refusal, refusal])  # the second attempt offers no tools
            trigger = "{interval_minutes: 1440, notify_chat_id: 123}"
            write_skill(tmp_path, "fails", trigger, "do it")
            assert "refused this request" in await bot.reply_in(123)
            run = await ended(daemon, "fails", "failed")
        assert run.note is not None
        with reading_in(tmp_path) as db:
            (task,) = tasks.list_tasks(db)
        assert (task.state, task.failures) == ("active", 1)


async def test_storm_of_tasks_is_paced(tmp_path: Path) -> None:
    """Many are due at once: two at a time of one agent, and people are answered meanwhile (F32)."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        gates = [model.hold(f"storm {number}") for number in range(12)]
        async with running_daemon(tmp_path, two_agents(model), bot) as daemon:
            await introduce(bot)
            for number in range(12):
                write_skill(
                    tmp_path, f"storm-{number}", "{interval_minutes: 60}", f"storm {number}"
                )
            await daemon.until(
                lambda report: report.open_turns == 2 and report.inbox["new"] == 10  # the others
            )
            bot.send_user_message(123, "are you there?")
            assert await bot.reply_in(123) == "work-model: are you there?"
            for gate in gates:
                gate.set()
            await daemon.until(lambda report: report.inbox["done"] == 14)
            for number in range(12):
                await ended(daemon, f"storm-{number}", "ran")
        assert bot.list_texts(123) == ["work-model: hello", "work-model: are you there?"]
