"""The servers of this machine's models in a daemon: when one that could not run is tried again."""

from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from fakes.agents_file import parsed
from fakes.time_limit import time_limit

from orchestrator.extensions.local_model import served_programs
from orchestrator.extensions.local_model.server_part import LocalModelPart

USED = {
    "agentId": "home",
    "llmProvider": "ollama",
    "model": "m",
    "embeddings": {"provider": "local-embeddings", "model": "e"},
}


async def test_reload_looks_again_for_what_was_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is the same, and what it needs has been installed meanwhile."""
    monkeypatch.setattr(served_programs, "ENGINE", "not_there_at_all")
    file = parsed(USED).file
    daemon: Any = SimpleNamespace(
        get_agents_file=lambda: file, settings=SimpleNamespace(home=None), environ={}
    )
    part = LocalModelPart(daemon)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(part.run)
        await anyio.wait_all_tasks_blocked()
        (hint,) = part.list_hints()
        assert hint.startswith("local embeddings: not_there_at_all is not installed; run: ")
        monkeypatch.setattr(served_programs, "ENGINE", "nor_this_one")
        part.adopt_configuration(file, file)
        with time_limit():
            while part.list_hints() == (hint,):
                await anyio.lowlevel.checkpoint()
        (hint,) = part.list_hints()
        assert hint.startswith("local embeddings: nor_this_one is not installed")
        tasks.cancel_scope.cancel()
