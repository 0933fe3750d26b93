"""Definitions of every form, used by agents of a real daemon and edited live."""

import json
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, running_daemon
from fakes.held_model import HeldModel, agent, system
from pydantic import JsonValue

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="prompts")]

# Each form includes the next one by name.
PROMPTS: dict[str, JsonValue] = {
    "text": "Rule: be kind.",
    "parts": [{"type": "text", "content": "Parts. "}, {"type": "include", "prompt": "text"}],
    "layers": {"layered": {"identity": {"type": "include", "prompt": "parts"}, "safety": ["Ask."]}},
    "slots": {"slots": {"system": {"type": "include", "prompt": "layers"}, "instruct": "Go."}},
}


def write(folder: Path, name: str, prompt: JsonValue) -> None:
    """A definition in a home, replaced whole as editors do."""
    body = {"toolDescription": name, "model": "inherit", "prompt": prompt}
    fresh = folder / f".{name}.new"
    fresh.write_text(json.dumps(body), "utf-8")
    fresh.replace(folder / f"{name}.json")


async def test_four_agents_use_one_of_each_form_and_an_edit_reaches_all(tmp_path: Path) -> None:
    """A broken edit reaches no turn, and no process is restarted."""
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    for name, prompt in PROMPTS.items():
        write(prompts, name, prompt)
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        bindings: list[JsonValue] = [
            {"channel": "telegram", "chatId": str(chat), "agentId": name}
            for chat, name in enumerate(PROMPTS, 1)
        ]
        config: dict[str, JsonValue] = {
            "agents": [agent(name, model, prompt=name, systemPrompt="") for name in PROMPTS],
            "bindings": bindings,
            "channels": {"telegram": {"access": "open"}},
        }
        async with running_daemon(tmp_path, config, bot) as daemon:
            await everyone_is_told(bot, model, "Rule: be kind.", "first")
            write(prompts, "text", 3)
            await daemon.logged("config_problem")
            await daemon.logged("config_applied", 1)
            await everyone_is_told(bot, model, "Rule: be kind.", "second")
            write(prompts, "text", "Rule: be brief.")
            await daemon.logged("config_applied", 2)
            await everyone_is_told(bot, model, "Rule: be brief.", "third")


async def everyone_is_told(bot: FakeBotApi, model: HeldModel, rule: str, word: str) -> None:
    """A message to each agent is answered with a prompt that holds the rule."""
    for chat, name in enumerate(PROMPTS, 1):
        said = f"{name} {word}"
        bot.send_user_message(chat, said)
        assert await bot.reply_in(chat) == f"{name}-model: {said}"
        assert rule in system(await model.asked(said))
