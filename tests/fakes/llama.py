"""A real model behind a real llama.cpp server: SmolLM2-135M with a window of 2,048 tokens.

Both are packages that ``scripts/test --thorough=local_model`` installs where it can.
"""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from subprocess import DEVNULL, PIPE

import anyio
import pytest
from anyio.abc import Process
from fakes.small_environment import ROOT
from fakes.time_limit import time_limit

from orchestrator.extensions.local_model.llama_server import LIBRARY
from orchestrator.extensions.local_model.model_settings import FOLDER, USUAL
from orchestrator.testing.loopback import find_free_port

HOME = ROOT / ".venv" / "local-model"  # where scripts/test puts the model
MODEL = HOME / FOLDER / USUAL
WINDOW, THREADS = 2048, 2
needs_model = pytest.mark.skipif(
    find_spec(LIBRARY) is None or not MODEL.is_file(),
    reason="llama.cpp or its model is missing: .venv/bin/pip install xllamacpp;"
    " .venv/bin/orchestrator local-model --home .venv/local-model",
)


class LlamaServer:
    """The server's process, on the same port after each start."""

    def __init__(self) -> None:
        self.port = find_free_port()
        self._process: Process | None = None

    async def start(self) -> None:
        """Start it, and wait until it has loaded its model."""
        numbers = map(str, (self.port, WINDOW, THREADS))
        command = [sys.executable, "-P", "-m", "orchestrator.extensions.local_model.llama_server"]
        self._process = await anyio.open_process(
            [*command, str(MODEL), *numbers], stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL
        )
        with time_limit():
            while not await self._is_ready():
                assert self._process.returncode is None, "the server ended"
                await anyio.lowlevel.checkpoint()

    async def kill(self) -> None:
        """``kill -9``, in the middle of whatever it does."""
        assert self._process is not None
        self._process.kill()
        await self._process.wait()
        await self._process.aclose()

    async def _is_ready(self) -> bool:
        try:
            async with await anyio.connect_tcp("127.0.0.1", self.port) as stream:
                await stream.send(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                return b" 200 " in await stream.receive()
        except (OSError, anyio.EndOfStream, anyio.BrokenResourceError):
            return False


@asynccontextmanager
async def llama_server() -> AsyncIterator[LlamaServer]:
    """A server that has loaded its model."""
    server = LlamaServer()
    await server.start()
    try:
        yield server
    finally:
        with anyio.CancelScope(shield=True):
            await server.kill()
