"""Summaries and facts, through the whole daemon: off the reply's path, across crashes."""

import json
import re
from pathlib import Path

import anyio
import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, running_daemon
from fakes.digesting_model import DigestingModel
from fakes.held_model import said, system, two_agents
from fakes.journal import reading_in
from fakes.memory import own_of

from orchestrator.extensions.memory import fact_reads
from orchestrator.extensions.spending_advice.usage_totals import list_totals
from orchestrator.journal.memory import facts
from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="chats")]

COMPACTION: JsonObject = {"thresholdTokens": 100, "keepTurns": 1}
QUIET: JsonObject = {"idleMinutes": 0.001}
STAMP = re.compile(r"\[m\d+, \w+day \d{4}-\d\d-\d\d \d\d:\d\d\] ")
OFF: JsonObject = {"enabled": False}


async def talk(bot: FakeBotApi, *texts: str) -> None:
    """Each text is said and answered."""
    for text in texts:
        bot.send_user_message(123, text)
        assert await bot.reply_in(123) == f"work-model: {text}"


async def test_long_conversation_is_summarised_with_the_summary_before(tmp_path: Path) -> None:
    """Older turns go, the newest stay; the tokens are counted and belong to no turn."""
    async with FakeBotApi(TOKEN) as bot, DigestingModel() as model:
        config = two_agents(model, compaction=COMPACTION, factExtraction=OFF)
        async with running_daemon(tmp_path, config, bot) as daemon:
            texts = [f"{name}: {'word ' * 20}" for name in ("one", "two", "three", "four", "five")]
            await talk(bot, *(text.strip() for text in texts[:4]))
            await daemon.logged("session_compacted")
            await talk(bot, "and now?")
            sent = await model.asked("and now?")
            assert "## Previous Conversation Context\nSummary 1." in system(sent)
            roles = [message["content"][:5] for message in sent.body["messages"][1:]]
            assert roles == ["four:", "work-", "and n"]
            await talk(bot, *(f"{n}: {'word ' * 20}".strip() for n in range(3)))
            await daemon.logged("session_compacted", times=2)
            again = said((await model.digest(2)).body)
            assert "--- summary so far\nSummary 1.\n---" in again
            assert "User: four:" in again
            assert "User: one:" not in again
    with reading_in(tmp_path) as db:
        calls = db.execute("SELECT state, prompt FROM model_call WHERE turn_id LIKE 'compaction/%'")
        assert list(calls) == [("settled", 11), ("settled", 11)]


async def test_next_message_does_not_wait_for_the_summary(tmp_path: Path) -> None:
    """A kill in the middle loses nothing: the next process asks again, and writes it once."""
    async with FakeBotApi(TOKEN) as bot, DigestingModel() as model:
        config = two_agents(model, compaction=COMPACTION, factExtraction=OFF)
        model.let_go = anyio.Event()
        async with running_daemon(tmp_path, config, bot) as daemon:
            await talk(bot, *(f"{n}: {'word ' * 20}".strip() for n in range(4)))
            await model.digest()
            await talk(bot, "meanwhile")
            sent = await model.asked("meanwhile")
            assert len(sent.body["messages"]) == 1 + 4 * 2 + 1
            await daemon.kill()
        model.let_go.set()
        async with running_daemon(tmp_path, None, bot) as daemon:
            await daemon.logged("session_compacted")
            await talk(bot, "after")
            assert "Summary" in system(await model.asked("after"))
    with reading_in(tmp_path) as db:
        states = db.execute("SELECT state FROM model_call WHERE turn_id LIKE 'compaction/%'")
        assert [state for (state,) in states] == ["lost", "settled"]
        assert list_totals(db, 0, 2**62)[0].unsettled > 0


