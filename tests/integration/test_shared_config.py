"""Two daemons on one journal in PostgreSQL take the configuration that was pushed once."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fakes.control_server import ask
from fakes.held_model import HeldModel, two_agents
from fakes.postgresql import database_of, needs_server
from fakes.shared_journal import pair, working

pytestmark = [pytest.mark.process, needs_server, pytest.mark.thorough(part="postgresql")]


@pytest.fixture(autouse=True)
def _journal_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of a test have the journal of its daemons."""
    env = {"ORCHESTRATOR_STORE": database_of(tmp_path)}
    monkeypatch.setattr("fakes.control_server.store_of", lambda _: env)


def answering(model: HeldModel, name: str) -> dict[str, Any]:
    """A configuration in which this model answers chat 123."""
    config: dict[str, Any] = two_agents(model)
    config["agents"][0]["model"] = name
    return config


async def push(folder: Path, config: dict[str, Any]) -> None:
    """Push a folder with this configuration, and with a prompt."""
    (folder / "prompts").mkdir(parents=True, exist_ok=True)
    (folder / "prompts/note.md").write_text("A note.\n", "utf-8")
    (folder / "agents.json").write_text(json.dumps(config), "utf-8")
    done = await ask(folder, "config", "push")
    assert done.exit_code == 0, (done.stdout, done.stderr)


async def test_push_reaches_the_working_daemon_and_the_one_that_follows(tmp_path: Path) -> None:
    """An edit on the working machine stays and is told; the one after it has what was pushed."""
    old, own = (partial(answering, name=name) for name in ("old", "own"))
    async with pair(tmp_path, old, own) as (bot, model, first, second):
        bot.send_user_message(123, "one")
        assert await bot.reply_in(123) == "old: one"
        await push(tmp_path / "pushed", answering(model, "new"))
        await first.logged("config_applied")
        bot.send_user_message(123, "two")
        assert await bot.reply_in(123) == "new: two"
        first.write(answering(model, "edited"))
        await first.logged("config_applied", times=2)
        hint = "agents.json differs from the pushed version 1; run: orchestrator config push"
        await first.until(lambda status: hint in status.hints)
        await first.kill()
        await second.logged("ready")
        bot.send_user_message(123, "three")
        assert await bot.reply_in(123) == "new: three"
        assert json.loads((tmp_path / "two/agents.json.local-1").read_text("utf-8")) == answering(
            model, "own"
        )
        assert (tmp_path / "two/prompts/note.md").exists()


async def test_version_that_a_machine_cannot_use_leaves_its_last_good_one(tmp_path: Path) -> None:
    """A key is missing there; the status says so, and the next version is applied."""
    async with working(tmp_path, partial(answering, name="old")) as (bot, model, daemon):
        keyed = answering(model, "keyed")
        keyed["agents"][0]["baseUrl"] = "${SERVER_OF_MODELS}"
        pushed = tmp_path / "pushed"
        pushed.mkdir()
        (pushed / "keys.env").write_text(f"SERVER_OF_MODELS={model.url}/v1\n", "utf-8")
        (pushed / "keys.env").chmod(0o600)
        await push(pushed, keyed)
        report = await daemon.until(lambda status: bool(status.config_errors))
        assert "SERVER_OF_MODELS" in str(report.config_errors)
        bot.send_user_message(123, "one")
        assert await bot.reply_in(123) == "old: one"
        await push(pushed, answering(model, "new"))
        await daemon.logged("config_applied")
        bot.send_user_message(123, "two")
        assert await bot.reply_in(123) == "new: two"


async def test_first_push_replaces_the_bundled_configuration(tmp_path: Path) -> None:
    """On a machine that works without an agents.json of its own; a later edit of it is heard."""
    async with working(tmp_path, lambda _: None) as (bot, model, daemon):
        await push(tmp_path / "pushed", answering(model, "new"))
        await daemon.logged("config_applied")
        bot.send_user_message(123, "one")
        assert await bot.reply_in(123) == "new: one"
        daemon.write(answering(model, "edited"))
        await daemon.logged("config_applied", times=2)
        bot.send_user_message(123, "two")
        assert await bot.reply_in(123) == "edited: two"
