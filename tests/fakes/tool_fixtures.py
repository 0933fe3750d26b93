"""Fixtures of tests of tools: a journal and a call."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import open_turn, opened, store_in
from fakes.tool_call import tool_context

from orchestrator.journal.db.database import Database
from orchestrator.tools.builtin.host_tool import ToolContext


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with the open turn t1 of the agent ``work`` in chat 7."""
    with opened(tmp_path) as connection:
        open_turn(connection)
        yield connection


@pytest.fixture
def context(tmp_path: Path) -> Iterator[ToolContext]:
    """A call of that turn."""
    store = store_in(tmp_path)
    yield tool_context(store, tmp_path / "skills")
    store.close()