async def test_quiet_conversation_is_looked_through_once_across_a_restart(tmp_path: Path) -> None:
    """The time runs on while the daemon is down; the facts show in the next prompt."""
    async with FakeBotApi(TOKEN) as bot, DigestingModel() as model:
        slow = two_agents(model, factExtraction={"idleMinutes": 60})
        async with running_daemon(tmp_path, slow, bot):
            await talk(bot, "I like tea", "really")
        quick = two_agents(model, factExtraction=QUIET)
        async with running_daemon(tmp_path, quick, bot) as daemon:
            await daemon.logged("facts_extracted", new=1)
            asked = said((await model.digest()).body)
            said_then = STAMP.sub("", asked)
            assert "User: I like tea\n\nAssistant: work-model: I like tea\n\nUser: rea" in said_then
            assert len(STAMP.findall(asked)) == 4
            await talk(bot, "tea please")
            assert "- The user likes tea. (preference)" in system(await model.asked("tea please"))
        async with running_daemon(tmp_path, quick, bot):
            await talk(bot, "and then")
    stretches = [said(r.body).count("User: I like tea") for r in model.digested()]
    assert sum(stretches) == 1
    with reading_in(tmp_path) as db:
        kept = fact_reads.list_newest_facts(db, own_of("telegram:123"), None, facts.FOREVER, 9)
        assert len(kept) == 1
        assert kept[0].source.startswith("extraction ")


def answer_move(asked: str) -> str:
    """The facts that a model finds before and after a move."""
    known = re.search(r"^- (\d+): The user lives in Paris\. \(user, home city", asked, re.MULTILINE)
    fact = {"category": "background", "confidence": 1, "subject": "user", "slot": "home city"}
    if known is None:
        return json.dumps({"facts": [fact | {"do": "add", "fact": "The user lives in Paris."}]})
    moved = {"do": f"replace {known[1]}", "fact": "The user lives in Oslo.", "since": "2026-05-03"}
    notes = [{"date": "2026-05-03", "note": "They spoke of the move to Oslo."}]
    return json.dumps({"facts": [fact | moved], "notes": notes})


async def test_changed_fact_takes_the_place_of_the_old_one_in_prompts(tmp_path: Path) -> None:
    """With its date; after /new the agent still knows what was talked about."""
    async with FakeBotApi(TOKEN) as bot, DigestingModel(answer_move) as model:
        config = two_agents(model, factExtraction=QUIET)
        async with running_daemon(tmp_path, config, bot) as daemon:
            await talk(bot, "I live in Paris", "really")
            await daemon.logged("facts_extracted", new=1)
            await talk(bot, "I moved to Oslo on the third of May", "nice")
            await daemon.logged("facts_extracted", new=1, ended=1, notes=1)
            bot.send_user_message(123, "/new")
            await bot.reply_in(123)
            await talk(bot, "Where do I live?")
            prompt = system(await model.asked("Where do I live?"))
    assert "The user lives in Oslo." in prompt
    assert "since May 2026" in prompt
    assert "Paris" not in prompt
    assert "They spoke of the move to Oslo." in prompt


async def test_exhausted_budget_is_not_passed_for_a_summary(tmp_path: Path) -> None:
    """The call is not made; the conversation stays as it is."""
    async with FakeBotApi(TOKEN) as bot, DigestingModel() as model:
        config = two_agents(
            model, compaction=COMPACTION, factExtraction=OFF, budget={"tokensPerHour": 4200}
        )
        async with running_daemon(tmp_path, config, bot) as daemon:
            await talk(bot, *(f"{n}: {'word ' * 20}".strip() for n in range(4)))
            await daemon.logged("session_compacted")
            limited = two_agents(
                model, compaction=COMPACTION, factExtraction=OFF, budget={"tokensPerHour": 900}
            )
            daemon.write(limited)
            await daemon.logged("config_applied")
            await talk(bot, *(f"{n}: {'word ' * 20}".strip() for n in range(4, 8)))
            await daemon.logged("upkeep_not_allowed", work="compaction")
    assert model.summaries == 1
