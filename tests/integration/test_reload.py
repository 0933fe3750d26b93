"""agents.json is edited while people talk: nothing is lost, and only what changed restarts."""

import json
import os
from itertools import cycle
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, run_to_its_end, running_daemon, write_config
from fakes.held_model import HeldModel, agent, held_daemon, system, two_agents
from pydantic import JsonValue

from orchestrator.control import protocol
from orchestrator.control.protocol import ReloadReport
from thinker.protocol.messages import JsonObject

pytestmark = pytest.mark.process


def with_third(model: HeldModel, **work: object) -> JsonObject:
    """The two agents, and one more for chat 789."""
    config = two_agents(model, **work)
    bindings: list[JsonValue] = [
        {"channel": "telegram", "chatId": "789", "agentId": "new"},
        {"channel": "telegram", "chatId": "123", "agentId": "work"},
        {"channel": "telegram", "chatId": "*", "agentId": "home"},
    ]
    agents: list[JsonValue] = [
        agent("work", model, **work),
        agent("home", model),
        agent("new", model),
    ]
    return config | {"agents": agents, "bindings": bindings}


async def test_edit_during_a_turn_loses_nothing_and_spares_the_unchanged(tmp_path: Path) -> None:
    """Changed agents go at a step boundary, added ones answer, the others keep their process."""
    async with held_daemon(tmp_path) as (bot, model, daemon):
        gates = [model.hold("long"), model.hold("other")]
        bot.send_user_message(123, "long")
        bot.send_user_message(456, "other")
        await model.asked("long")
        await model.asked("other")
        bot.send_user_message(123, "queued")
        work, home = await daemon.pid("work"), await daemon.pid("home")
        daemon.write(with_third(model, systemPrompt="You are work, changed."))
        await daemon.logged("config_applied")
        bot.send_user_message(789, "hello new one")
        assert await bot.reply_in(789) == "new-model: hello new one"
        for gate in gates:
            gate.set()
        assert await bot.reply_in(456) == "home-model: other"
        assert await bot.reply_in(123) == "work-model: long"
        assert await bot.reply_in(123) == "work-model: queued"
        assert system(await model.asked("long")).startswith("You are work.\n\n")
        assert system(await model.asked("queued")).startswith("You are work, changed.\n\n")
        assert await daemon.pid("home") == home
        assert await daemon.pid("work") != work
        assert len(model.requests_about("long")) == 1


async def test_file_is_watched_however_it_is_edited(tmp_path: Path) -> None:
    """In place, by another file of that name, after it was gone, and behind a symbolic link."""
    file, target = tmp_path / "agents.json", tmp_path / "elsewhere.json"
    async with held_daemon(tmp_path) as (_, model, daemon):
        texts = (json.dumps(make(model)) for make in cycle((with_third, two_agents)))
        file.write_text(next(texts), "utf-8")
        await daemon.logged("config_applied", 1)
        for times in (2, 3):
            daemon.write(json.loads(next(texts)))
            await daemon.logged("config_applied", times)
        file.unlink()
        await daemon.logged("config_problem")
        file.write_text(next(texts), "utf-8")
        await daemon.logged("config_applied", 4)
        target.write_text(next(texts), "utf-8")
        (tmp_path / "link").symlink_to(target)
        (tmp_path / "link").replace(file)
        await daemon.logged("config_applied", 5)
        target.write_text(next(texts), "utf-8")
        await daemon.logged("config_applied", 6)


async def test_removed_agent_finishes_and_its_chat_goes_where_it_is_bound_now(
    tmp_path: Path,
) -> None:
    """The turn in hand ends as it began; the next message has another agent."""
    async with held_daemon(tmp_path) as (bot, model, daemon):
        gate = model.hold("long")
        bot.send_user_message(123, "long")
        await model.asked("long")
        bot.send_user_message(123, "queued")
        rest = two_agents(model) | {
            "agents": [agent("home", model)],
            "bindings": [{"channel": "telegram", "chatId": "*", "agentId": "home"}],
        }
        daemon.write(rest)
        await daemon.logged("config_applied")
        gate.set()
        assert await bot.reply_in(123) == "work-model: long"
        assert await bot.reply_in(123) == "home-model: queued"
        await daemon.logged("worker_ended", agent_id="work", kind="clean")
        assert [item.agent_id for item in (await daemon.status()).agents] == ["home"]


