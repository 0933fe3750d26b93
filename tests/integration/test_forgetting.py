"""A chat is forgotten by a running daemon: whole or not at all, whatever is killed."""

from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, RunningDaemon, dying, running_daemon
from fakes.held_model import HeldModel, held_daemon, two_agents
from fakes.journal import reading_in

from orchestrator.control.protocol import Ack
from orchestrator.extensions.erasure import erasure
from orchestrator.extensions.erasure.erasure import Subject
from orchestrator.extensions.erasure.erasure_part import FORGET, ErasureTarget
from thinker.protocol.peer import PeerClosedError, RpcError

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="chats")]
CHAT = ErasureTarget(channel="telegram", chat="123")


def kept(home: Path) -> int:
    """How many messages of the chat the journal has."""
    with reading_in(home) as db:
        found = erasure.count_subject_rows(db, Subject(channel="telegram", chat="123"))
    return found.get("message", 0)


async def forgotten(daemon: RunningDaemon) -> None:
    """Ask for it."""
    await daemon.ask(FORGET, CHAT, Ack)


@pytest.mark.parametrize(("place", "left"), [("before", 2), ("after", 0)])
async def test_death_while_a_chat_is_forgotten_leaves_all_or_nothing(
    place: str, left: int, tmp_path: Path
) -> None:
    """At the commit, and just behind it; the next daemon answers the chat either way."""
    crash = dying(f"supervisor@forget:{place}#1", tmp_path)
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model)
        async with running_daemon(tmp_path, config, bot, crash) as daemon:
            bot.send_user_message(123, "remember me")
            await bot.reply_in(123)
            await daemon.until(lambda report: report.open_turns == 0)
            daemon.killed = True
            with pytest.raises(PeerClosedError):
                await forgotten(daemon)
            await daemon.ended()
        assert kept(tmp_path) == left
        async with running_daemon(tmp_path, config, bot) as daemon:
            bot.send_user_message(123, "who am I?")
            assert await bot.reply_in(123) == "work-model: who am I?"
            await daemon.until(lambda report: report.open_turns == 0)
            said = [m["content"] for m in model.requests_about("who am I?")[0].body["messages"]]
            assert ("remember me" in str(said)) is bool(left)
            await forgotten(daemon)
            assert kept(tmp_path) == 0


async def test_agent_that_is_configured_and_chat_that_is_answered_are_refused(
    tmp_path: Path,
) -> None:
    """Each with what to do first."""
    async with held_daemon(tmp_path) as (bot, model, daemon):
        with pytest.raises(RpcError, match="remove it there first"):
            await daemon.ask(FORGET, ErasureTarget(agent="work"), Ack)
        with pytest.raises(RpcError, match="no data of chat telegram:123"):
            await forgotten(daemon)
        go_on = model.hold("take your time")
        bot.send_user_message(123, "take your time")
        await model.asked("take your time")
        with pytest.raises(RpcError, match="is being answered; wait for the answer"):
            await forgotten(daemon)
        go_on.set()
        assert await bot.reply_in(123) == "work-model: take your time"
        await daemon.until(lambda report: report.open_turns == 0)
