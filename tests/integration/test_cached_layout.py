"""The cached layout through a real daemon: what the model server receives, and what is recorded."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.control_server import command
from fakes.daemon import TOKEN, running_daemon
from fakes.held_model import HeldModel, two_agents
from fakes.model_api import Reply
from fakes.seed_prompt import write_skill

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="prompts")]

CELLAR = "---\nname: cellar\ndescription: Wine.\n---\nLook low.\n"
FACT = {"fact": "User prefers trains.", "category": "preference"}


async def test_requests_begin_with_those_before_until_a_stable_layer_changes(
    tmp_path: Path,
) -> None:
    """Over a tool call and a new memory; a new skill is named as what changed."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, promptLayout="cached")
        async with running_daemon(tmp_path, config, bot) as daemon:
            model.script.extend((Reply(tool_calls=(("store_fact", FACT),)), Reply("kept")))
            bot.send_user_message(123, "remember that I go by rail")
            assert await bot.reply_in(123) == "kept"
            for number, answer in enumerate(("one", "two")):
                model.script.append(Reply(answer))
                bot.send_user_message(123, f"trains {number}")
                assert await bot.reply_in(123) == answer
            write_skill(tmp_path, "cellar", CELLAR)
            model.script.append(Reply("three"))
            bot.send_user_message(123, "and now?")
            assert await bot.reply_in(123) == "three"
            await daemon.logged("prompt_changed", layers=["skills"])
    bodies = [request.body for request in model.requests]
    assert len(bodies) == 5
    for before, after in pairwise(bodies[:4]):
        assert after["tools"] == before["tools"]
        assert after["messages"][: len(before["messages"])] == before["messages"]
    assert not any("prompt_cache_key" in body for body in bodies)  # not OpenAI's own server
    newest = bodies[2]["messages"][-1]["content"]
    assert newest.startswith("<context>\n")
    assert newest.endswith("- User prefers trains. (preference)\n</context>\n\ntrains 0")
    assert bodies[3]["messages"][-1]["content"].count("User prefers trains.") == 0
    assert bodies[3]["messages"][-1]["content"].endswith("trains 1")
    assert "<name>cellar</name>" in bodies[4]["messages"][0]["content"]
    assert bodies[4]["messages"][1:-1] == [
        *bodies[3]["messages"][1:],
        {"role": "assistant", "content": "two"},
    ]
    shown = command(tmp_path, "trace", "4", "--prompt", "--json").stdout
    (record,) = json.loads(shown)
    assert record["prompt"]["changed"] == ["skills"]
    assert record["prompt"]["layout"] == "cached"


async def test_card_stays_in_the_prompt_until_the_next_sitting(tmp_path: Path) -> None:
    """News of the sitting come with the newest message; nothing that was sent before changes."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, promptLayout="cached")

        async def say(text: str, *stored: str) -> None:
            for fact in stored:
                model.script.append(Reply(tool_calls=(("store_fact", {"fact": fact}),)))
            model.script.append(Reply("ok"))
            bot.send_user_message(123, text)
            assert await bot.reply_in(123) == "ok"

        async with running_daemon(tmp_path, config, bot):
            await say("a", "User likes jazz.", "User has a cat.")
            bot.send_user_message(123, "/new")
            await bot.reply_in(123)
            first = len(model.requests)
            for text, *stored in (("b",), ("c", "User moved to Graz."), ("d",), ("e",)):
                await say(text, *stored)
    bodies = [request.body["messages"] for request in model.requests[first:]]
    assert all(after[: len(before)] == before for before, after in pairwise(bodies))
    card = re.compile(
        r"What you know about the user:\n- User has a cat\. \(background\) \(known since .*\)\n"
        r"- User likes jazz\. \(background\) \(known since .*\)\n</context>\n\nb$"
    )
    assert card.search(bodies[0][-1]["content"])
    said = [one["content"] for one in bodies[-1] if one["role"] == "user"]
    assert [text.count("What you know") for text in said] == [1, 0, 0, 0]
    assert ["User moved to Graz" in text for text in said] == [False, False, True, False]
