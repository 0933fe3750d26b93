"""A daemon looks for pushed versions, and says what differs on its machine."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from anyio import to_thread
from fakes.time_limit import time_limit
from structlog.testing import capture_logs

from orchestrator.errors import JournalError
from orchestrator.extension import DaemonView, Part
from orchestrator.extensions.postgresql.extension import PostgresqlExtension
from orchestrator.extensions.postgresql.shared_config import config_follower
from orchestrator.extensions.postgresql.shared_config.config_follower import describe_differences
from orchestrator.extensions.postgresql.shared_config.config_placing import AppliedVersion
from orchestrator.extensions.postgresql.shared_config.pushed_config import PushedFile, PushedVersion
from orchestrator.journal_address import DatabaseServer
from orchestrator.settings import Settings

CONFIGURATION: Any = SimpleNamespace()  # what the daemon says of its own
A = PushedFile("agents.json", executable=False, data=b"{}")


class PushedStore:
    """A journal in which one version is the newest, or none."""

    def __init__(self, home: Path, *answers: Any) -> None:
        self.address = DatabaseServer("postgresql://x/y", home / "journal.db")
        self.answers = list(answers)
        self.asked: list[tuple[object, ...]] = []
        self.used_up = anyio.Event()

    async def read(self, work: Callable[..., object], *args: object) -> Any:
        """The next answer, or an error that is one."""
        assert work.__name__ == "load_newer_files"
        self.asked.append(args)
        if not self.answers:
            self.used_up.set()
            await anyio.sleep_forever()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Of an empty home."""
    found = Settings(home=tmp_path / "home")
    found.paths.create_directories()
    return found


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No look waits."""
    monkeypatch.setattr(config_follower, "LOOK", 0)


def make_view(store: Any, settings: Settings) -> DaemonView:
    """A daemon's view, of which a part of this extension needs no more."""
    unused: Any = None
    CONFIGURATION.problems, CONFIGURATION.fallen_back = [], False
    machine: Any = SimpleNamespace(in_thread=to_thread.run_sync)
    return DaemonView(
        settings=settings,
        environ={},
        store=store,
        machine=machine,
        configuration=CONFIGURATION,
        adapters={},
        stack=unused,
        tasks=unused,
        stopping=unused,
    )


async def follow(store: Any, settings: Settings) -> Part:
    """A follower that has got all answers."""
    follower = PostgresqlExtension().build_part(make_view(store, settings))
    assert follower is not None
    assert follower.list_hints() == ()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follower.run)
        with time_limit():
            await store.used_up.wait()
        tasks.cancel_scope.cancel()
    return follower


async def test_pushed_version_is_brought_and_asked_for_no_more(settings: Settings) -> None:
    """What is asked for is what differs from the version that the home has."""
    one = PushedVersion(1, "first", 0, "far")
    store = PushedStore(settings.home, (None, ()), (one, (A,)), (one, ()))
    follower = await follow(store, settings)
    assert (settings.home / "agents.json").read_bytes() == b"{}"
    assert store.asked == [(0, ""), (0, ""), (1, "first"), (1, "first")]
    assert follower.list_hints() == ()


async def test_home_to_which_nothing_was_pushed_keeps_its_files(settings: Settings) -> None:
    """And hears nothing of it."""
    (settings.home / "agents.json").write_text("own", "utf-8")
    follower = await follow(PushedStore(settings.home, (None, ()), (None, ())), settings)
    assert (settings.home / "agents.json").read_text("utf-8") == "own"
    assert follower.list_hints() == ()


async def test_local_edit_is_hinted_at_and_stays(settings: Settings) -> None:
    """Until the next version comes."""
    one = PushedVersion(1, "first", 0, "far")
    await follow(PushedStore(settings.home, (one, (A,))), settings)
    (settings.home / "agents.json").write_text("edited", "utf-8")
    follower = await follow(PushedStore(settings.home, (one, ()), (one, ())), settings)
    assert follower.list_hints() == (
        "agents.json differs from the pushed version 1; run: orchestrator config push",
    )
    assert (settings.home / "agents.json").read_text("utf-8") == "edited"


