"""Two daemons on one journal in PostgreSQL: one works, and the other goes on when that one ends."""

import shutil
import signal
from functools import partial
from pathlib import Path

import psycopg
import pytest
from anyio import to_thread
from fakes.control_server import command
from fakes.daemon import run_to_its_end, running_daemon
from fakes.held_model import two_agents
from fakes.postgresql import database_of, needs_server
from fakes.shared_journal import pair, working

from orchestrator.errors import ExitCode
from orchestrator.journal import migrations

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.process, needs_server]


async def test_killed_daemon_is_followed_and_its_turn_is_answered_once(tmp_path: Path) -> None:
    """Within the server's notice of the death, and without what the first one has said."""
    async with pair(tmp_path) as (bot, model, first, second):
        bot.send_user_message(123, "one")
        assert await bot.reply_in(123) == "work-model: one"
        held = model.hold("two")
        bot.send_user_message(123, "two")
        await model.asked("two")
        await first.kill()
        held.set()
        await second.logged("ready")
        assert await bot.reply_in(123) == "work-model: two"
        bot.send_user_message(123, "three")
        assert await bot.reply_in(123) == "work-model: three"
        assert bot.list_texts(123) == [f"work-model: {word}" for word in ("one", "two", "three")]


async def test_frozen_daemon_is_followed_and_stands_by_when_it_wakes(tmp_path: Path) -> None:
    """The server ends the session of a daemon that gives no sign of life; it cannot write again."""
    async with pair(tmp_path) as (bot, _, first, second):
        bot.send_user_message(123, "one")
        assert await bot.reply_in(123) == "work-model: one"
        first.signal(signal.SIGSTOP)
        await second.logged("ready")
        bot.send_user_message(123, "two")
        assert await bot.reply_in(123) == "work-model: two"
        first.signal(signal.SIGCONT)
        await first.logged("standing_by")
        await second.kill()
        await first.logged("ready", 2)
        bot.send_user_message(123, "three")
        assert await bot.reply_in(123) == "work-model: three"
        assert bot.list_texts(123) == [f"work-model: {word}" for word in ("one", "two", "three")]


async def test_daemon_that_stands_by_is_shown_and_stopped(tmp_path: Path) -> None:
    """By the status of the one that works, and by the command for its own home."""
    async with pair(tmp_path) as (_, _, first, second):
        report = await first.status()
        assert [node.works for node in report.nodes] == [True, False]
        assert report.starts == 1
        second.killed = True  # it is stopped here
        stop = partial(command, tmp_path / "two", "stop")
        assert (await to_thread.run_sync(stop)).exit_code == 0
        assert await second.ended() == -signal.SIGTERM
        await first.until(lambda report: [node.works for node in report.nodes] == [True])


async def test_stopped_daemon_hands_over_and_may_come_back(tmp_path: Path) -> None:
    """As for an upgrade of one machine after the other."""
    async with pair(tmp_path) as (bot, _, first, second):
        first.killed = True  # it is stopped here
        first.signal(signal.SIGTERM)
        assert await first.ended() == ExitCode.OK
        await second.logged("ready")
        bot.send_user_message(123, "hello")
        assert await bot.reply_in(123) == "work-model: hello"


async def test_newer_version_takes_over_and_the_older_one_may_not_come_back(
    tmp_path: Path,
) -> None:
    """The one that stood by changes the schema when it takes the journal, and not before."""
    newer = {"ORCHESTRATOR_STORE": database_of(tmp_path), "PYTHONPATH": str(_newer(tmp_path))}
    home = tmp_path / "two"
    home.mkdir()
    async with (
        working(tmp_path) as (bot, model, first),
        running_daemon(
            home, two_agents(model), bot, newer, executed=True, awaits="standing_by"
        ) as second,
    ):
        bot.send_user_message(123, "one")
        assert await bot.reply_in(123) == "work-model: one"
        first.killed = True  # it is stopped here
        first.signal(signal.SIGTERM)
        assert await first.ended() == ExitCode.OK
        await second.logged("ready")
        bot.send_user_message(123, "two")
        assert await bot.reply_in(123) == "work-model: two"
        older = {"ORCHESTRATOR_STORE": database_of(tmp_path)}
        code, told = await run_to_its_end(tmp_path / "one", older, bot)
        assert code == ExitCode.IO
        assert "this version reads schemas up to" in told


def _newer(folder: Path) -> Path:
    """The program with one more change of the schema."""
    for name in ("orchestrator", "thinker", "prompts", "skills"):
        shutil.copytree(ROOT / name, folder / "newer" / name)
    journal = folder / "newer" / "orchestrator" / "journal"
    number = migrations.load_schema().number + 1
    change = "ALTER TABLE turn ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';"
    (journal / "migrations" / f"{number:04}_mood.sql").write_text(change)
    return folder / "newer"


async def test_lost_session_costs_no_message(tmp_path: Path) -> None:
    """The server ends all sessions again and again, as a restart of it does."""
    async with working(tmp_path) as (bot, _, _):
        for number in range(8):
            bot.send_user_message(123, f"m{number}")
            with psycopg.connect(database_of(tmp_path), autocommit=True) as session:
                session.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            assert await bot.reply_in(123) == f"work-model: m{number}"
        assert bot.list_texts(123) == [f"work-model: m{number}" for number in range(8)]
