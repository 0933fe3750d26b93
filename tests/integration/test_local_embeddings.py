"""The embeddings model of this machine through a daemon: what was said is found by its meaning."""

from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from fakes.bot_api import FakeBotApi
from fakes.calling_model import CallingModel, one_agent
from fakes.daemon import TOKEN, running_daemon
from fakes.embedding_engine import needs_engine
from fakes.journal import reading_in
from fakes.time_limit import time_limit

from thinker.protocol.providers import PROVIDERS

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="local_model"), needs_engine]

MODEL = {"provider": "local-embeddings", "model": "multilingual-e5-small", "messages": True}
SAID = (
    "I moved to a flat in Lyon last spring",
    "The invoice of the plumber is due on Friday",
    "Rex dug up the whole garden again",
)


async def test_message_is_found_by_its_meaning_in_another_language(tmp_path: Path) -> None:
    """By the server that the daemon runs in a jail; each message is embedded once."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        env = {"ORCHESTRATOR_LOG_LEVEL": "debug"}
        config = one_agent(model, {}, embeddings=MODEL)
        async with running_daemon(tmp_path, config, bot, env) as daemon:
            await daemon.logged("local_model_started", model="local-embeddings")
            await loaded()
            for number, text in enumerate(SAID, 1):
                bot.send_user_message(123, text)
                await bot.reply_in(123)
                await daemon.logged("messages_embedded", times=number)
            assert _count_vectors(tmp_path) == 2 * len(SAID)
            bot.send_user_message(123, '!search_conversations {"query": "Wo wohne ich?"}')
            found = await bot.reply_in(123)
    assert SAID[0] in found


async def loaded() -> None:
    """Wait until the server has loaded its model."""
    url = f"{PROVIDERS['local-embeddings'].base_url}/models"
    async with httpx.AsyncClient(timeout=30) as client:
        with time_limit():
            while True:
                with suppress(httpx.ConnectError):
                    await client.get(url)  # is answered once the model is there
                    return


def _count_vectors(home: Path) -> int:
    with reading_in(home) as db:
        return int(db.execute("SELECT count(*) FROM message_vector").get)
