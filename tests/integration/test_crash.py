"""``kill -9`` and SIGTERM at the worst moment: nothing is lost, nothing is done twice."""

import os
import signal
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, dying, ending, processes, run_to_its_end, running_daemon
from fakes.held_model import HeldModel, held_daemon, two_agents
from fakes.model_api import Reply

pytestmark = pytest.mark.process

FACT = {"fact": "The user likes tea.", "category": "preference"}


async def test_worker_killed_between_two_steps_goes_on_where_it_was(tmp_path: Path) -> None:
    """A new process has the recorded step, calls no tool again, and there is one reply."""
    async with held_daemon(tmp_path) as (bot, model, daemon):
        model.script.append(
            Reply(tool_calls=(("store_fact", FACT), ("send_message", {"message": "stored"})))
        )
        model.script.append(Reply(fault="hang"))
        bot.send_user_message(123, "remember tea")
        await model.asked("remember tea", 2)
        assert await bot.reply_in(123) == "stored"
        pid = await daemon.pid("work")
        os.kill(pid, signal.SIGKILL)
        assert await bot.reply_in(123) == "work-model: remember tea"
        assert await daemon.pid("work") != pid
        first, cut, resumed = model.requests_about("remember tea")
        assert resumed.body["messages"] == cut.body["messages"]
        assert len(resumed.body["messages"]) == len(first.body["messages"]) + 3
        assert bot.list_texts(123) == ["stored", "work-model: remember tea"]
        (turn,) = (await daemon.until(lambda report: report.open_turns == 0)).recent_turns
        assert turn.tools == ("store_fact", "send_message")
        assert [item.restarts for item in (await daemon.status()).agents] == [1, 0]


async def test_worker_killed_while_it_streams_leaves_one_message(tmp_path: Path) -> None:
    """The preview that the dead process began becomes the reply of the next one."""
    answer = "Here is the first half of what I have to say, and here is the rest of it."
    async with held_daemon(tmp_path) as (bot, model, daemon):
        model.script.append(Reply(answer, fault="drip"))
        bot.send_user_message(123, "tell me")
        await bot.called("sendMessage")
        (preview,) = bot.list_texts(123)
        assert preview.endswith(" …")
        assert answer.startswith(preview.removesuffix(" …"))
        model.script.append(Reply(answer))
        os.kill(await daemon.pid("work"), signal.SIGKILL)
        assert await bot.reply_in(123) == answer
        assert bot.list_texts(123) == [answer]


async def test_worker_killed_as_its_last_step_is_kept_is_not_missed(tmp_path: Path) -> None:
    """The answer is on disk with that step: it is sent, and no model is asked for it again."""
    env = dying("worker@reply:before#1", tmp_path)
    async with (
        FakeBotApi(TOKEN) as bot,
        HeldModel() as model,
        running_daemon(tmp_path, two_agents(model), bot, env) as daemon,
    ):
        bot.send_user_message(123, "hello")
        assert await bot.reply_in(123) == "work-model: hello"
        await daemon.logged("worker_ended", agent_id="work")
        await daemon.until(lambda report: report.open_turns == 0)
        assert len(model.requests_about("hello")) == 1
        assert bot.list_texts(123) == ["work-model: hello"]
    assert not [line for line in daemon.log if line["event"] == "turn_lost_its_worker"]


async def test_message_that_kills_every_process_is_given_up_and_the_chat_goes_on(
    tmp_path: Path,
) -> None:
    """After three deaths the user is told, and the next message is answered."""
    async with held_daemon(tmp_path) as (bot, model, daemon):
        model.hold("poison")
        bot.send_user_message(123, "poison")
        bot.send_user_message(123, "still there?")
        for death in range(1, 4):
            await model.asked("poison", death)
            os.kill(await daemon.pid("work"), signal.SIGKILL)
            await daemon.logged("worker_ended", death, agent_id="work")
        assert "gave it up" in " ".join((await bot.reply_in(123)).split())
        assert await bot.reply_in(123) == "work-model: still there?"
        assert (await daemon.status()).inbox["dead"] == 1


