"""A model is tried on the turns of a real daemon, and a new provider only if it is named."""

from pathlib import Path
from typing import Any

import pytest
from fakes.bot_api import FakeBotApi
from fakes.control_server import ask
from fakes.daemon import TOKEN, RunningDaemon, running_daemon
from fakes.held_model import HeldModel, agent, said
from fakes.model_api import Reply
from fakes.openai_api import OpenAIApi

from orchestrator.extensions.workbench.switch_report import SwitchReport
from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="prompts")]
FACT = {"fact": "Likes tea.", "category": "preference"}
KEYS = {"OPENAI_API_KEY": "sk-one", "ACME_API_KEY": "sk-two"}
PRICES: JsonObject = {
    "openai/*": {"input": 2.0, "output": 8.0},
    "acme/*": {"input": 1.0, "output": 4.0},
}


def answer(body: dict[str, Any]) -> Reply:
    """The old model stores what it is told to; the new one does not, and needs more tokens."""
    new = body["model"] == "new-model"
    told = said(body).startswith("remember") and body["messages"][-1]["role"] == "user"
    if told and not new:
        return Reply(tool_calls=(("store_fact", FACT),))
    return Reply(f"You said {said(body)}.", prompt_tokens=150 if new else 100)


def config(model: HeldModel, url: str) -> JsonObject:
    """One agent, and a provider that it does not use."""
    return {
        "agents": [agent("work", model)],
        "bindings": [{"channel": "telegram", "chatId": "*", "agentId": "work"}],
        "channels": {"telegram": {"access": "open"}},
        "prices": PRICES,
        "providers": {"acme": {"baseUrl": f"{url}/v1", "keyVariable": "ACME_API_KEY"}},
    }


async def tried(daemon: RunningDaemon, model: str, *more: str) -> tuple[int, str, str]:
    """The exit code and the output of a trial of a model."""
    done = await ask(daemon.home, "try", "--model", model, "--yes", "--json", *more)
    return done.exit_code, done.stdout, done.stderr


async def test_model_is_tried_and_a_new_provider_only_if_it_is_named(tmp_path: Path) -> None:
    """What it leaves out comes first; the week's cost is that of a second real run."""
    async with (
        FakeBotApi(TOKEN) as bot,
        HeldModel(answer) as model,
        OpenAIApi(answer) as acme,
        running_daemon(tmp_path, config(model, acme.url), bot, KEYS) as daemon,
    ):
        for number in range(8):
            text = f"remember {number}" if number % 4 == 0 else f"hello {number}"
            bot.send_user_message(100 + number, text)
            await bot.reply_in(100 + number)
        await daemon.until(lambda report: report.open_turns == 0)
        code, stdout, stderr = await tried(daemon, "new-model")
        assert (code, stderr) == (0, "8 of 8 turns of work\n")
        report = SwitchReport.model_validate_json(stdout)
        refused = [await tried(daemon, "acme/new-model", *more) for more in ((), NAMED_WRONG)]
        asked = len(acme.requests)
        confirmed = await tried(daemon, "acme/new-model", "--confirm", "acme")
    assert (report.runs, report.alike, report.lost, report.gained) == (8, 6, 2, 0)
    assert [one.kind for one in report.differences] == ["effect", "effect"]
    assert [shift.before for shift in report.shifts] == ["store_fact"]
    assert report.week_usd is not None
    assert report.week_usd.low <= 8 * (150 * 2.0 + 7 * 8.0) / 1_000_000 <= report.week_usd.high
    assert [code for code, _, _ in refused] == [1, 1]
    assert all("8 messages of 8 people would be sent to acme" in told for _, _, told in refused)
    assert asked == 0
    assert confirmed[0] == 0
    assert len(acme.requests) == 8
    assert {one.headers["authorization"] for one in acme.requests} == {"Bearer sk-two"}


NAMED_WRONG = ("--confirm", "openai")


def judged(body: dict[str, Any]) -> Reply:
    """One model is loud, one judges and likes that, except for one message, where it says A."""
    text = said(body)
    if body["model"] != "judge-model":
        return Reply(f"{text}, loudly" if body["model"] == "loud-model" else text)
    first = text.partition("Answer B:")[0]
    return Reply("A" if "hello 2" in text or "loudly" in first else "B.")


async def test_judge_is_asked_in_both_orders_and_not_told_which_model_said_what(
    tmp_path: Path,
) -> None:
    """A judge that prefers a place decides nothing."""
    async with (
        FakeBotApi(TOKEN) as bot,
        HeldModel(judged) as model,
        running_daemon(tmp_path, config(model, model.url), bot, KEYS) as daemon,
    ):
        for number in range(3):
            bot.send_user_message(100 + number, f"hello {number}")
            await bot.reply_in(100 + number)
        await daemon.until(lambda report: report.open_turns == 0)
        code, stdout, stderr = await tried(daemon, "loud-model", "--judge", "judge-model")
    assert (code, stderr) == (0, "3 of 3 turns of work\n")
    report = SwitchReport.model_validate_json(stdout)
    assert report.judged == {"better": 2, "undecided": 1}
    asked = [one for one in model.requests if one.body["model"] == "judge-model"]
    assert len(asked) == 6
    assert not any("loud-model" in str(one.body["messages"]) for one in asked)
    assert not any("tools" in one.body for one in asked)
