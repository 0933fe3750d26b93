"""An agent's gate at the editors of a daemon: bad edits are held up, harmless ones are not."""

import re
from pathlib import Path
from typing import Any

import pytest
from fakes.bot_api import FakeBotApi
from fakes.control_server import ask
from fakes.daemon import TOKEN, RunningDaemon, running_daemon
from fakes.held_model import HeldModel, two_agents
from fakes.journal import reading_in
from fakes.model_api import Reply
from fakes.seed_prompt import write_skill

from orchestrator.control import trials
from orchestrator.control.editing import (
    FILE_READ,
    FILE_SAVE,
    EditReport,
    FileEdit,
    FileText,
    VersionName,
)
from orchestrator.control.trials import SavedTurn, TrialNumber, TrialReport

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="prompts")]

UNTRIED = "agent 'work' has changed since its gate 'daily' was tried"
NAME = "skills/daily-plan/SKILL.md"
HEAD = """\
---
name: daily-plan
description: Plans the day.
metadata:
  keywords: [plan]
---
"""
STEPS = "1. CALL get_time {}.\n2. ANSWER Der Plan ist fertig, und er ist nicht zu lang.\n"
CHECKS = """\
same calls
called: get_time with {}
not called: store_*
calls at most: 1
steps below: 3
says: /plan ist fertig/
does not say: /sorry|leider/
answers in: de
costs below: 0.01
would not ask
"""
BAD = {
    "another call": STEPS + 'CALL store_fact {"fact": "Plans on Mondays.", "category": "habit"}.',
    "no call": STEPS.replace("1. CALL get_time {}.\n", ""),
    "other arguments": STEPS.replace("get_time {}", 'get_time {"timezone": "Asia/Tokyo"}'),
    "the same call twice": STEPS + "CALL get_time {}.",
    "another tool": STEPS.replace("get_time {}", "list_tasks {}"),
    "another language": STEPS.replace(
        "Der Plan ist fertig, und er ist", "The plan is done and it is"
    ),
    "a refusal": STEPS.replace("Der Plan", "Leider: der Plan"),
    "another answer": STEPS.replace("fertig", "da"),
    "no answer": STEPS.replace("ANSWER", "answer as you like:"),
    "another keyword": STEPS,
}
HARMLESS = {
    "more words": STEPS + "Be brief.\n",
    "fewer words": STEPS.replace("1. ", "").replace("2. ", ""),
    "a title": "# Daily plan\n\n" + STEPS,
    "another order": "\n".join(reversed(STEPS.splitlines())),
    "an example": STEPS + "\n> Example: the plan of Monday.\n",
    "a longer answer": STEPS.replace("lang.", "lang. Alles ist in der Liste."),
    "a remark": STEPS + "<!-- looked through in May -->\n",
    "blank lines": STEPS.replace("\n", "\n\n"),
    "another description": STEPS,
    "one more keyword": STEPS,
}


def obey(body: dict[str, Any]) -> Reply:
    """A model that does what the instructions of the skill say, step by step."""
    system = str(body["messages"][0]["content"])
    wanted = re.findall(r"CALL (\w+) (\{.*?\})\.", system)
    turn = body["messages"]
    made = sum(message["role"] == "tool" for message in turn)
    if made < len(wanted):
        name, arguments = wanted[made]
        return Reply(tool_calls=((name, arguments),))
    told = re.search(r"ANSWER (.*)", system)
    return Reply(told[1] if told else "Hm, what do you mean by that?")


def skill(name: str, text: str) -> str:
    """The skill with another text, or with another head."""
    head = HEAD
    if name == "another keyword":
        head = HEAD.replace("[plan]", "[holiday]")
    if name == "one more keyword":
        head = HEAD.replace("[plan]", "[plan, agenda]")
    if name == "another description":
        head = HEAD.replace("Plans the day.", "Makes a plan of the day.")
    return head + text


async def save(daemon: RunningDaemon, text: str, *, anyway: bool = False) -> EditReport:
    """Save the skill as the operator does."""
    present = await daemon.ask(FILE_READ, VersionName(name=NAME), FileText)
    edit = FileEdit(name=NAME, base=present.base, text=text, anyway=anyway)
    return await daemon.ask(FILE_SAVE, edit, EditReport)


async def test_gate_holds_up_ten_bad_edits_and_no_harmless_one(tmp_path: Path) -> None:
    """Saved turns are tried with each text; who insists saves it, which the audit log has."""
    write_skill(tmp_path, "daily-plan", skill("", STEPS))
    gate = {"set": "daily", "atMost": 0.5}
    async with FakeBotApi(TOKEN) as bot, HeldModel(obey) as model:
        config = two_agents(model, gate=gate, skills=["daily-plan"])
        config["prices"] = {"openai/*": {"input": 1, "output": 1}}
        async with running_daemon(tmp_path, config, bot) as daemon:
            bot.send_user_message(123, "plan my day")
            await bot.reply_in(123)
            await daemon.logged("turn_replied")
            with reading_in(tmp_path) as db:
                turn = str(db.execute("SELECT id FROM turn").get)
            saved = SavedTurn(set_name="daily", turn=turn, checks=CHECKS)
            await daemon.ask(trials.SETS_ADD, saved, SavedTurn)
            held = {}
            for name, text in BAD.items():
                report = await save(daemon, skill(name, text))
                assert not report.saved, name
                held[name] = report.objections
            assert all("is not green: 1 red" in one for (one,) in held.values()), held
            shown = await daemon.ask(trials.TRIAL_SHOW, TrialNumber(id=1), TrialReport)
            (run,) = shown.turns
            assert [one.check for one in run.checks] == CHECKS.splitlines()
            assert run.checks[0].met is False
            for name, text in HARMLESS.items():
                report = await save(daemon, skill(name, text))
                assert (report.saved, report.objections) == (True, ()), name
            insisted = await save(daemon, skill("", BAD["no call"]), anyway=True)
            assert insisted.saved
            write_skill(tmp_path, "daily-plan", skill("", STEPS + "Edited on disk.\n"))
            await daemon.until(lambda report: UNTRIED in " ".join(report.hints))
            done = await ask(tmp_path, "prompt", "test", "work")
            assert done.exit_code == 0, done.stdout
            await daemon.until(lambda report: UNTRIED not in " ".join(report.hints))
    with reading_in(tmp_path) as db:
        acts = db.execute("SELECT act, object FROM audit ORDER BY id DESC LIMIT 1").fetchall()
        assert db.execute("SELECT count(*) FROM turn").get == 1
        assert db.execute("SELECT count(*) FROM fact").get == 0
    assert acts == [("saved in spite of a gate", f"{NAME}, agents work")]
