"""What every test rests on."""

from inspect import iscoroutinefunction

import pytest
import sniffio
from hypothesis import HealthCheck, settings

# No input has a deadline and none is too slow to make: a starved machine is no failure. Properties
# may share a fixture between their inputs.
UNCHECKED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("thorough", deadline=None, suppress_health_check=UNCHECKED)
settings.register_profile("fast", settings.get_profile("thorough"), max_examples=20)
settings.load_profile("fast")


@pytest.fixture(autouse=True)
def _known_loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Say which event loop runs an async test.

    Where sniffio is installed (OpenAI's client brings it) anyio asks it. Under `anyio.run` it
    knows; pytest-asyncio's loop it does not recognise in a transport's callback.
    """
    if iscoroutinefunction(getattr(request, "function", None)):
        monkeypatch.setattr(sniffio.thread_local, "name", "asyncio")
