"""The embeddings model of this machine through a daemon: what was said is found by its meaning."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import anyio
import httpx
import pytest
from fakes.bot_api import FakeBotApi
from fakes.calling_model import CallingModel, one_agent
from fakes.daemon import TOKEN, running_daemon
from fakes.embedding_engine import needs_engine
from fakes.journal import reading_in
from fakes.time_limit import time_limit

from orchestrator.extensions.local_model.llama_server import ADDRESS
from orchestrator.testing.loopback import find_free_port
from thinker.protocol.providers import PROVIDERS
from thinker.protocol.vectors import compute_cosines, pack_vector

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
            await loaded(PROVIDERS["local-embeddings"].base_url)
            for number, text in enumerate(SAID, 1):
                bot.send_user_message(123, text)
                await bot.reply_in(123)
                await daemon.logged("messages_embedded", times=number)
            assert _count_vectors(tmp_path) == 2 * len(SAID)
            bot.send_user_message(123, '!search_conversations {"query": "Wo wohne ich?"}')
            found = await bot.reply_in(123)
    assert SAID[0] in found


@asynccontextmanager
async def real_server() -> AsyncIterator[httpx.AsyncClient]:
    """A client of the server's own process, once that answers."""
    port = find_free_port()
    address = f"http://{ADDRESS}:{port}/v1"
    module = "orchestrator.extensions.local_model.embedding_server"
    command = [sys.executable, "-P", "-m", module, str(port)]
    process = await anyio.open_process(command, stdout=DEVNULL, stderr=DEVNULL)
    try:
        await loaded(address)
        async with httpx.AsyncClient(base_url=address) as client:
            yield client
    finally:
        with anyio.CancelScope(shield=True):
            process.kill()
            await process.wait()
            await process.aclose()


async def test_real_engine_finds_a_paraphrase_in_another_language() -> None:
    """In its jail; what has nothing to do with the question is unrelated."""
    texts = [
        "query: Wo wohnt Anna?",
        "passage: Anna has moved to a flat in Lyon",
        "The invoice is due on Friday",
        "",
    ]
    async with real_server() as client:
        answer = await client.post("/embeddings", json={"input": texts}, timeout=60)
        data: list[dict[str, Any]] = answer.json()["data"]
    question, *others = (pack_vector(item["embedding"]) for item in data)
    near = compute_cosines(question, enumerate(others))
    assert near[0] > 0.3 > near[1]
    assert max(near.values()) == near[0]


async def loaded(address: str) -> None:
    """Wait until the server has loaded its model."""
    async with httpx.AsyncClient(timeout=30) as client:
        with time_limit():
            while True:
                with suppress(httpx.ConnectError):
                    await client.get(f"{address}/models")  # is answered once the model is there
                    return


def _count_vectors(home: Path) -> int:
    with reading_in(home) as db:
        return int(db.execute("SELECT count(*) FROM message_vector").get)
