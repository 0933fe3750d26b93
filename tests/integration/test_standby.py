"""Two daemons on one journal in PostgreSQL: one works, and the other goes on when that one ends."""

import signal
from functools import partial
from pathlib import Path

import psycopg
import pytest
from anyio import to_thread
from fakes.control_server import command
from fakes.postgresql import database_of, needs_server
from fakes.shared_journal import pair, working

from orchestrator.errors import ExitCode

pytestmark = [pytest.mark.process, needs_server]


async def test_killed_daemon_is_followed_and_its_turn_is_answered_once(tmp_path: Path) -> None:
    """Within the server's notice of the death, and without what the first one has said."""
    async with pair(tmp_path) as (bot, model, first, second):
        bot.user_says(123, "one")
        assert await bot.reply_in(123) == "work-model: one"
        held = model.hold("two")
        bot.user_says(123, "two")
        await model.asked("two")
        await first.kill()
        held.set()
        await second.logged("ready")
        assert await bot.reply_in(123) == "work-model: two"
        bot.user_says(123, "three")
        assert await bot.reply_in(123) == "work-model: three"
        assert bot.texts(123) == [f"work-model: {word}" for word in ("one", "two", "three")]


async def test_frozen_daemon_is_followed_and_stands_by_when_it_wakes(tmp_path: Path) -> None:
    """The server ends the session of a daemon that gives no sign of life; it cannot write again."""
    async with pair(tmp_path) as (bot, _, first, second):
        bot.user_says(123, "one")
        assert await bot.reply_in(123) == "work-model: one"
        first.signal(signal.SIGSTOP)
        await second.logged("ready")
        bot.user_says(123, "two")
        assert await bot.reply_in(123) == "work-model: two"
        first.signal(signal.SIGCONT)
        await first.logged("standing_by")
        await second.kill()
        await first.logged("ready", 2)
        bot.user_says(123, "three")
        assert await bot.reply_in(123) == "work-model: three"
        assert bot.texts(123) == [f"work-model: {word}" for word in ("one", "two", "three")]


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
        bot.user_says(123, "hello")
        assert await bot.reply_in(123) == "work-model: hello"


async def test_lost_session_costs_no_message(tmp_path: Path) -> None:
    """The server ends all sessions again and again, as a restart of it does."""
    async with working(tmp_path) as (bot, _, _):
        for number in range(8):
            bot.user_says(123, f"m{number}")
            with psycopg.connect(database_of(tmp_path), autocommit=True) as session:
                session.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            assert await bot.reply_in(123) == f"work-model: m{number}"
        assert bot.texts(123) == [f"work-model: m{number}" for number in range(8)]