async def test_failure_is_told_once_and_tried_again(settings: Settings) -> None:
    """Of the database, and of what came from it."""
    one = PushedVersion(1, "first", 0, "far")
    broken = JournalError("the journal cannot be read")
    wrong = one, (A._replace(name="keys.env"),)
    store = PushedStore(settings.home, broken, broken, wrong, wrong)
    with capture_logs() as logs:
        follower = await follow(store, settings)
    problems = [line["problem"] for line in logs if line["event"] == "config_not_brought"]
    assert ["cannot be read" in problems[0], "'keys.env'" in problems[1]] == [True, True]
    assert len(problems) == 2
    assert follower.list_hints() == (problems[1],)
    follower = await follow(PushedStore(settings.home, (one, (A,))), settings)
    assert follower.list_hints() == ()


async def test_home_that_cannot_be_written_is_told_once(settings: Settings) -> None:
    """In the same words, although each try has a file of another name."""
    one = PushedVersion(1, "first", 0, "far")
    settings.paths.pushed.mkdir()
    store = PushedStore(settings.home, (one, (A,)), (one, (A,)))
    with capture_logs() as logs:
        follower = await follow(store, settings)
    problems = [line["problem"] for line in logs if line["event"] == "config_not_brought"]
    assert problems == list(follower.list_hints())
    assert f"{settings.home} cannot be written (Is a directory); free some space" in problems[0]


async def test_daemon_takes_agents_with_the_newest_version_alone(settings: Settings) -> None:
    """Not before it has looked, nor with files that it does not have or cannot use."""
    one, away = PushedVersion(1, "first", 0, "far"), JournalError("away")
    wrong = one, (A._replace(name="keys.env"),)
    unseen = PostgresqlExtension().build_part(make_view(PushedStore(settings.home), settings))
    follower = await follow(PushedStore(settings.home, (one, (A,)), away), settings)
    lacking = await follow(PushedStore(settings.home, (one, ()), wrong), settings)
    alone = await follow(PushedStore(settings.home, (None, ())), settings)
    found: list[Any] = [unseen, lacking, follower, alone]
    assert [one.is_usable() for one in found] == [False, False, True, True]
    CONFIGURATION.problems = [SimpleNamespace(severity="warning")]
    assert [one.is_usable() for one in found] == [False, False, True, True]
    CONFIGURATION.problems = [SimpleNamespace(severity="error")]  # such as a key that it lacks
    assert [one.is_usable() for one in found] == [False, False, False, True]
    CONFIGURATION.problems, CONFIGURATION.fallen_back = [], True
    assert [one.is_usable() for one in found] == [False, False, False, True]


def test_journal_in_a_file_is_not_looked_at(settings: Settings) -> None:
    """One machine has its own files."""
    store: Any = SimpleNamespace(address=settings.paths.journal)
    assert PostgresqlExtension().build_part(make_view(store, settings)) is None


def test_many_edits_make_one_hint(settings: Settings) -> None:
    """It names the first of them."""
    many = describe_differences(settings, AppliedVersion(version=3), ("a", "b", "c", "d", "e"))
    assert many == (
        "a, b, c and 2 more differ from the pushed version 3; run: orchestrator config push",
    )
    two = describe_differences(settings, AppliedVersion(version=3), ("a", "b"))
    assert two[0].startswith("a, b differ from")


def test_file_that_the_environment_names_is_told(settings: Settings, tmp_path: Path) -> None:
    """The pushed one has no effect."""
    named = settings.model_copy(update={"config": tmp_path / "x.json"})
    (told,) = describe_differences(named, AppliedVersion(version=3), ())
    assert "so the pushed agents.json is not used here; unset it" in told
