"""SIGTERM with twenty turns open, and with none: nothing is lost (F16).

``STOP_ROUNDS=20`` repeats it as often as a release wants it.
"""

import os
import signal
from functools import partial
from pathlib import Path

import anyio
import pytest
from anyio import to_thread
from fakes.bot_api import FakeBotApi
from fakes.calling_model import CallingModel, one_agent
from fakes.control_server import command
from fakes.daemon import TOKEN, RunningDaemon, running_daemon

from orchestrator.errors import ExitCode
from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="chats")]

DEMO: JsonObject = {"agents": [{"agentId": "work", "llmProvider": "demo"}]}
ROUNDS = int(os.environ.get("STOP_ROUNDS", "2"))
OPEN, QUEUED = 20, 10
DRAIN = 1.0  # seconds
CHATS = range(500, 500 + OPEN)


async def test_sigterm_with_twenty_open_turns_loses_none(tmp_path: Path) -> None:
    """Each is answered once by the next daemon, and so are the ten that waited behind them."""
    env = {"ORCHESTRATOR_DRAIN_SECONDS": str(DRAIN)}
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        config = one_agent(model, {}, limits={"maxConcurrentTurns": OPEN})
        for number in range(ROUNDS):
            async with running_daemon(tmp_path, config, bot, env) as daemon:
                gates = await _open_turns(bot, model, daemon, number)
                daemon.signal(signal.SIGTERM)
                assert await daemon.ended() == 0
            for gate in gates:
                gate.set()
            async with running_daemon(tmp_path, None, bot):
                for chat in CHATS:
                    first = await bot.reply_in(chat)
                    assert first == f"work-model: {number} open {chat}"
                for chat in CHATS[:QUEUED]:
                    second = await bot.reply_in(chat)
                    assert second == f"work-model: {number} queued {chat}"
        assert sum(len(bot.list_texts(chat)) for chat in CHATS) == (OPEN + QUEUED) * ROUNDS


async def test_second_signal_ends_at_once_without_a_traceback(tmp_path: Path) -> None:
    """The turn stays open: the next daemon answers it."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        gate = model.hold("slow")
        async with running_daemon(tmp_path, one_agent(model, {}), bot) as daemon:
            bot.send_user_message(500, "slow")
            await model.asked("slow")
            daemon.signal(signal.SIGINT)
            await daemon.logged("stopping")
            daemon.signal(signal.SIGINT)
            assert await daemon.ended() == -signal.SIGINT
            assert not daemon.noise
            daemon.killed = True
        gate.set()
        async with running_daemon(tmp_path, None, bot):
            assert await bot.reply_in(500) == "work-model: slow"


async def _open_turns(
    bot: FakeBotApi, model: CallingModel, daemon: RunningDaemon, number: int
) -> list[anyio.Event]:
    """Twenty turns whose model does not answer yet, and ten messages behind them."""
    gates = [model.hold(f"{number} open {chat}") for chat in CHATS]
    for chat in CHATS:
        bot.send_user_message(chat, f"{number} open {chat}")
    for chat in CHATS[:QUEUED]:
        bot.send_user_message(chat, f"{number} queued {chat}")
    for chat in CHATS:
        await model.asked(f"{number} open {chat}")
    await bot.confirmed()
    assert (await daemon.status()).open_turns == OPEN
    return gates


async def test_daemon_is_stopped_in_order_and_awaited(tmp_path: Path) -> None:
    """Afterwards there is none to stop, which has an exit code of its own."""
    async with running_daemon(tmp_path, DEMO) as daemon:
        done = await to_thread.run_sync(partial(command, tmp_path, "stop"))
        assert (done.exit_code, done.stdout) == (0, f"stopped the daemon on {tmp_path}\n")
        assert await daemon.ended() == 0
    again = command(tmp_path, "stop")
    assert again.exit_code == ExitCode.NOT_RUNNING
    assert "no daemon runs" in again.stderr
