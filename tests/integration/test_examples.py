"""The examples in config/examples do what they say, with the demo model."""

import shutil
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.control_server import command
from fakes.daemon import TOKEN, running_daemon
from fakes.journal import reading_in

from orchestrator.home_paths import find_bundled_path
from orchestrator.journal.turns import handoffs

pytestmark = pytest.mark.process
CHAT = 123


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a copy of the example, as the manual has people make it."""
    return Path(
        shutil.copytree(find_bundled_path("config") / "examples" / "front-desk", tmp_path / "desk")
    )


def test_example_has_nothing_wrong(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither its agents nor its prompts; and no warning, once there is a bot."""
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", TOKEN)
    for words in (("check",), ("prompt", "check")):
        shown = command(home, *words)
        assert shown.exit_code == 0, shown.stdout
        assert "warning" not in shown.stdout


async def test_newcomer_has_the_chat_handed_over_and_work_done(home: Path) -> None:
    """In the words that the manual gives, without any key."""
    text = (home / "agents.json").read_text("utf-8")
    opened = text.replace(
        '"variables"', '"channels": {"telegram": {"access": "open"}}, "variables"'
    )
    (home / "agents.json").write_text(opened.replace('"auto"', '"demo"'), "utf-8")
    async with FakeBotApi(TOKEN) as bot, running_daemon(home, None, bot) as daemon:
        bot.send_user_message(CHAT, "ask researcher: what time is it?")
        assert "The tool answered: It is " in await bot.reply_in(CHAT)
        bot.send_user_message(CHAT, "ask billing: is my bill paid?")
        assert "You said: is my bill paid?" in await bot.reply_in(CHAT)
        await daemon.until(lambda report: report.open_turns == 0)
        with reading_in(home) as db:
            (handed,) = handoffs.list_handoffs(db)
        assert (handed.routed_id, handed.agent_id) == ("front-desk", "billing")
