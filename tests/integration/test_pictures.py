"""Pictures from Telegram and tools reach a model that sees them, through the whole daemon."""

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from fakes.bot_api import FakeBotApi, Fault
from fakes.calling_model import CallingModel, one_agent
from fakes.daemon import TOKEN, running_daemon
from fakes.fences import inside
from fakes.held_model import HeldModel, agent
from fakes.mcp_config import entry
from fakes.model_api import Reply

from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="channels")]

PNG = b"\x89PNG\r\n\x1a\n-telegram"
TOOL_PNG = b"\x89PNG\r\n\x1a\n"  # of fakes/mcp_server.py
LATER = 3  # messages of a conversation whose pictures are shown in these tests


def photo(file_id: str) -> list[dict[str, Any]]:
    """The sizes of a picture in a Telegram message."""
    return [{"file_id": file_id, "width": 20, "height": 10, "file_size": 17}]


def url(data: bytes) -> str:
    """A picture as it stands in a request."""
    return f"data:image/png;base64,{b64encode(data).decode()}"


def config(model: HeldModel, **fields: Any) -> JsonObject:
    """One agent that sees, and a stranger's chat that is not admitted."""
    limits = {"recentImageThreshold": LATER}
    return {
        "agents": [agent("work", model, vision=True, limits=limits, **fields)],
        "bindings": [{"channel": "telegram", "chatId": "123", "agentId": "work"}],
    }


async def test_photo_is_shown_then_described(tmp_path: Path) -> None:
    """With its caption as the text; nothing is fetched for a chat that is not admitted."""
    async with FakeBotApi(TOKEN) as bot, HeldModel(lambda _: Reply("seen")) as model:
        bot.files["cat"] = PNG
        async with running_daemon(tmp_path, config(model), bot):
            bot.send_user_message(999, None, photo=photo("secret"), caption="psst")
            bot.send_user_message(123, None, photo=photo("cat"), caption="my cat")
            assert await bot.reply_in(123) == "seen"
            bot.send_user_message(123, "and now?")
            await bot.reply_in(123)
        async with running_daemon(tmp_path, config(model), bot):
            bot.send_user_message(123, "later")
            await bot.reply_in(123)
        first, second, third = (request.body["messages"][1] for request in model.requests)
    picture = [
        {"type": "text", "text": "my cat"},
        {"type": "image_url", "image_url": {"url": url(PNG)}},
    ]
    assert first["content"] == second["content"] == picture
    assert third["content"] == "my cat\n[image: photo, 20x10]"
    asked = [item.params["file_id"] for item in bot.ledger if item.method == "getFile"]
    assert asked == ["cat"]


async def test_album_gets_one_answer(tmp_path: Path) -> None:
    """Four updates of a private chat, and of a group whose caption names the bot."""
    bound: JsonObject = {
        "bindings": [
            {"channel": "telegram", "chatId": chat, "agentId": "work"} for chat in ("123", "-9")
        ]
    }
    mention = {"type": "mention", "offset": 0, "length": 9}
    data = {name: PNG + name.encode() for name in "abcd"}
    async with FakeBotApi(TOKEN) as bot, HeldModel(lambda _: Reply("seen")) as model:
        bot.files |= data
        async with running_daemon(tmp_path, config(model) | bound, bot):
            for chat, caption in ((123, "my cats"), (-9, "@test_bot my cats")):
                for name in data:
                    said = {"caption": caption, "caption_entities": [mention]}
                    fields = {"photo": photo(name), "media_group_id": f"album {chat}"}
                    bot.send_user_message(chat, None, **fields, **(said if name == "a" else {}))
            for chat in (123, -9):
                assert await bot.reply_in(chat) == "seen"
        assert [len(bot.list_texts(chat)) for chat in (123, -9)] == [1, 1]
    text = {"type": "text", "text": "my cats"}
    shown = [{"type": "image_url", "image_url": {"url": url(data[name])}} for name in data]
    asked = [request.body["messages"][1]["content"] for request in model.requests]
    assert asked == [[text, *shown]] * 2


async def test_photo_that_cannot_be_fetched_is_said_to_be(tmp_path: Path) -> None:
    """A passing fault is tried again; the message is answered in any case."""
    async with FakeBotApi(TOKEN) as bot, HeldModel(lambda _: Reply("seen")) as model:
        bot.files["cat"] = PNG
        bot.break_next("getFile", Fault(500))
        async with running_daemon(tmp_path, config(model), bot):
            for name in ("cat", "gone"):
                bot.send_user_message(123, None, photo=photo(name))
                assert await bot.reply_in(123) == "seen"
        last = model.requests[-1].body["messages"]
    assert last[1]["content"] == [{"type": "image_url", "image_url": {"url": url(PNG)}}]
    assert last[-1]["content"] == "[image: photo, 20x10, could not be fetched]"


async def test_picture_of_a_tool_is_shown_after_its_result(tmp_path: Path) -> None:
    """And is there again in the next turn."""
    servers: JsonObject = {"art": entry(tmp_path, "art")}
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        setup = one_agent(model, servers, vision=True)
        async with running_daemon(tmp_path, setup, bot) as daemon:
            await daemon.until(lambda report: report.tool_servers[0].state == "connected")
            bot.send_user_message(1, "!art_picture {}")
            await bot.reply_in(1)
            bot.send_user_message(1, "what was it?")
            await bot.reply_in(1)
        sent = model.requests_about("what was it?")[0].body["messages"]
    results = [i for i, message in enumerate(sent) if message["role"] == "tool"]
    assert inside(sent[results[0]]["content"]).startswith("here:\n[file-")
    shown = sent[results[0] + 1]
    assert shown["role"] == "user"
    assert shown["content"][1] == {"type": "image_url", "image_url": {"url": url(TOOL_PNG)}}
