"""The journal has a digest of every request that a provider received, in a real daemon."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from fakes.anthropic_api import AnthropicApi
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, running_daemon
from fakes.held_model import HeldModel, agent, said
from fakes.journal import reading_in
from fakes.model_api import ModelApi, Reply

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import prompt_records
from thinker.protocol.call_timing import CallAttempt, CallTiming
from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="prompts")]
FACT = {"fact": "Likes tea.", "category": "preference"}
REFUSED = "'temperature' is not supported with this model"


def answer(body: dict[str, Any]) -> Reply:
    """Refuse a temperature, fail where the fallback shall answer, call a tool, or echo."""
    if body["model"] == "odd-model" and "temperature" in body:
        return Reply(REFUSED, status=400, kind="invalid_request_error")
    if body["model"] == "gone-model":
        return Reply("it was withdrawn", status=404)
    last = body["messages"][-1]
    if said(body) == "remember" and last["role"] == "user":
        return Reply("One moment.", tool_calls=(("store_fact", FACT), ("get_time", {})))
    return Reply(f"{body['model']}: {said(body)}")


def config(model: HeldModel, claude: ModelApi) -> JsonObject:
    """One agent of each kind, by chat."""
    fields: dict[str, JsonObject] = {
        "plain": {},
        "odd": {},
        "gone": {"fallbackModels": ["spare-model"]},
        "text": {"toolCalls": "text"},
        "claude": {"llmProvider": "anthropic", "baseUrl": claude.url},
    }
    return {
        "agents": [agent(name, model, temperature=0.4, **own) for name, own in fields.items()],
        "bindings": [
            {"channel": "telegram", "chatId": str(number), "agentId": name}
            for number, name in enumerate(fields, 1)
        ],
        "channels": {"telegram": {"access": "open"}},
    }


def attempts_in(db: Database) -> list[CallAttempt]:
    """All requests to providers that the journal knows of."""
    timings = db.execute("SELECT timing FROM step WHERE timing IS NOT NULL ORDER BY t_plan, seq")
    calls = [CallTiming.model_validate_json(timing) for (timing,) in timings]
    return [attempt for call in calls for attempt in call.attempts]


async def test_every_request_is_recorded_by_the_digest_of_its_bytes(tmp_path: Path) -> None:
    """Over the broker: also of attempts that failed, with a field left out, of each provider."""
    async with FakeBotApi(TOKEN) as bot, HeldModel(answer) as model, AnthropicApi() as claude:
        async with running_daemon(tmp_path, config(model, claude), bot) as daemon:
            model.script.append(Reply("busy", status=500))
            for chat in range(1, 6):
                for text in ("hello", "remember"):
                    bot.send_user_message(chat, text)
                    await bot.reply_in(chat)
            await daemon.until(lambda report: report.open_turns == 0)
        with reading_in(tmp_path) as db:
            attempts = attempts_in(db)
            rows = [*db.execute("SELECT turn_id, at, agent_id FROM turn_prompt")]
            settings = {
                agent_id: prompt_records.load_prompt_sources(db, turn_id, at).settings
                for turn_id, at, agent_id in rows
            }
        received = [*model.requests, *claude.requests]
    digests = [hashlib.sha256(one.content).hexdigest()[:32] for one in received]
    assert sorted(attempt.digest for attempt in attempts) == sorted(digests)
    left_out = [attempt.left_out for attempt in attempts if attempt.model == "openai/odd-model"]
    assert left_out[0] == ()
    assert {*left_out[1:]} == {("temperature",)}
    assert {*settings} == {"plain", "odd", "gone", "text", "claude"}
    own = settings["text"]
    assert own is not None
    assert (own["tool_calls"], own["provenance"]) == ("text", "on")
    assert model.url not in str(settings)
