"""What the model server receives as system prompt is seed 002's text, byte for byte."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, running_daemon
from fakes.held_model import HeldModel, held_daemon, system, two_agents
from fakes.model_api import Reply
from fakes.seed_prompt import ZONE, minutes, shown, write_skill

pytestmark = pytest.mark.process

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
            bot.user_says(123, "remember that I go by rail")
            await bot.reply_in(123)
            before = datetime.now(UTC)
            bot.user_says(123, "Is there a TRAIN to Berlin?")
            await bot.reply_in(123)
            after = datetime.now(UTC)
            sent = system(await model.asked("Is there a TRAIN to Berlin?"))
    assert sent in {LAYERS.format(base=BASE, now=shown(at)) for at in minutes(before, after)}


async def test_skill_added_while_running_is_matched_at_the_next_message(tmp_path: Path) -> None:
    """No restart, and no message in between, is needed; a mended one is live as well."""
    async with held_daemon(tmp_path) as (bot, model, daemon):
        bot.user_says(123, "a flight please")
        await bot.reply_in(123)
        pid = await daemon.pid("work")
        write_skill(tmp_path, "travel", TRAVEL)
        bot.user_says(123, "a flight now")
        await bot.reply_in(123)
        write_skill(tmp_path, "travel", TRAVEL.replace("<two>", "three"))
        bot.user_says(123, "a flight then")
        await bot.reply_in(123)
        assert "Playbook" not in system(await model.asked("a flight please"))
        assert "### Playbook: travel\n1. Ask for" in system(await model.asked("a flight now"))
        assert "2. Compare three offers." in system(await model.asked("a flight then"))
        assert await daemon.pid("work") == pid
