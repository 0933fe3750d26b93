"""What happens around a subagent at work: edits, a stop of the daemon, newer messages, tasks."""

import json
import signal
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.calling_model import CallingModel
from fakes.daemon import TOKEN, processes, running_daemon
from fakes.model_api import Reply
from fakes.subagent import CHAT, DONE, TASK, child, config, parent_daemon, settled, spawn

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="agents")]
SKILL = """\
---
name: whales
description: d
metadata:
  trigger_config: {{interval_minutes: 1440, notify_chat_id: {chat}}}
---
!spawn_subagent {arguments}
"""


async def test_edit_of_agents_json_leaves_a_subagent_at_work(tmp_path: Path) -> None:
    """Also one that changes its parent, whose next process takes the result."""
    async with parent_daemon(tmp_path) as (bot, model, daemon):
        gate = model.hold(TASK)
        bot.send_user_message(CHAT, spawn())
        await model.asked(TASK)
        before = (await child(daemon)).pid
        daemon.write(config(model, systemPrompt="You are new."))
        await daemon.logged("config_applied")
        assert (await child(daemon)).pid == before
        gate.set()
        assert await bot.reply_in(CHAT) == DONE
        await settled(daemon)
    assert len(model.requests_about(TASK)) == 1


async def test_removed_parent_takes_its_answer_along(tmp_path: Path) -> None:
    """The chat is told, and no turn waits for ever."""
    async with parent_daemon(tmp_path) as (bot, model, daemon):
        gate = model.hold(TASK)
        bot.send_user_message(CHAT, spawn())
        await model.asked(TASK)
        daemon.write({"agents": [{"agentId": "other", "llmProvider": "demo"}]})
        await daemon.logged("config_applied")
        gate.set()
        assert "was removed from the configuration" in await bot.reply_in(CHAT)
        await settled(daemon)


async def test_stopped_daemon_goes_on_with_the_subagent_next_time(tmp_path: Path) -> None:
    """SIGTERM ends in time, leaves no process, and nothing is begun twice."""
    env = {"ORCHESTRATOR_DRAIN_SECONDS": "0.2"}
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        gate = model.hold(TASK)
        async with running_daemon(tmp_path, config(model), bot, env) as daemon:
            bot.send_user_message(CHAT, spawn())
            await model.asked(TASK)
            daemon.signal(signal.SIGTERM)
            assert await daemon.ended() == 0
        assert processes(tmp_path) == {}
        gate.set()
        async with running_daemon(tmp_path, None, bot) as daemon:
            assert await bot.reply_in(CHAT) == DONE
            await settled(daemon)
        assert bot.list_texts(CHAT) == [DONE]


async def test_newer_message_that_interrupts_ends_the_subagent(tmp_path: Path) -> None:
    """Its result would be an answer to a question that is not asked any more."""
    async with parent_daemon(tmp_path, whileBusy="interrupt") as (bot, model, daemon):
        model.hold(TASK)
        bot.send_user_message(CHAT, spawn())
        await model.asked(TASK)
        bot.send_user_message(CHAT, "never mind")
        assert await bot.reply_in(CHAT) == "work-model: never mind"
        await settled(daemon)
        assert len(bot.list_texts(CHAT)) == 1


async def test_result_of_the_background_interrupts_nobody(tmp_path: Path) -> None:
    """It waits its turn like a message of a chat that queues."""
    async with parent_daemon(tmp_path, whileBusy="interrupt") as (bot, model, daemon):
        work, slow = model.hold(TASK), model.hold("slow")
        bot.send_user_message(CHAT, spawn(wait=False))
        await bot.reply_in(CHAT)
        await model.asked(TASK)
        bot.send_user_message(CHAT, "slow")
        await model.asked("slow")
        work.set()
        await daemon.until(lambda report: report.inbox["new"] == 1)
        slow.set()
        assert await bot.reply_in(CHAT) == "work-model: slow"
        assert "has returned the following result" in await bot.reply_in(CHAT)
        await settled(daemon)


async def test_subagent_of_a_task_may_not_send_either(tmp_path: Path) -> None:
    """What is withheld from a turn is withheld from what it begins."""
    async with parent_daemon(tmp_path) as (bot, model, daemon):
        bot.send_user_message(CHAT, "hello")
        await bot.reply_in(CHAT)
        model.script.append(Reply(tool_calls=(("spawn_subagent", {"task": TASK}),)))
        folder = tmp_path / "skills" / "whales"
        folder.mkdir(parents=True)
        skill = SKILL.format(chat=CHAT, arguments=json.dumps({"task": TASK}))
        (folder / "SKILL.md").write_text(skill, "utf-8")
        assert await bot.reply_in(CHAT) == DONE
        await settled(daemon)
    offered = {tool["function"]["name"] for tool in model.requests_about(TASK)[0].body["tools"]}
    assert "get_time" in offered
    assert not offered & {"send_message", "send_telegram"}
