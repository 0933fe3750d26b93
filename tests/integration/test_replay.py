"""Turns that a daemon ran are run again by it, without effects."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from fakes.bot_api import FakeBotApi
from fakes.control_server import ask
from fakes.daemon import TOKEN, RunningDaemon, running_daemon
from fakes.held_model import HeldModel, held_daemon, two_agents
from fakes.journal import read_contents
from fakes.model_api import Reply
from fakes.seed_prompt import write_skill

from orchestrator.control import trials
from orchestrator.control.trials import (
    TrialChange,
    TrialContinuation,
    TrialEstimate,
    TrialNumber,
    TrialReport,
    TrialRequest,
)
from orchestrator.extensions.workbench.trial_rows import DAEMON_STOPPED
from orchestrator.extensions.workbench.trial_runs import STOPPED
from orchestrator.journal.opening import open_for_reading

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="prompts")]

FACT = {"fact": "The user travels by train only.", "category": "preference"}
UNCHANGED = TrialChange()
OTHER = {"fact": "The user flies.", "category": "preference"}
TRAVEL = """\
---
name: travel
description: Plans journeys.
metadata:
  keywords: [rail, flight]
---
1. Ask for the date.
"""
# What a trial may write to.
OWN = {"trial", "trial_turn", "model_call", "audit", "transition"}


def turn_ids(daemon: RunningDaemon) -> tuple[str, ...]:
    """All turns, oldest first."""
    with open_for_reading(daemon.settings.journal) as db:
        return tuple(str(one) for (one,) in db.execute("SELECT id FROM turn ORDER BY rowid"))


async def closed(daemon: RunningDaemon, count: int) -> tuple[str, ...]:
    """So many turns, once nothing more is written about them."""
    await daemon.logged("turn_replied", count)
    open_rows = "SELECT count(*) FROM outbox WHERE state <> 'delivered'"
    while True:
        with open_for_reading(daemon.settings.journal) as db:
            waiting = db.execute(open_rows).get
            waiting += db.execute("SELECT count(*) FROM turn WHERE state <> 'closed'").get
        if not waiting:
            return turn_ids(daemon)
        await daemon.status()


def untouched_tables(daemon: RunningDaemon) -> dict[str, list[object]]:
    """The contents of all tables that a trial must not change."""
    with open_for_reading(daemon.settings.journal) as db:
        contents = read_contents(db)
    del contents["meta"]  # the last sign of life
    return {name: rows for name, rows in contents.items() if name not in OWN}


async def ended(daemon: RunningDaemon, report: TrialReport) -> TrialReport:
    """A trial, waited for."""
    while report.state == "running":
        report = await daemon.ask(trials.TRIAL_SHOW, TrialNumber(id=report.id), TrialReport)
    return report


async def tried(
    daemon: RunningDaemon, turns: tuple[str, ...], change: TrialChange = UNCHANGED
) -> TrialReport:
    """A trial of these turns, waited for."""
    request = TrialRequest(turns=turns, change=change, limit_tokens=100_000)
    return await ended(daemon, await daemon.ask(trials.TRIAL_START, request, TrialReport))


async def test_replayed_turns_have_their_bytes_and_no_effects(tmp_path: Path) -> None:
    """Calls are answered from the record; no row of turns, memory or messages changes."""
    write_skill(tmp_path, "travel", TRAVEL)
    async with held_daemon(tmp_path) as (bot, model, daemon):
        model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
        bot.send_user_message(123, "remember that I go by rail")
        await bot.reply_in(123)
        bot.send_user_message(123, "what do I travel by?")
        await bot.reply_in(123)
        sent = [request.content for request in model.requests]
        assert len(sent) == 3
        turns = await closed(daemon, 2)
        before = untouched_tables(daemon)
        model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
        report = await tried(daemon, turns[:1])
        assert [turn.fidelity for turn in report.turns] == ["exact"], report
        report = await tried(daemon, turns[1:])
        assert [turn.fidelity for turn in report.turns] == ["exact"], report
        assert [request.content for request in model.requests[3:]] == sent
        assert untouched_tables(daemon) == before


async def test_changed_skill_is_tried_and_other_calls_stop(tmp_path: Path) -> None:
    """The model reads the changed skill; a call that has no record ends the run."""
    write_skill(tmp_path, "travel", TRAVEL)
    async with held_daemon(tmp_path) as (bot, model, daemon):
        model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
        bot.send_user_message(123, "remember that I go by rail")
        await bot.reply_in(123)
        turns = await closed(daemon, 1)
        text = TRAVEL.replace("Ask for the date", "Ask for the class")
        change = TrialChange(files={"skills/travel/SKILL.md": text})
        model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
        report = await tried(daemon, turns, change)
        (turn,) = report.turns
        assert turn.fidelity == "same", turn
        assert turn.alike
        (_, _, first, second) = model.requests
        for request in (first, second):
            assert b"1. Ask for the class." in request.content
            assert b"1. Ask for the date." not in request.content
        model.script.append(Reply(tool_calls=(("store_fact", OTHER),)))
        report = await tried(daemon, turns, change)
        (turn,) = report.turns
        assert turn.fidelity == "stopped", turn
        assert turn.effects == ("store_fact: called with other arguments",)


async def test_killed_daemon_goes_on_with_the_missing_turns(tmp_path: Path) -> None:
    """The turn that had ended is not paid again."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model)
        async with running_daemon(tmp_path, config, bot) as daemon:
            for text in ("one", "two"):
                bot.send_user_message(123, text)
                await bot.reply_in(123)
            turns = await closed(daemon, 2)
            request = TrialRequest(turns=turns, limit_tokens=100_000)
            model.hold("two")
            report = await daemon.ask(trials.TRIAL_START, request, TrialReport)
            number = TrialNumber(id=report.id)
            while report.waiting == 2:
                report = await daemon.ask(trials.TRIAL_SHOW, number, TrialReport)
            await model.asked("two", 2)
            await daemon.kill()
        model.hold("two").set()
        async with running_daemon(tmp_path, None, bot) as daemon:
            report = await daemon.ask(trials.TRIAL_SHOW, number, TrialReport)
            assert (report.state, report.note) == ("stopped", DAEMON_STOPPED)
            go_on = TrialContinuation(id=number.id)
            report = await ended(daemon, await daemon.ask(trials.TRIAL_GO_ON, go_on, TrialReport))
            assert (report.state, report.waiting) == ("done", 0)
            assert [turn.fidelity for turn in report.turns] == ["exact", "exact"], report
    assert len(model.requests_about("one")) == 2
    assert len(model.requests_about("two")) == 3


