"""Embeddings through the whole daemon: by meaning when they are there, by words when not."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fakes.bot_api import FakeBotApi
from fakes.calling_model import CallingModel, one_agent
from fakes.daemon import TOKEN, RunningDaemon, running_daemon
from fakes.embeddings_api import EmbeddingsApi
from fakes.held_model import HeldModel, system
from fakes.journal import reading_in
from fakes.mcp_config import entry
from fakes.model_api import PROMPT_TOKENS, Reply

from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="models")]

REX = "User has a dog called Rex"
ANIMAL = "Which animal lives with me?"
KEY = "sk-meaning"


def meaning(api: EmbeddingsApi) -> JsonObject:
    """The ``embeddings`` of an agent."""
    return {"model": "small", "provider": "openai", "baseUrl": f"{api.url}/v1"}


def config(
    model: HeldModel, api: EmbeddingsApi, servers: JsonObject | None = None, **fields: Any
) -> JsonObject:
    """An agent for every chat, which has embeddings."""
    return one_agent(model, servers or {}, embeddings=meaning(api), temperature=0.7, **fields)


async def said(bot: FakeBotApi, text: str) -> str:
    """The answer to a message."""
    bot.send_user_message(123, text)
    return await bot.reply_in(123)


def warnings(daemon: RunningDaemon) -> int:
    """How often it was told that there are no embeddings."""
    return sum(line["event"] == "embeddings_unavailable" for line in daemon.log)


async def test_fact_is_found_by_its_meaning_after_a_restart(tmp_path: Path) -> None:
    """In the prompt and by the tool; it was asked about once; every request is counted."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model, EmbeddingsApi() as api:
        async with running_daemon(tmp_path, config(model, api), bot, {"OPENAI_API_KEY": KEY}) as d:
            await said(bot, f'!store_fact {{"fact": "{REX}"}}')
            await d.logged("facts_embedded", facts=1)
        async with running_daemon(tmp_path, None, bot, {"OPENAI_API_KEY": KEY}) as daemon:
            await said(bot, ANIMAL)
            assert f"- {REX}" in system(await model.asked(ANIMAL))
            found = await said(bot, '!search_memories {"query": "puppy"}')
            assert REX in found
            assert KEY not in str(daemon.log)
        assert Counter(api.texts())[REX] == 1
        assert {request.headers["authorization"] for request in api.requests} == {f"Bearer {KEY}"}
    with reading_in(tmp_path) as db:
        counted = db.execute(
            "SELECT count(*), sum(prompt) FROM model_call"
            " WHERE model = 'openai/small' AND state = 'settled'"
        ).fetchall()
    assert counted == [(len(api.requests), PROMPT_TOKENS * len(api.requests))]


async def test_tool_is_chosen_by_its_meaning_and_the_model_asked_calmly(tmp_path: Path) -> None:
    """A message that nothing is meant by is asked as configured."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model, EmbeddingsApi() as api:
        servers: JsonObject = {"fake": entry(tmp_path, "fake")}
        env = {"OPENAI_API_KEY": KEY, "ORCHESTRATOR_LOG_LEVEL": "debug"}
        many = config(model, api, servers, deniedTools=["find_tools"])  # with it, few are chosen
        async with running_daemon(tmp_path, many, bot, env) as daemon:
            await daemon.until(lambda report: any(server.tools for server in report.tool_servers))
            await said(bot, "how much altogether?")
            await said(bot, "my puppy")
            line = await daemon.logged("tools_selected", temperature=0.3)
        assert line["best_score"] > 0.9
        assert line["reasons"]["fake_add"] == "meaning 1.00"
        assert "fake_add" in model.offered("how much altogether?")
        assert "fake_add" not in model.offered("my puppy")
        asked = [(await model.asked(text)).body for text in ("how much altogether?", "my puppy")]
        assert [body["temperature"] for body in asked] == [0.3, 0.7]
        texts = api.texts()
        assert len([text for text in texts if text.startswith("fake_add: ")]) == 1


@pytest.mark.parametrize(
    "reply",
    [Reply(fault="hang"), Reply("no such model", status=404), Reply(fault="broken_json")],
    ids=["hang", "refused", "broken"],
)
async def test_silent_endpoint_costs_no_answer(tmp_path: Path, reply: Reply) -> None:
    """Facts are found by their words; the operator is told once, the endpoint asked no more."""
    async with (
        FakeBotApi(TOKEN) as bot,
        CallingModel() as model,
        EmbeddingsApi(lambda _: reply) as api,
        running_daemon(tmp_path, config(model, api), bot, {"OPENAI_API_KEY": KEY}) as daemon,
    ):
        await said(bot, f'!store_fact {{"fact": "{REX}"}}')
        assert await said(bot, "Who is Rex?") == "work-model: Who is Rex?"
        assert f"- {REX}" in system(await model.asked("Who is Rex?"))
        await daemon.logged("embeddings_unavailable")
        assert warnings(daemon) == 1
        assert len(api.requests) <= 2  # the first message and the tools; then it is left alone
