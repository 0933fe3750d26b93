"""What every test rests on."""

import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from inspect import iscoroutinefunction
from pathlib import Path

import pytest

from orchestrator import loop_bound

pytest.register_assert_rewrite("fakes")
pytest_plugins = ("fakes.postgresql",)
loop_bound.enable_check()
os.environ["ORCHESTRATOR_DEBUG"] = "1"  # daemons of tests inherit it


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Prepare the profile that hypothesis' plugin is asked for by name."""
    if config.getoption("--hypothesis-profile"):
        _load_profiles()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file of which no test is chosen; most of what collecting takes is imports."""
    chosen = config.option.markexpr
    if "thorough" not in chosen or not collection_path.name.startswith("test_"):
        return None
    text = collection_path.read_text("utf-8")
    if chosen == "not thorough":
        return (
            bool(re.search(r"^pytestmark = [^\n]*(\n    [^\n]*)*thorough", text, re.MULTILINE))
            or None
        )
    parts = re.findall(r"thorough\(part='(\w+)'\)", chosen)
    found = any(f'thorough(part="{part}")' in text for part in parts) or "hypothesis" in chosen
    return None if found or not parts else True


def pytest_pycollect_makemodule(module_path: Path) -> None:
    """Import hypothesis for a module that has properties; it takes as long as pytest itself."""
    if b"hypothesis" in module_path.read_bytes():
        _load_profiles()


@cache
def _load_profiles() -> None:
    """Choose how many inputs each property gets, unless a profile was asked for by name.

    No input has a deadline and none is too slow to make: a starved machine is no failure.
    Properties may share a fixture between their inputs.
    """
    from hypothesis import HealthCheck, settings  # noqa: PLC0415 - see above

    unchecked = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    settings.register_profile("thorough", deadline=None, suppress_health_check=unchecked)
    settings.register_profile("fast", settings.get_profile("thorough"), max_examples=20)
    settings.load_profile("fast")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that take longest, so that at the end nothing waits for one of them.

    At first each worker gets an equal share of the list, in order.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    long = [item for item in items if item.get_closest_marker("long")]
    others = [item for item in items if not item.get_closest_marker("long")]
    left = len(items)
    items.clear()
    for worker in range(workers):
        first, share = long[worker::workers], left // (workers - worker)
        rest = max(share - len(first), 0)
        items += [*first, *others[:rest]]
        del others[:rest]
        left -= len(first) + rest


@pytest.fixture(params=["at once", "later"])
def reads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads of journals, which end at once or after other tasks have run."""
    if request.param == "later":
        _suspend_reads(monkeypatch)


@pytest.fixture(autouse=True)
def _all_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``SUSPENDING_READS`` in the environment, all reads of all tests end later."""
    if os.environ.get("SUSPENDING_READS"):
        _suspend_reads(monkeypatch)


def _suspend_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = import_module("fakes.suspending_reads").SuspendingReader  # few tests need a journal
    monkeypatch.setattr("orchestrator.journal.db.sqlite_storage.JournalReader", reader)


@pytest.fixture(autouse=True, scope="session")
def _watched_journals() -> Iterator[list[str]]:
    yield from import_module("fakes.statement_plans").watch_connections()


@pytest.fixture(autouse=True)
def _no_statement_reads_all(_watched_journals: list[str]) -> Iterator[None]:
    """No statement that a test lets the daemon's writer or event loop run reads a whole table."""
    _watched_journals.clear()
    yield
    assert _watched_journals == []


@pytest.fixture(autouse=True)
def _log_of_its_own() -> Iterator[None]:
    """No test inherits the log settings of a command that another one ran."""
    yield
    if "structlog" in sys.modules:
        import_module("structlog").reset_defaults()


@pytest.fixture(autouse=True)
def _known_loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Say which event loop runs an async test.

    Where sniffio is installed (OpenAI's client brings it) anyio asks it. Under `anyio.run` it
    knows; pytest-asyncio's loop it does not recognise in a transport's callback.
    """
    if iscoroutinefunction(getattr(request, "function", None)):
        monkeypatch.setattr("sniffio.thread_local.name", "asyncio")