async def test_every_change_reaches_the_request(tmp_path: Path) -> None:
    """And what is kept or named wrongly is not sent."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model)
        async with running_daemon(tmp_path, config, bot) as daemon:
            model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
            bot.send_user_message(123, "remember that I go by rail")
            await bot.reply_in(123)
            turns = await closed(daemon, 1)
            edited = json.loads(json.dumps(config))
            edited["agents"][0] |= {"systemPrompt": "You are edited.", "temperature": 1.25}

            async def first_request(change: TrialChange) -> dict[str, Any]:
                model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
                before = len(model.requests)
                report = await tried(daemon, turns, change)
                model.script.clear()
                assert [turn.fidelity for turn in report.turns] == ["same"], report
                assert len(model.requests) == before + 2
                return model.requests[before].body

            body = await first_request(TrialChange(temperature=1.5))
            assert body["temperature"] == 1.5
            body = await first_request(TrialChange(model="openai/other-model"))
            assert body["model"] == "other-model"
            body = await first_request(TrialChange(layers={"base": "You are new."}))
            assert body["messages"][0]["content"].startswith("You are new.\n")
            tools = {"add_tools": ("get_profile",), "remove_tools": ("schedule_task",)}
            body = await first_request(TrialChange.model_validate(tools))
            names = {tool["function"]["name"] for tool in body["tools"]}
            assert "get_profile" in names
            assert "schedule_task" not in names
            body = await first_request(TrialChange(files={"agents.json": json.dumps(edited)}))
            assert body["messages"][0]["content"].startswith("You are edited.\n")
            assert body["temperature"] == 1.25
            asked = len(model.requests)
            report = await tried(daemon, turns, TrialChange(from_step=1))
            assert [(turn.fidelity, turn.alike) for turn in report.turns] == [("exact", True)]
            assert len(model.requests) == asked + 1
            report = await tried(daemon, turns, TrialChange(layers={"bass": "text"}))
            assert [turn.fidelity for turn in report.turns] == ["impossible"]
            assert len(model.requests) == asked + 1


async def test_person_or_model_answers_a_call_without_a_record(tmp_path: Path) -> None:
    """The run waits for the person and goes on with the same responses; both are marked."""
    async with held_daemon(tmp_path) as (bot, model, daemon):
        bot.send_user_message(123, "how is the weather?")
        await bot.reply_in(123)
        turns = await closed(daemon, 1)
        model.script.append(Reply(tool_calls=(("get_time", {}),)))
        request = TrialRequest(turns=turns, unrecorded="ask", limit_tokens=100_000)
        report = await ended(daemon, await daemon.ask(trials.TRIAL_START, request, TrialReport))
        assert (report.state, report.waiting) == ("stopped", 1)
        (call,) = report.turns[0].tried.steps[0].calls
        assert call.source == "none"
        asked = len(model.requests)
        go_on = TrialContinuation(id=report.id, typed={call.key: "half past nine"})
        report = await ended(daemon, await daemon.ask(trials.TRIAL_GO_ON, go_on, TrialReport))
        assert (report.state, report.waiting) == ("done", 0)
        (turn,) = report.turns
        assert (turn.fidelity, len(turn.tried.steps)) == ("invented", 2)
        assert turn.tried.steps[0].calls[0].source == "typed"
        assert len(model.requests) == asked + 1
        assert b"half past nine" in model.requests[-1].content
        model.script += [Reply(tool_calls=(("get_time", {}),)), Reply("a quarter to ten")]
        request = TrialRequest(turns=turns, unrecorded="invent", limit_tokens=100_000)
        report = await ended(daemon, await daemon.ask(trials.TRIAL_START, request, TrialReport))
        (turn,) = report.turns
        assert turn.fidelity == "invented", report
        assert turn.tried.steps[0].calls[0].source == "invented"
        assert b"a quarter to ten" in model.requests[-1].content


async def check_estimates(daemon: RunningDaemon, turns: tuple[str, ...]) -> None:
    """Costs are foreseen, and words go to no new provider by accident."""

    async def estimated(model: str | None, **fields: Any) -> TrialEstimate:
        change = TrialChange(model=model)
        request = TrialRequest(turns=turns, change=change, **fields)
        return await daemon.ask(trials.TRIAL_ESTIMATE, request, TrialEstimate)

    own = await estimated(None, times=2)
    assert (own.turns, own.calls, own.tokens, own.new_provider) == (2, 4, 72, "")
    assert "work-model has no known price" in own.problem
    assert (await estimated(None, limit_tokens=100)).problem == ""
    assert "no provider 'nope'" in (await estimated("nope/model")).problem
    new = await estimated("anthropic/claude-sonnet-4-5")
    assert (new.new_provider, new.messages, new.people) == ("anthropic", 2, 1)
    assert "2 messages of 1 people would be sent to anthropic" in new.problem
    assert new.low_usd is not None
    assert new.high_usd is not None
    assert 0 < new.low_usd < new.high_usd
    confirmed = await estimated("anthropic/claude-sonnet-4-5", confirmed="anthropic")
    assert confirmed.problem == ""


async def test_limit_and_the_end_of_the_daemon_stop_a_trial(tmp_path: Path) -> None:
    """No call is made above the limit, and the daemon does not wait for the model."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        async with running_daemon(tmp_path, two_agents(model), bot) as daemon:
            for text in ("one", "two"):
                bot.send_user_message(123, text)
                await bot.reply_in(123)
            turns = await closed(daemon, 2)
            await check_estimates(daemon, turns)
            request = TrialRequest(turns=turns, limit_tokens=20)
            report = await ended(daemon, await daemon.ask(trials.TRIAL_START, request, TrialReport))
            assert report.state == "stopped"
            assert "20 tokens would be passed" in report.note
            assert (len(report.turns), len(model.requests)) == (1, 3)
            model.hold("two")
            request = TrialRequest(turns=turns[1:], limit_tokens=100_000)
            started = await daemon.ask(trials.TRIAL_START, request, TrialReport)
            await model.asked("two", 2)
            asked = TrialNumber(id=started.id, brief=True)
            report = await daemon.ask(trials.TRIAL_STOP, asked, TrialReport)
            assert (report.state, report.note, report.waiting) == ("stopped", STOPPED, 1)
            with open_for_reading(daemon.settings.journal) as db:
                sql = "SELECT count(*) FROM model_call WHERE state = 'reserved'"
                assert db.execute(sql).get == 0
            found = await ask(tmp_path, "trial", "list")
            assert f"{started.id}  " in found.stdout
            assert STOPPED in found.stdout
            number = (await daemon.ask(trials.TRIAL_START, request, TrialReport)).id
            await model.asked("two", 3)
        with open_for_reading(daemon.settings.journal) as db:
            sql = "SELECT state, note FROM trial WHERE id = ?"
            assert db.execute(sql, (number,)).fetchone() == ("stopped", DAEMON_STOPPED)
        found = await ask(tmp_path, "replay", turns[0], "--dry", "--json")
        (one,) = json.loads(found.stdout)["requests"]
        assert one["exact"] is True
        assert one["digest"] == hashlib.sha256(model.requests[0].content).hexdigest()[:32]
        base = tmp_path / "base.txt"
        base.write_text("You are another one.", "utf-8")
        found = await ask(tmp_path, "replay", turns[0], "--dry", "--prompt", str(base))
        assert "layer base" in found.stdout
