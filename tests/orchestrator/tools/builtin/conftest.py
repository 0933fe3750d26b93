"""Fixtures of all tests of built-in tools."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from fakes.journal import open_turn, opened
from fakes.tool_call import tool_context

from orchestrator.journal.db.store import Store
from orchestrator.tools.builtin.host_tool import ToolContext


@pytest.fixture
def db(tmp_path: Path) -> Iterator[apsw.Connection]:
    """A journal with the open turn t1 of the agent ``work`` in chat 7."""
    with opened(tmp_path) as connection:
        open_turn(connection)
        yield connection


@pytest.fixture
def context(tmp_path: Path) -> Iterator[ToolContext]:
    """A call of that turn."""
    store = Store(tmp_path / "journal.db")
    yield tool_context(store, tmp_path / "skills")
    store.close()
