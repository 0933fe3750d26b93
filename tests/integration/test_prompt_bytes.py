"""What the model server receives as system prompt is seed 002's text, byte for byte."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, running_daemon
from fakes.held_model import HeldModel, held_daemon, system, two_agents
from fakes.model_api import Reply
from fakes.seed_prompt import ZONE, minutes, shown, write_skill

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="prompts")]

BASE = "You are work.\n\nBe <brief> & exact.  \n"
TRAVEL = """\
---
name: travel
description: Plans journeys.
metadata:
  keywords: [train, flight]
  priority: 5
---
1. Ask for the date.
2. Compare <two> offers.
"""
CELLAR = """\
---
name: cellar
description: Wine & cheese, <old> ones.
---
Look on the lowest shelf.
"""
LAYERS = """\
{base}

## Workflow Guidance
Follow these steps when relevant:

### Playbook: travel
1. Ask for the date.
2. Compare <two> offers.

<available_skills>
  <skill>
    <name>cellar</name>
    <description>Wine &amp; cheese, &lt;old&gt; ones.</description>
  </skill>
</available_skills>

## Current Date & Time
{now}

## Current Chat
chat_id: 123

Relevant memories about the user:
- The user travels by train only. (preference)"""


async def test_system_prompt_is_base_and_layers_in_order(tmp_path: Path) -> None:
    """Playbook, listed skill, time in the agent's zone, chat and memory; nothing between them."""
    write_skill(tmp_path, "travel", TRAVEL)
    write_skill(tmp_path, "cellar", CELLAR)
    fact = {"fact": "The user travels by train only.", "category": "preference"}
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, systemPrompt=BASE, timezone=ZONE, skills=["travel", "cellar"])
        async with running_daemon(tmp_path, config, bot):
            model.script.append(Reply(tool_calls=(("store_fact", fact),)))
            bot.send_user_message(123, "remember that I go by rail")
            await bot.reply_in(123)
            before = datetime.now(UTC)
            bot.send_user_message(123, "Is there a TRAIN to Berlin?")
            await bot.reply_in(123)
            after = datetime.now(UTC)
            sent = system(await model.asked("Is there a TRAIN to Berlin?"))
    assert sent in {LAYERS.format(base=BASE, now=shown(at)) for at in minutes(before, after)}


async def test_skill_added_while_running_is_matched_at_the_next_message(tmp_path: Path) -> None:
    """No restart, and no message in between, is needed; a mended one is live as well."""
    async with held_daemon(tmp_path) as (bot, model, daemon):
        bot.send_user_message(123, "a flight please")
        await bot.reply_in(123)
        pid = await daemon.pid("work")
        write_skill(tmp_path, "travel", TRAVEL)
        bot.send_user_message(123, "a flight now")
        await bot.reply_in(123)
        write_skill(tmp_path, "travel", TRAVEL.replace("<two>", "three"))
        bot.send_user_message(123, "a flight then")
        await bot.reply_in(123)
        assert "Playbook" not in system(await model.asked("a flight please"))
        assert "### Playbook: travel\n1. Ask for" in system(await model.asked("a flight now"))
        assert "2. Compare three offers." in system(await model.asked("a flight then"))
        assert await daemon.pid("work") == pid


async def test_default_prompt_of_the_home_is_live(tmp_path: Path) -> None:
    """Added, edited and removed while the daemon runs; its final line break is not sent."""
    own = tmp_path / "prompts" / "default-system-prompt.md"
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, systemPrompt="", skills=[])
        async with running_daemon(tmp_path, config, bot) as daemon:
            for number, text in enumerate(("Be mine.\n", "Be mine, too.\n", None), 1):
                if text is None:
                    own.unlink()
                else:
                    own.write_text(text, "utf-8")
                await daemon.logged("config_applied", number)
                bot.send_user_message(123, f"hello {number}")
                await bot.reply_in(123)
                sent = system(await model.asked(f"hello {number}"))
                expected = "You are a personal assistant in a chat." if text is None else text
                assert sent.startswith(expected.strip())
                assert "\n\n\n" not in sent
                assert text is None or sent.startswith(f"{text}\n## Current Date & Time\n")


async def test_default_prompt_and_personas_may_be_elsewhere(tmp_path: Path) -> None:
    """Both are read by jailed workers; an edit is in the next prompt."""
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    persona = elsewhere / "work" / "instructions.md"
    persona.parent.mkdir(parents=True)
    (elsewhere / "default.md").write_text("Be anyone.", "utf-8")
    named = {
        "THINKER_DEFAULT_SYSTEM_PROMPT_PATH": str(elsewhere / "default.md"),
        "THINKER_PERSONA_DIR": str(elsewhere),
    }
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, systemPrompt="", skills=[])
        async with running_daemon(home, config, bot, named) as daemon:
            (elsewhere / "default.md").write_text(" ", "utf-8")
            told = await daemon.until(lambda report: bool(report.config_errors))
            assert "default.md" in told.config_errors[0].file
            (elsewhere / "default.md").write_text("Be anyone.", "utf-8")
            await daemon.until(lambda report: not report.config_errors)
            for text in ("Be anyone.", "Be yourself.", "Be yourself, truly."):
                if text != "Be anyone.":
                    persona.write_text(text, "utf-8")
                bot.send_user_message(123, f"said {text}")
                await bot.reply_in(123)
                sent = system(await model.asked(f"said {text}"))
                assert sent.startswith(f"{text}\n\n## Current")
