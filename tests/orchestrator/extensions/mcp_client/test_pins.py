"""Which listed tools may be used, and which chats are notified of changes."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from fakes.journal import store_in
from fakes.pins import silent_pins

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.channel_api import InboundMessage
from orchestrator.extensions.mcp_client.pins import ToolPins
from orchestrator.extensions.mcp_client.toolhost.wire import ServerTool
from orchestrator.journal.access import tool_pins
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import inbox, outbox
from orchestrator.journal.turns.inbox import Arrival

CONTROLS = {"notifyChannel": "telegram", "notifyChatId": "7"}


def agents() -> AgentsFile:
    """Two agents that notify chat 7, and one that may not use the server."""
    common = {"llmProvider": "demo", "costControls": CONTROLS}
    made = [
        {"agentId": "work", **common},
        {"agentId": "home", **common},
        {"agentId": "poor", "deniedTools": ["files_*"], **common},
    ]
    return AgentsFile(agents=tuple(map(AgentDefinition.model_validate, made)))


def tool(digest: str, name: str = "read") -> ServerTool:
    """A tool as its server lists it."""
    return ServerTool(name=name, description="", parameters={}, digest=digest)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A journal of its own."""
    opened = store_in(tmp_path)
    yield opened
    opened.close()


async def test_changed_tool_is_withheld_and_its_agents_chat_hears_of_it_once(store: Store) -> None:
    """Until it is approved; other tools of the server stay usable."""
    told: list[str] = []
    pins = ToolPins(store, agents, lambda: 0, lambda: told.append("told"))
    hello = InboundMessage("telegram", "b", "1", "1", "1", "hello")
    await store.transact(inbox.ingest, [Arrival(hello)], None, 0)  # so that the bot is known
    pins.set_servers({"files": (tool("a"),)}, {"files"})
    assert not pins.is_compared("files")
    assert pins.list_usable_tools("files") == ()
    assert await pins.compare_new_lists()
    assert pins.list_usable_tools("files") == (tool("a"),)
    pins.set_tools("files", (tool("x"), tool("b", "write")))
    assert pins.list_withheld_tools() == {}
    assert await pins.compare_new_lists()
    assert not await pins.compare_new_lists()
    assert pins.list_usable_tools("files") == (tool("b", "write"),)
    assert pins.list_withheld_tools() == {"files_read": "files/read"}
    assert told == ["told"]
    (notice,) = await store.transact(outbox.list_due_rows, "telegram")
    assert notice.chat_id == "7"
    assert "orchestrator tools approve files/read" in notice.body

    await store.transact(tool_pins.approve_tools, "files/read", "operator", 0)
    pins.recheck_withheld()
    assert await pins.compare_new_lists()
    assert pins.list_usable_tools("files") == (tool("x"), tool("b", "write"))
    assert told == ["told"]


async def test_list_that_is_being_compared_withholds_nothing(store: Store) -> None:
    """A full disk makes that take long; a call waits for it."""
    pins = ToolPins(store, agents, lambda: 0, lambda: None)
    pins.set_servers({"files": (tool("a"),)}, {"files"})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pins.compare_new_lists)
        await anyio.lowlevel.checkpoint()
        assert not pins.is_compared("files")
        assert pins.list_withheld_tools() == {}
    assert pins.is_compared("files")
    assert pins.list_usable_tools("files") == (tool("a"),)


async def test_second_tool_of_one_name_does_not_vouch_for_the_first(store: Store) -> None:
    """The catalogue takes the first, so the first is compared."""
    pins = silent_pins(store)
    pins.set_servers({"files": (tool("a"),)}, {"files"})
    await pins.compare_new_lists()
    pins.set_tools("files", (tool("x"), tool("a")))
    await pins.compare_new_lists()
    assert pins.list_usable_tools("files") == ()
    assert pins.list_withheld_tools() == {"files_read": "files/read"}


class Uncomparable(ServerTool):
    """A tool that fails when it is compared, which reads all of its schema."""

    def __eq__(self, other: object) -> bool:
        raise AssertionError(f"compared with {other!r}")

    __hash__ = None  # type: ignore[assignment] # as Python has it for a class with ``__eq__``


async def test_withheld_tools_are_found_without_comparing_whole_tools(store: Store) -> None:
    """A server with 500 changed tools would hold the event loop for longer each time."""
    pins = silent_pins(store)
    pins.set_servers({"files": (tool("a"),)}, {"files"})
    await pins.compare_new_lists()
    listed = (
        Uncomparable(name=name, description="", parameters={}, digest=name)
        for name in ("write", "read")
    )
    pins.set_tools("files", tuple(listed))
    await pins.compare_new_lists()
    assert pins.list_withheld_tools() == {"files_read": "files/read"}
