"""Turns that a daemon ran are run again by it, without effects."""

from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, RunningDaemon, running_daemon
from fakes.held_model import HeldModel, two_agents
from fakes.model_api import Reply

from orchestrator.control import trials
from orchestrator.control.trials import (
    TrialChange,
    TrialNumber,
    TrialReport,
    TrialRequest,
)
from orchestrator.journal.opening import open_for_reading

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="workbench")]

FACT = {"fact": "The user travels by train only.", "category": "preference"}


def turn_ids(daemon: RunningDaemon) -> tuple[str, ...]:
    """All turns, oldest first."""
    with open_for_reading(daemon.settings.journal) as db:
        return tuple(str(one) for (one,) in db.execute("SELECT id FROM turn ORDER BY rowid"))


async def tried(daemon: RunningDaemon, request: TrialRequest) -> TrialReport:
    """A trial, waited for."""
    report = await daemon.ask(trials.TRIAL_START, request, TrialReport)
    while report.state == "running":
        report = await daemon.ask(trials.TRIAL_SHOW, TrialNumber(id=report.id), TrialReport)
    return report


async def test_turns_with_calls_are_replayed_exactly(tmp_path: Path) -> None:
    """Their requests have the same bytes, and the calls are answered from the record."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model)
        async with running_daemon(tmp_path, config, bot) as daemon:
            model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
            bot.send_user_message(123, "remember that I go by rail")
            await bot.reply_in(123)
            bot.send_user_message(123, "what do I travel by?")
            await bot.reply_in(123)
            sent = [request.content for request in model.requests]
            turns = turn_ids(daemon)
            model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
            report = await tried(daemon, TrialRequest(turns=turns[:1], limit_tokens=100_000))
            print(report.model_dump_json(indent=1))
            assert [turn.fidelity for turn in report.turns] == ["exact"]
            assert [r.content for r in model.requests[len(sent) :]] == sent[:2]
