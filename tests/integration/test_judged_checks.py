"""A model is asked what the checks of saved turns ask it, and what it says decides nothing."""

from pathlib import Path
from typing import Any

import pytest
from fakes.bot_api import FakeBotApi
from fakes.control_server import ask
from fakes.daemon import TOKEN, RunningDaemon, running_daemon
from fakes.held_model import HeldModel, agent, said
from fakes.journal import reading_in
from fakes.model_api import Reply
from fakes.openai_api import OpenAIApi

from orchestrator.control import trials
from orchestrator.control.trials import CheckVerdict, TrialNumber, TrialReport
from orchestrator.extensions.workbench.set_runs import SetReport
from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="prompts")]
KEYS = {"OPENAI_API_KEY": "sk-one", "ACME_API_KEY": "sk-two"}
POLITE, RUDE, VAGUE, NEW, GONE = CHECKS = (
    'judged by judge-model: "Is it polite?"',
    'judged by openai/judge-model: "It is rude."',
    'judged by judge-model: "It is vague."',
    'judged by acme/judge: "Is it long?"',
    'judged by judge-gone: "Is it there?"',
)
SAYS = {"polite": "Yes.", "rude": "NO", "vague": "Perhaps"}
YES, NO = "yes, in the model's opinion", "no, in the model's opinion"


def answer(body: dict[str, Any]) -> Reply:
    """One model answers, another one judges the answer."""
    text = said(body)
    if not str(body["model"]).startswith("judge"):
        return Reply(f"You said {text}.")
    if body["model"] == "judge-gone":
        return Reply("no such model", status=404)
    return Reply(next((word for key, word in SAYS.items() if key in text), "yes"))


def config(model: HeldModel, url: str) -> JsonObject:
    """One agent, and a provider that it does not use."""
    return {
        "agents": [agent("work", model)],
        "bindings": [{"channel": "telegram", "chatId": "*", "agentId": "work"}],
        "channels": {"telegram": {"access": "open"}},
        "prices": {"*/*": {"input": 2.0, "output": 8.0}},
        "providers": {"acme": {"baseUrl": f"{url}/v1", "keyVariable": "ACME_API_KEY"}},
    }


async def judged(daemon: RunningDaemon, *more: str) -> tuple[int, SetReport, dict[str, str]]:
    """The exit code and the report of the set, and its opinions by their checks."""
    done = await ask(daemon.home, "prompt", "test", "--set", "daily", "--json", *more)
    report = SetReport.model_validate_json(done.stdout)
    (found,) = report.outcomes
    return done.exit_code, report, {one.check: one.text for one in found.verdicts}


async def stored(daemon: RunningDaemon, report: SetReport) -> tuple[CheckVerdict, ...]:
    """The verdicts of a trial as it is shown later."""
    (number,) = report.trials
    trial = await daemon.ask(trials.TRIAL_SHOW, TrialNumber(id=number), TrialReport)
    return trial.turns[0].checks


async def test_model_judges_answers_and_decides_nothing(tmp_path: Path) -> None:
    """A new provider is asked if it is named; else its line says why, and stays open."""
    async with (
        FakeBotApi(TOKEN) as bot,
        HeldModel(answer) as model,
        OpenAIApi(answer) as acme,
        running_daemon(tmp_path, config(model, acme.url), bot, KEYS) as daemon,
    ):
        bot.send_user_message(100, "hello")
        await bot.reply_in(100)
        await daemon.until(lambda report: report.open_turns == 0)
        with reading_in(daemon.home) as db:
            turn = str(db.execute("SELECT id FROM turn").get)
        checks = [part for line in ("same calls", *CHECKS) for part in ("--check", line)]
        kept = await ask(daemon.home, "sets", "add", "daily", turn, *checks)
        assert kept.stdout == "kept in the set daily, with 6 checks\n", kept.stderr
        code, report, opinions = await judged(daemon)
        unasked = len(acme.requests)
        shown = await stored(daemon, report)
        _, _, confirmed = await judged(daemon, "--confirm", "acme")
        _, _, poor = await judged(daemon, "--limit", f"{report.usd / 2}")
        cases = str(tmp_path / "cases")
        assert (await ask(daemon.home, "sets", "export", "daily", cases)).exit_code == 0
        elsewhere = await ask(daemon.home, "prompt", "test", "--cases", cases)
    assert (code, report.is_green, report.problem) == (0, True, "")
    assert (opinions[POLITE], opinions[RUDE]) == (YES, NO)
    assert opinions[VAGUE] == "undecided; the model said: PERHAPS"
    assert "1 messages of 1 people would be sent to acme" in opinions[NEW]
    assert [one.met for one in shown] == [True, True, False, None, None, None]
    assert {one.check: one.text for one in shown} == opinions
    assert "no opinion: openai/judge-gone did not answer: " in opinions[GONE]
    assert unasked == 0
    assert confirmed[NEW] == YES
    assert len(acme.requests) == 1
    asked = next(one.body for one in model.requests if one.body["model"] == "judge-model")
    assert "tools" not in asked
    assert said(asked).endswith('Answer:\nYou said hello.\n\nStatement:\n"Is it polite?"')
    assert all("the trial's limit" in poor[line] for line in (POLITE, RUDE, VAGUE))
    assert f"    {RUDE}: {NO}\n" in elsewhere.stdout
