"""Sound and pictures through the whole daemon: heard, answered by voice, drawn and sent."""

from pathlib import Path
from typing import Any

import pytest
from fakes.bot_api import FakeBotApi, Fault
from fakes.calling_model import CallingModel, one_agent
from fakes.daemon import TOKEN, running_daemon
from fakes.journal import reading_in
from fakes.model_api import Reply
from fakes.openai_api import PNG, MediaApi, recording, said

from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="channels")]

KEY = "sk-of-voices"
ENV = {"OPENAI_API_KEY": KEY}
VOICE = {"file_id": "v", "duration": 2, "mime_type": "audio/ogg"}


def place(api: MediaApi, model: str, **fields: Any) -> JsonObject:
    """A model of the fake."""
    return {"model": model, "provider": "openai", "baseUrl": f"{api.url}/v1", **fields}


async def test_voice_message_is_read_like_a_written_one(tmp_path: Path) -> None:
    """Its words are the person's own, with the caption; other recordings are files to read."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model, MediaApi() as api:
        bot.files |= {"v": recording("tea please"), "a": recording("Once upon a time")}
        config = one_agent(model, {}, voice={"hear": place(api, "ears")})
        async with running_daemon(tmp_path, config, bot, ENV) as daemon:
            bot.send_user_message(1, None, voice=VOICE, caption="listen:")
            assert (await bot.reply_in(1)).startswith("work-model: listen:\ntea please\n\n[file-")
            audio = {"file_id": "a", "file_name": "tale.ogg"}
            bot.send_user_message(1, None, audio=audio, caption="what is it?")
            await bot.reply_in(1)
            bot.send_user_message(1, '!search_conversations {"query": "tea please"}')
            assert "tea please" in await bot.reply_in(1)
            assert KEY not in str(daemon.log)
        said, tale = (request.body["messages"][-1]["content"] for request in model.requests[:2])
        request = api.asked("audio/transcriptions")[0]
    assert said.endswith(
        f"voice.ogg, audio/ogg, {len(bot.files['v'])} bytes; the text above is what it says]"
    )
    assert "Once upon a time" in tale
    assert "Once upon a time" not in tale.partition("[file-")[0]
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body["file"] == ("recording.ogg", bot.files["v"])
    with reading_in(tmp_path) as db:
        sql = "SELECT model, state, prompt, completion FROM model_call WHERE purpose = 'voice'"
        assert db.execute(sql).fetchall() == [("openai/ears", "settled", 14, 45)] * 2


async def test_recording_that_was_not_heard_can_be_read_later(tmp_path: Path) -> None:
    """The model is told why in a sentence; the message is answered all the same."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model, MediaApi() as api:
        bot.files["v"] = recording("tea please")
        api.script.append(Reply("bad audio", status=400))
        config = one_agent(model, {}, voice={"hear": place(api, "ears")})
        async with running_daemon(tmp_path, config, bot, ENV):
            bot.send_user_message(1, None, voice=VOICE)
            told = await bot.reply_in(1)
            handle = told.partition("[")[2].partition(":")[0]
            assert told.endswith("it could not be transcribed: openai refused the request (400)]")
            bot.send_user_message(1, f'!read_attachment {{"file": "{handle}"}}')
            assert "tea please" in await bot.reply_in(1)


async def test_voice_message_is_answered_by_voice(tmp_path: Path) -> None:
    """The text comes first, its speech behind it; a written message is answered in writing."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model, MediaApi() as api:
        bot.files["v"] = recording("tea please")
        voice = {"hear": place(api, "ears"), "speak": place(api, "mouth", voice="alloy")}
        async with running_daemon(tmp_path, one_agent(model, {}, voice=voice), bot, ENV) as daemon:
            bot.send_user_message(1, None, voice=VOICE)
            assert (await bot.reply_in(1)).startswith("work-model: tea please")
            assert await bot.reply_in(1) == "[voice answer.ogg]"
            bot.send_user_message(1, "and now?")
            assert await bot.reply_in(1) == "work-model: and now?"
            bot.break_next("sendVoice", Fault(400, "Bad Request: VOICE_MESSAGES_FORBIDDEN"))
            bot.send_user_message(1, None, voice=VOICE)
            await bot.reply_in(1)
            assert await bot.reply_in(1) == "[document answer.ogg]"
            api.script.append(Reply("no credit", status=402))
            bot.send_user_message(1, None, voice=VOICE)
            await bot.reply_in(1)
            told = await bot.reply_in(1)
            always = {**voice, "speak": {**voice["speak"], "when": "always"}}
            daemon.write(one_agent(model, {}, voice=always))
            await daemon.logged("config_applied")
            bot.send_user_message(1, "aloud, please")
            await bot.reply_in(1)
            assert await bot.reply_in(1) == "[voice answer.ogg]"
        spoken = [said(content) for _, _, _, content in bot.sent_files]
    assert told.startswith("I could not speak this answer: openai has no credit left")
    assert spoken[0].startswith("work-model: tea please")
    assert spoken[2] == "work-model: aloud, please"
    assert api.asked("audio/speech")[0].body["voice"] == "alloy"


async def test_picture_is_drawn_and_sent(tmp_path: Path) -> None:
    """Also where a server only links to it: the broker fetches it."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model, MediaApi() as api:
        api.links = api.url
        config = one_agent(model, {}, images=place(api, "brush"))
        async with running_daemon(tmp_path, config, bot, ENV):
            bot.send_user_message(1, '!draw_picture {"prompt": "a cat", "shape": "tall"}')
            told = await bot.reply_in(1)
            handle = told.partition("[")[2].partition(":")[0]
            bot.send_user_message(1, f'!send_file {{"file": "{handle}", "caption": "Here it is"}}')
            assert await bot.reply_in(1) == "[photo a cat.png] Here it is"
            await bot.reply_in(1)
            api.script.append(Reply("a policy of the provider", status=400))
            bot.send_user_message(1, '!draw_picture {"prompt": "a bomb"}')
            refused = await bot.reply_in(1)
        assert bot.sent_files == [(1, "photo", "a cat.png", PNG + b"a cat 0")]
        request = api.asked("images/generations")[0]
    assert "send_file shows it to the user" in told
    assert (request.body["size"], request.headers["authorization"]) == (
        "1024x1536",
        f"Bearer {KEY}",
    )
    assert "no picture was drawn: openai refused the request (400)" in refused
    with reading_in(tmp_path) as db:
        sql = "SELECT model, state, usd FROM model_call WHERE purpose = 'pictures'"
        assert db.execute(sql).fetchall() == [("openai/brush", "settled", None)]
