"""A set that goes to a machine without its journal: the same requests, without the people."""

import hashlib
import json
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.control_server import ask
from fakes.daemon import TOKEN, running_daemon
from fakes.held_model import HeldModel, two_agents
from fakes.journal import reading_in
from fakes.model_api import Reply
from fakes.seed_prompt import write_skill

from orchestrator.extensions.workbench.cases import load_cases

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="prompts")]

SKILL = """\
---
name: daily-plan
description: Plans the day.
metadata:
  keywords: [plan]
---
Look at the time first.
"""
PLACES = Reply(tool_calls=(("get_time", {"timezone": "Asia/Tokyo"}),))


async def test_cases_make_the_same_requests_on_a_machine_without_the_journal(
    tmp_path: Path,
) -> None:
    """Byte for byte, as their files say; a changed skill makes others, and a red test."""
    first, second, cases = (tmp_path / name for name in ("first", "second", "cases"))
    first.mkdir()
    write_skill(first, "daily-plan", SKILL)
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, skills=["daily-plan"])
        config["prices"] = {"openai/*": {"input": 1, "output": 1}}
        async with running_daemon(first, config, bot) as daemon:
            model.script += [PLACES, Reply("All is planned.")]
            bot.send_user_message(777_888, "plan my day", name="Zoltan Quist")
            await bot.reply_in(777_888)
            await daemon.logged("turn_replied")
            with reading_in(first) as db:
                turn = str(db.execute("SELECT id FROM turn").get)
            checks = ("--check", "same calls", "--check", "says: /planned/")
            assert (await ask(first, "sets", "add", "daily", turn, *checks)).exit_code == 0
            exported = await ask(first, "sets", "export", "daily", str(cases))
            assert (exported.exit_code, exported.stdout) == (0, f"1 case in {cases}\n")
            with reading_in(first) as db:
                act = "SELECT act FROM audit ORDER BY id DESC LIMIT 1"
                assert db.execute(act).get == "exported a set"
        (case,) = load_cases(cases)
        text = "".join(path.read_text() for path in cases.iterdir())
        assert "Zoltan" not in text
        assert "777888" not in text
        second.mkdir()
        write_skill(second, "daily-plan", SKILL)
        (second / "agents.json").write_text(json.dumps(config))
        model.requests.clear()
        model.script += [PLACES, Reply("All is planned.")]
        report = tmp_path / "junit.xml"
        arguments = ("prompt", "test", "--cases", str(cases))
        green = await ask(second, *arguments, "--junit", str(report))
        assert (green.exit_code, "1 green" in green.stdout) == (0, True), green.stdout
        sent = [hashlib.sha256(one.content).hexdigest()[:32] for one in model.requests]
        assert [row["timing"] for row in case.tables["step"] if row["kind"] == "model"]
        timings = [
            json.loads(str(row["timing"])) for row in case.tables["step"] if row["kind"] == "model"
        ]
        assert sent == [timing["attempts"][-1]["digest"] for timing in timings]
        assert 'failures="0" errors="0"' in report.read_text()
        changed = second / "skills" / "daily-plan" / "SKILL.md"
        changed.write_text(SKILL.replace("Look at the time first.", "Never mind."))
        model.script += [Reply("No.")]
        red = await ask(second, *arguments, "--change", str(changed))
        assert (red.exit_code, "did not call get_time" in red.stdout) == (1, True), red.stdout
    assert not (second / "journal.db").exists()
