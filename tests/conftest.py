"""What every test rests on."""

from inspect import iscoroutinefunction

import pytest
import sniffio


@pytest.fixture(autouse=True)
def _known_loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Say which event loop runs an async test.

    Where sniffio is installed (OpenAI's client brings it) anyio asks it. Under `anyio.run` it
    knows; pytest-asyncio's loop it does not recognise in a transport's callback.
    """
    if iscoroutinefunction(getattr(request, "function", None)):
        monkeypatch.setattr(sniffio.thread_local, "name", "asyncio")
