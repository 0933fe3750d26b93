"""What every test rests on."""

import os
from collections.abc import Iterator
from importlib import import_module
from inspect import iscoroutinefunction

import pytest
import sniffio
import structlog
from hypothesis import HealthCheck, settings

from orchestrator import loop_owned

pytest.register_assert_rewrite("fakes")
pytest_plugins = ("fakes.postgresql",)
loop_owned.switch_on()
os.environ["ORCHESTRATOR_DEBUG"] = "1"  # daemons of tests inherit it

# No input has a deadline and none is too slow to make: a starved machine is no failure. Properties
# may share a fixture between their inputs.
UNCHECKED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("thorough", deadline=None, suppress_health_check=UNCHECKED)
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


@pytest.fixture(autouse=True)
def _log_of_its_own() -> Iterator[None]:
    """No test inherits the log settings of a command that another one ran."""
    yield
    structlog.reset_defaults()


@pytest.fixture(autouse=True)
def _known_loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Say which event loop runs an async test.

    Where sniffio is installed (OpenAI's client brings it) anyio asks it. Under `anyio.run` it
    knows; pytest-asyncio's loop it does not recognise in a transport's callback.
    """
    if iscoroutinefunction(getattr(request, "function", None)):
        monkeypatch.setattr(sniffio.thread_local, "name", "asyncio")
