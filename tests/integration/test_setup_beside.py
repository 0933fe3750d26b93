"""`orchestrator setup` beside a running daemon."""

from pathlib import Path

import pytest
from anyio import to_thread
from fakes.bot_api import CONFLICT, FakeBotApi
from fakes.daemon import running_daemon
from fakes.time_limit import time_limit
from fakes.two_bots import TwoBots
from typer.testing import CliRunner, Result

from orchestrator.cli import app
from orchestrator.errors import ExitCode

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="operations")]
TOKEN, OTHER_TOKEN = f"123456:{'c' * 35}", f"654321:{'d' * 35}"


async def setup(home: Path, *arguments: str, **environ: str) -> Result:
    """Run the command in a thread, without a terminal."""
    env = {"ORCHESTRATOR_HOME": str(home), "ORCHESTRATOR_CONFIG": None, **environ}
    with time_limit():
        return await to_thread.run_sync(
            lambda: CliRunner().invoke(app, ["setup", *arguments], env=env)
        )


async def test_running_daemon_takes_over_what_is_set_up_beside_it(tmp_path: Path) -> None:
    """As its banner advises; first a model and a bot, then a second bot, without a restart."""
    second = FakeBotApi(OTHER_TOKEN, "work_bot")
    async with TwoBots(TOKEN, second) as bot:
        env = {"TELEGRAM_API_URL": bot.url}
        async with running_daemon(tmp_path, None, env=env) as daemon:
            given = (
                "--provider",
                "demo",
                "--allow",
                "42",
                "--yes",
                "--telegram-token-from",
                "MINE",
            )
            done = await setup(tmp_path, *given, **env, MINE=TOKEN)
            assert done.exit_code == 0, done.output
            assert "The running daemon has taken over the files." in done.output
            assert "assistant: You said: Hello!" in done.output
            assert "restart" not in done.output
            bot.send_user_message(42, "hello")
            assert "hello" in await bot.reply_in(42)
            more = (*given[:-1], "TELEGRAM_BOT_TOKEN_WORK", "--agent", "work")
            second.break_next("getUpdates", *[CONFLICT] * 3)
            done = await setup(tmp_path, *more, **env, TELEGRAM_BOT_TOKEN_WORK=OTHER_TOKEN)
            assert done.exit_code == 0, done.output
            assert f"wrote TELEGRAM_BOT_TOKEN_WORK to {tmp_path}/keys.env" in done.output
            assert "channel telegram@work: another program asks for the messages" in done.output
            states = {one.name: one.state for one in (await daemon.status()).channels}
            assert states["telegram"] == "ok"


async def test_daemon_with_another_file_is_told_with_what_to_do(tmp_path: Path) -> None:
    """It would not see what is set up."""
    other = tmp_path / "other.json"
    other.write_text('{"agents": [{"agentId": "a", "llmProvider": "demo"}]}')
    env = {"ORCHESTRATOR_CONFIG": str(other)}
    async with running_daemon(tmp_path, None, env=env):
        done = await setup(tmp_path, "--provider", "demo", "--yes")
    assert done.exit_code == ExitCode.FAILED
    assert f"The running daemon uses {other}, not {tmp_path}/agents.json" in done.output
    assert "orchestrator stop" in done.output
