"""An agent whose local model reads little: what is too long is shortened, and nothing sticks."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, running_daemon
from fakes.held_model import HeldModel, agent
from fakes.model_api import Reply

from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="chats")]

TAKES = 16_000  # characters of a request
BOOK = "It was a dark and stormy night. " * 3000


def refuse_long(body: dict[str, Any]) -> Reply:
    """Answer what is short, and refuse the rest in words that are in no table."""
    if len(orjson.dumps(body)) > TAKES:
        return Reply("nein, das passt nicht", status=400, kind="zu_viel")
    return Reply("yes")


@pytest.mark.parametrize("tells", [True, False])
async def test_a_book_is_answered_and_the_next_message_too(tmp_path: Path, tells: bool) -> None:  # noqa: FBT001 - pytest passes parameters by name
    """The server's window is asked for through the broker, or learnt from a refusal."""
    async with FakeBotApi(TOKEN) as bot, HeldModel(refuse_long) as model:
        if tells:
            path = "/props?model=work-model&autoload=false"
            model.pages[path] = {"default_generation_settings": {"n_ctx": 4096}}
        config: JsonObject = {
            "agents": [agent("work", model)],
            "bindings": [{"channel": "telegram", "chatId": "*", "agentId": "work"}],
            "channels": {"telegram": {"access": "open"}},
        }
        async with running_daemon(tmp_path, config, bot) as daemon:
            for text in (BOOK[:90_000], "Say yes.", "And again."):
                bot.send_user_message(123, text)
                assert await bot.reply_in(123) == "yes"
            refused = [one for one in model.requests if len(one.content) > TAKES]
            assert bool(refused) != tells
            assert len(refused) <= 3
            report = await daemon.status()
            (work,) = (one for one in report.agents if one.agent_id == "work")
            assert work.window == ("4,096 (its server: llama.cpp)" if tells else "4,096 (assumed)")
