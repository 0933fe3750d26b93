"""Fixtures of all tests of media."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import store_in
from fakes.tool_call import tool_context

from orchestrator.tools.builtin.host_tool import ToolContext


@pytest.fixture
def context(tmp_path: Path) -> Iterator[ToolContext]:
    """A call of the turn t1 of the agent ``work`` in chat 7."""
    store = store_in(tmp_path)
    yield tool_context(store, tmp_path / "skills")
    store.close()
