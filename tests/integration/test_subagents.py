"""Subagents in a real daemon: a process each, once each, through kill -9 of any of them."""

import json
import os
import signal
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.calling_model import CallingModel
from fakes.daemon import TOKEN, running_daemon
from fakes.held_model import system
from fakes.journal import opened, reading_in
from fakes.model_api import Reply
from fakes.subagent import (
    CHAT,
    DONE,
    TASK,
    child,
    config,
    kill_child,
    parent_daemon,
    settled,
    spawn,
)

from orchestrator.control import protocol
from orchestrator.control.protocol import Ack, ApprovalDecision, ApprovalList

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="agents")]


async def test_subagent_does_its_task_in_a_process_of_its_own(tmp_path: Path) -> None:
    """The task is the only user message, the prompt is minimal, the tools are the parent's."""
    async with parent_daemon(tmp_path, deniedTools=["list_*"]) as (bot, model, daemon):
        gate = model.hold(TASK)
        bot.send_user_message(CHAT, spawn(deniedTools=["store_*"], model="small-model"))
        request = await model.asked(TASK)
        seen, parent = await child(daemon), await daemon.pid("work")
        assert (seen.parent, seen.model) == ("work", "small-model")
        assert seen.agent_id.startswith("work-sub-")
        assert seen.pid not in (None, parent)
        gate.set()
        assert await bot.reply_in(CHAT) == f"result: small-model: {TASK}"
        await settled(daemon)
        assert await daemon.pid("work") == parent
    assert [message["role"] for message in request.body["messages"]] == ["system", "user"]
    prompt = system(request)
    assert prompt.startswith("You are a focused subagent. Complete the task in the user message.")
    assert "\n\n## Current Date & Time\n" in prompt
    assert "## Current Chat" not in prompt
    offered = {tool["function"]["name"] for tool in request.body["tools"]}
    assert {"get_time", "search_memories", "send_message"} <= offered
    withheld = {"spawn_subagent", "schedule_task", "store_fact", "list_tasks", "list_facts"}
    assert not offered & withheld
    with reading_in(tmp_path) as db:
        spent = db.execute("SELECT agent_id, count(*) FROM model_call GROUP BY 1").fetchall()
    assert spent == [("work", 3)]


async def test_named_tools_are_offered_and_no_others_run(tmp_path: Path) -> None:
    """What the parent may not use, and what was not asked for, is refused by the supervisor."""
    async with parent_daemon(tmp_path, deniedTools=["store_fact"]) as (bot, model, daemon):
        model.script.append(
            Reply(
                tool_calls=(
                    (
                        "spawn_subagent",
                        {"task": TASK, "allowedTools": ["get_time", "store_fact"]},
                    ),
                )
            )
        )
        model.script.append(
            Reply(tool_calls=(("store_fact", {"fact": "x"}), ("spawn_subagent", {"task": "y"})))
        )
        bot.send_user_message(CHAT, "go")
        await bot.reply_in(CHAT)
        await settled(daemon)
    first, second = model.requests_about(TASK)
    assert [tool["function"]["name"] for tool in first.body["tools"]] == ["get_time"]
    refused = [message["content"] for message in second.body["messages"][-2:]]
    assert all("there is no tool named" in text for text in refused)


async def test_result_of_the_background_comes_as_a_message_once(tmp_path: Path) -> None:
    """The call returns at once, the chat goes on, and the result is answered in its own turn."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        gate = model.hold(TASK)
        async with running_daemon(tmp_path, config(model), bot) as daemon:
            bot.send_user_message(CHAT, spawn(wait=False))
            started = await bot.reply_in(CHAT)
            assert started.startswith("result: Started subagent work-sub-")
            await model.asked(TASK)
            bot.send_user_message(CHAT, "meanwhile")
            assert await bot.reply_in(CHAT) == "work-model: meanwhile"
            await daemon.kill()
        gate.set()
        async with running_daemon(tmp_path, None, bot) as daemon:
            told = await bot.reply_in(CHAT)
            name = started.split()[3].rstrip(".")
            assert told == (
                f"work-model: Subagent (reference: {name}) has returned the following result:\n\n"
                f"work-model: {TASK}"
            )
            await settled(daemon)
        assert len(bot.list_texts(CHAT)) == 3


async def test_killed_subagent_goes_on_where_it_was(tmp_path: Path) -> None:
    """Its finished call is not made again, and its parent notices nothing."""
    async with parent_daemon(tmp_path) as (bot, model, daemon):
        call = Reply(tool_calls=(("spawn_subagent", {"task": TASK}),))
        sends = Reply(tool_calls=(("send_message", {"message": "one whale"}),))
        model.script.extend([call, sends, Reply(fault="hang")])
        bot.send_user_message(CHAT, "go")
        await model.asked(TASK, 2)
        assert await bot.reply_in(CHAT) == "one whale"
        await kill_child(daemon)
        assert "Queued for delivery" in await bot.reply_in(CHAT)
        await settled(daemon)
        assert len(bot.list_texts(CHAT)) == 2
        _, cut, resumed = model.requests_about(TASK)
        assert resumed.body["messages"] == cut.body["messages"]


async def test_third_death_of_a_subagent_is_an_error_for_its_parent(tmp_path: Path) -> None:
    """The parent answers; nothing is left among the dead letters of people."""
    async with parent_daemon(tmp_path) as (bot, model, daemon):
        model.hold(TASK)
        bot.send_user_message(CHAT, spawn())
        for death in range(1, 4):
            await model.asked(TASK, death)
            await kill_child(daemon)
            await daemon.logged("turn_lost_its_worker", death)
        answer = await bot.reply_in(CHAT)
        assert answer.startswith("result: Subagent failed: Its process died 3 times")
        await settled(daemon)
        assert len(bot.list_texts(CHAT)) == 1


async def test_deadline_ends_a_subagent_and_outlives_a_restart(tmp_path: Path) -> None:
    """A model that hangs: the process is gone at the deadline and the parent knows why."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        model.hold(TASK)
        async with running_daemon(tmp_path, config(model), bot) as daemon:
            bot.send_user_message(CHAT, spawn(timeoutMinutes=2))
            await model.asked(TASK)
            await daemon.kill()
        with opened(tmp_path) as db:
            assert db.execute("SELECT allowed FROM turn WHERE recipe='subagent'").get == 120_000
            db.execute("UPDATE turn SET allowed = 5000 WHERE recipe = 'subagent'")
        async with running_daemon(tmp_path, None, bot) as daemon:
            assert await bot.reply_in(CHAT) == (
                "result: Subagent failed: It did not finish within 2 minutes and was stopped."
            )
            await settled(daemon)


