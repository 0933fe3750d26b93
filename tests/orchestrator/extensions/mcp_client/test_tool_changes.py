"""A changed tool is shown as it was approved and as its server lists it now."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import store_in

from orchestrator.agentsfile import AgentsFile
from orchestrator.extensions.mcp_client.pins import ToolPins
from orchestrator.extensions.mcp_client.tool_changes import (
    MAX_KEPT,
    MAX_SHOWN,
    ToolChange,
    format_change,
    load_changes,
)
from orchestrator.extensions.mcp_client.toolhost.wire import ServerTool
from orchestrator.journal.access import tool_pins
from orchestrator.journal.db.store import Store


def tool(digest: str, text: str, name: str = "read") -> ServerTool:
    """A tool as its server lists it."""
    return ServerTool(name=name, description=text, parameters={"type": digest}, digest=digest)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A journal of its own."""
    opened = store_in(tmp_path)
    yield opened
    opened.close()


async def listed(store: Store, *tools: ServerTool) -> tuple[ToolChange, ...]:
    """The changes after the server "files" has listed these tools."""
    pins = ToolPins(store, lambda: AgentsFile.model_construct(agents=()), lambda: 0, lambda: None)
    pins.set_servers({"files": tools}, {"files"})
    await pins.compare_new_lists()
    return (await store.read(load_changes)).tools


async def test_changed_tool_has_its_old_and_its_new_text(store: Store) -> None:
    """After the approval the new one is the old one of the next change."""
    assert await listed(store, tool("a", "Read.")) == ()
    (change,) = await listed(store, tool("b", "Read all."))
    assert (change.name, change.seen, change.late) == ("files/read", "b", False)
    assert change.old is not None
    assert change.new is not None
    assert (change.old.description, change.new.description) == ("Read.", "Read all.")
    assert '"type": "a"' in change.old.parameters
    assert {"  -Read.", "  +Read all."} <= {*format_change(change)}
    await store.transact(tool_pins.approve_tools, "files/read", "operator", 1)
    assert await listed(store, tool("b", "Read all.")) == ()
    (change,) = await listed(store, tool("c", "Read none."))
    assert change.old is not None
    assert change.old.description == "Read all."


async def test_past_that_was_not_recorded_is_said_so(store: Store) -> None:
    """A journal of an earlier version has digests alone, and a huge definition is not kept."""
    await listed(store, tool("a", "x" * MAX_KEPT))
    (change,) = await listed(store, tool("b", "x" * MAX_KEPT))
    assert change.old is None
    assert change.new is not None
    assert change.new.description.startswith("x" * MAX_SHOWN + "\n[cut: ")
    assert "not recorded" in next(format_change(change))


async def test_later_tool_is_shown_whole(store: Store) -> None:
    """One that its server lists no more has no text."""
    await listed(store, tool("a", "Read."))
    (change,) = await listed(store, tool("a", "Read."), tool("w", "Write.", "write"))
    assert (change.name, change.late, change.old) == ("files/write", True, None)
    assert "  +Write." in [*format_change(change)]
    (change,) = await listed(store, tool("a", "Read."))
    assert change.new is None
    assert "does not list it now" in "".join(format_change(change))