async def test_broken_edit_is_refused_with_its_line_and_the_old_one_goes_on(
    tmp_path: Path,
) -> None:
    """Status names file and line; a mended file is taken without a restart."""
    async with held_daemon(tmp_path) as (bot, model, daemon):
        text = json.dumps(two_agents(model), indent=1)
        broken = text.replace('"channels"', 'oops "channels"')
        daemon.write(broken)
        report = await daemon.until(lambda report: bool(report.config_errors))
        (problem,) = report.config_errors
        line = broken[: broken.index("oops")].count("\n") + 1
        assert (Path(problem.file).name, problem.line) == ("agents.json", line)
        bot.send_user_message(123, "still there?")
        assert await bot.reply_in(123) == "work-model: still there?"
        daemon.write(with_third(model))
        await daemon.until(lambda report: not report.config_errors and len(report.agents) == 3)


EDITS: dict[str, JsonObject] = {
    "agents": {"agents": "all of them"},
    "../etc/passwd": {"agents": [{"agentId": "../etc/passwd", "model": "m"}]},
    "second time": {
        "agents": [{"agentId": "work", "model": "m"}, {"agentId": "work", "model": "n"}]
    },
    "nobody": {"bindings": [{"channel": "telegram", "chatId": "*", "agentId": "nobody"}]},
    "temperature": {"agents": [{"agentId": "work", "model": "m", "temperature": "warm"}]},
    "agentz": {"agentz": []},
}


async def test_every_kind_of_bad_edit_is_refused_by_name(tmp_path: Path) -> None:
    """Wrong types, unknown names, paths as ids: each is named, none changes what runs."""
    async with held_daemon(tmp_path) as (bot, model, daemon):
        for words, edit in EDITS.items():
            daemon.write(two_agents(model) | edit)
            answer = await daemon.ask(protocol.RELOAD, None, ReloadReport)
            assert not answer.applied
            errors = [item for item in answer.problems if item.severity == "error"]
            assert any(words in str(item) and item.line >= 1 for item in errors), (words, errors)
        bot.send_user_message(123, "still you?")
        assert await bot.reply_in(123) == "work-model: still you?"


async def test_file_broken_at_boot_is_replaced_by_the_last_good_one(tmp_path: Path) -> None:
    """The daemon starts as it last ran and says so; without a copy it exits 78 with the line."""
    write_config(tmp_path, '{"agents": [\n {"agentId": }]}')
    code, said = await run_to_its_end(tmp_path)
    assert (code, "agents.json:2" in said) == (78, True)
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        async with running_daemon(tmp_path, two_agents(model), bot):
            pass
        async with running_daemon(tmp_path, '{"agents": [', bot) as daemon:
            bot.send_user_message(123, "hi")
            assert await bot.reply_in(123) == "work-model: hi"
            report = await daemon.status()
            assert any("last good copy" in hint for hint in report.hints)
            assert report.config_errors != ()
            answer = await daemon.ask(protocol.RELOAD, None, ReloadReport)
            assert not answer.applied


@pytest.mark.parametrize(
    "env",
    [
        {"TELEGRAM_BOT_TOKEN": "no token"},
        {"TELEGRAM_API_URL": "not an address"},
        {"ORCHESTRATOR_CONFIG": "/nowhere/agents.json"},
        {"ORCHESTRATOR_LOG_LEVEL": "loud"},
        {"ORCHESTRATOR_HOME": "/proc/nobody/writes/here"},
    ],
    ids=lambda env: next(iter(env)),
)
async def test_setting_that_cannot_be_used_is_exit_78(tmp_path: Path, env: dict[str, str]) -> None:
    """The message names the variable; there is no traceback."""
    code, said = await run_to_its_end(tmp_path, env)
    assert code == 78
    assert next(iter(env.values())) in said or next(iter(env)) in said
    assert "Traceback" not in said


async def test_pipe_in_the_place_of_the_file_freezes_nothing(tmp_path: Path) -> None:
    """A start says so and ends with 78; a running daemon answers, and still stops on a signal."""
    os.mkfifo(tmp_path / "agents.json")
    code, said = await run_to_its_end(tmp_path)
    assert (code, "a named pipe" in said) == (78, True)
    async with held_daemon(tmp_path) as (bot, _, daemon):
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "pipe").replace(tmp_path / "agents.json")
        await daemon.logged("config_refused")
        bot.send_user_message(123, "hi")
        assert await bot.reply_in(123) == "work-model: hi"
        report = await daemon.status()
        assert "a named pipe" in report.config_errors[0].message