async def test_death_of_the_waiting_parent_changes_nothing(tmp_path: Path) -> None:
    """The subagent works on; the next process of the parent has its result."""
    async with parent_daemon(tmp_path) as (bot, model, daemon):
        gate = model.hold(TASK)
        bot.send_user_message(CHAT, spawn())
        await model.asked(TASK)
        pid = await daemon.pid("work")
        os.kill(pid, signal.SIGKILL)
        await daemon.logged("worker_ended", agent_id="work")
        gate.set()
        assert await bot.reply_in(CHAT) == DONE
        assert await daemon.pid("work") != pid
        await settled(daemon)
    assert len(model.requests_about(TASK)) == 1
    assert len(model.requests_about(spawn())) == 2


async def test_killed_daemon_finds_the_same_subagent_again(tmp_path: Path) -> None:
    """Not a second one: one run, one result, one answer."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        gate = model.hold(TASK)
        async with running_daemon(tmp_path, config(model), bot) as daemon:
            bot.send_user_message(CHAT, spawn())
            await model.asked(TASK)
            await daemon.kill()
        async with running_daemon(tmp_path, None, bot) as daemon:
            await model.asked(TASK, 2)
            await daemon.kill()
        gate.set()
        async with running_daemon(tmp_path, None, bot) as daemon:
            assert await bot.reply_in(CHAT) == DONE
            await settled(daemon)
        assert bot.list_texts(CHAT) == [DONE]
        assert len(model.requests_about(spawn())) == 2


async def test_stop_ends_the_subagent_too(tmp_path: Path) -> None:
    """Whether its parent waits for it or not; nothing comes afterwards."""
    async with parent_daemon(tmp_path) as (bot, model, daemon):
        model.hold(TASK)
        bot.send_user_message(CHAT, spawn())
        await model.asked(TASK)
        bot.send_user_message(CHAT, "/stop")
        assert await bot.reply_in(CHAT) == "Stopped."
        await settled(daemon)
        bot.send_user_message(CHAT, spawn(wait=False))
        await bot.reply_in(CHAT)
        await model.asked(TASK, 2)
        bot.send_user_message(CHAT, "/stop")
        assert await bot.reply_in(CHAT) == "Stopped."
        await daemon.until(lambda report: report.open_turns == 0 and len(report.agents) == 1)
        bot.send_user_message(CHAT, "still there?")
        assert await bot.reply_in(CHAT) == "work-model: still there?"


async def test_word_for_a_call_of_a_subagent_is_asked_in_the_chat(tmp_path: Path) -> None:
    """Granted, the call runs once and the parent has the result."""
    async with parent_daemon(tmp_path, approvals=["store_*"]) as (bot, _, daemon):
        bot.send_user_message(
            CHAT, "!spawn_subagent " + json.dumps({"task": '!store_fact {"fact": "x"}'})
        )
        assert 'tool: "store_fact"' in await bot.reply_in(CHAT)
        (question,) = (await daemon.ask(protocol.APPROVAL_LIST, None, ApprovalList)).approvals
        await daemon.ask(
            protocol.APPROVAL_DECIDE, ApprovalDecision(code=question.code, granted=True), Ack
        )
        answer = await bot.reply_in(CHAT)
        assert answer.startswith("result: result: ")
        assert "id 1)" in answer
        await settled(daemon)
