"""What every test rests on."""

import os
from collections.abc import Iterator
from inspect import iscoroutinefunction

import pytest
import sniffio
import structlog
from hypothesis import HealthCheck, settings

from orchestrator import loop_owned

pytest.register_assert_rewrite("fakes")
loop_owned.switch_on()
os.environ["ORCHESTRATOR_DEBUG"] = "1"  # daemons of tests inherit it

# No input has a deadline and none is too slow to make: a starved machine is no failure. Properties
# may share a fixture between their inputs.
UNCHECKED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("thorough", deadline=None, suppress_health_check=UNCHECKED)
settings.register_profile("fast", settings.get_profile("thorough"), max_examples=20)
settings.load_profile("fast")


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