@pytest.mark.parametrize(("spawn", "count"), [("exec", 4), ("zygote", 6)])
async def test_killed_supervisor_leaves_no_process_and_loses_no_message(
    tmp_path: Path, spawn: str, count: int
) -> None:
    """Children end by themselves; the next daemon answers everything once, tools included."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        model.script.append(Reply(tool_calls=(("send_message", {"message": "one moment"}),)))
        model.script.append(Reply(fault="hang"))
        env = {"ORCHESTRATOR_SPAWN": spawn}
        async with running_daemon(tmp_path, two_agents(model), bot, env) as daemon:
            bot.send_user_message(123, "slow")
            await model.asked("slow", 2)
            bot.send_user_message(456, "quick")
            assert await bot.reply_in(123) == "one moment"
            assert await bot.reply_in(456) == "home-model: quick"
            await daemon.until(lambda report: report.open_turns == 1)
            bot.send_user_message(123, "later")
            await bot.confirmed()
            children = processes(tmp_path)
            assert len(children) == count
            async with ending(children):
                await daemon.kill()
            assert processes(tmp_path) == {}
        bot.send_user_message(456, "while you were away")
        async with running_daemon(tmp_path, None, bot) as daemon:
            assert await bot.reply_in(456) == "home-model: while you were away"
            await daemon.until(lambda report: report.inbox["done"] == 4)
    assert bot.list_texts(456) == ["home-model: quick", "home-model: while you were away"]
    assert bot.list_texts(123) == ["one moment", "work-model: slow", "work-model: later"]


async def test_supervisor_killed_at_any_moment_answers_each_message_once(tmp_path: Path) -> None:
    """Killed after every accepted message, wherever it is by then; the chat sees no gap."""
    said = [f"message {number}" for number in range(4)]
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        for number, text in enumerate(said):
            config = None if number else two_agents(model)
            async with running_daemon(tmp_path, config, bot) as daemon:
                bot.send_user_message(123, text)
                if number % 2:
                    await daemon.logged("messages_accepted")
                else:
                    await bot.called("sendMessage", len(bot.calls("sendMessage")) + 1)
                await daemon.kill()
        async with running_daemon(tmp_path, None, bot) as daemon:
            await daemon.until(lambda report: report.inbox["done"] == len(said))
            seen = [await bot.reply_in(123) for _ in said]
    assert seen == [f"work-model: {text}" for text in said]


async def test_sigterm_ends_in_time_and_the_open_turn_is_answered_next_time(
    tmp_path: Path,
) -> None:
    """A model that hangs cannot hold the daemon; exit 0, and the message waits in the journal."""
    env = {"ORCHESTRATOR_DRAIN_SECONDS": "0.2"}
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        model.script.append(Reply(fault="hang"))
        async with running_daemon(tmp_path, two_agents(model), bot, env) as daemon:
            bot.send_user_message(123, "slow")
            bot.send_user_message(123, "next")
            await model.asked("slow")
            await bot.confirmed()
            daemon.signal(signal.SIGTERM)
            assert await daemon.ended() == 0
        assert bot.list_texts(123) == []
        async with running_daemon(tmp_path, None, bot):
            assert await bot.reply_in(123) == "work-model: slow"
            assert await bot.reply_in(123) == "work-model: next"
    assert len(bot.list_texts(123)) == 2


async def test_sigterm_waits_for_the_step_in_hand(tmp_path: Path) -> None:
    """The drain time is there to be used: the answer that comes in it is sent, then exit 0."""
    async with held_daemon(tmp_path) as (bot, model, daemon):
        gate = model.hold("nearly done")
        bot.send_user_message(123, "nearly done")
        await model.asked("nearly done")
        daemon.signal(signal.SIGTERM)
        await daemon.logged("draining", agent_id="work")
        gate.set()
        assert await daemon.ended() == 0
        assert bot.list_texts(123) == ["work-model: nearly done"]


async def test_second_daemon_on_a_home_is_turned_away(tmp_path: Path) -> None:
    """Exit 75 with the reason; the first one does not notice."""
    async with held_daemon(tmp_path) as (bot, _, _):
        code, said = await run_to_its_end(tmp_path, bot=bot)
        assert (code, "another daemon runs on" in said) == (75, True)
        bot.send_user_message(123, "alive?")
        assert await bot.reply_in(123) == "work-model: alive?"
