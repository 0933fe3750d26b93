"""Remember the tools of MCP servers, and withhold those whose definition has changed.

Operators are notified once of each changed tool: in the log, in `orchestrator status`, and in the
chats that the ``costControls`` of its agents name.

Where: is a changed MCP tool withheld?
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import structlog
from pydantic import ValidationError

from orchestrator import chat_texts
from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.errors import JournalError
from orchestrator.extensions.mcp_client import tool_lists
from orchestrator.extensions.mcp_client.mcp_tools import name_tools
from orchestrator.extensions.mcp_client.tool_changes import keep_definitions
from orchestrator.extensions.mcp_client.tool_lists import TOOLS
from orchestrator.extensions.mcp_client.toolhost.wire import ServerTool
from orchestrator.journal.access import tool_pins
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store, report_failure
from orchestrator.journal.turns import outbox
from orchestrator.loop_bound import LoopBound
from orchestrator.spending.operator_chat import find_operator_chat
from orchestrator.tools.policy import is_tool_allowed

log = structlog.get_logger()


@dataclass
class ToolPins(LoopBound):
    """Compares the tools that servers list with the pins in the journal.

    ``clock`` returns milliseconds. ``notified`` is called when the outbox has a notice about a
    changed tool.
    """

    store: Store
    agents: Callable[[], AgentsFile]
    clock: Callable[[], int]
    notified: Callable[[], None]
    # The names for models of the tools that came later than their servers.
    new_tools: frozenset[str] = field(default=frozenset(), init=False)
    _lists: dict[str, tuple[ServerTool, ...]] = field(default_factory=dict, init=False)
    _pinned: Collection[str] = field(default=(), init=False)
    _shared: Collection[str] = field(default=(), init=False)
    _unread: set[str] = field(default_factory=set, init=False)  # servers with a list to compare
    _comparing: set[str] = field(default_factory=set, init=False)  # while the journal is written
    # Digests of usable tools by server.
    _accepted: dict[str, frozenset[str]] = field(default_factory=dict, init=False)
    _fresh: dict[str, list[str]] = field(default_factory=dict, init=False)  # tools by server

    async def load_remembered_tools(self) -> dict[str, tuple[ServerTool, ...]]:
        """Return the tools that each server listed last, even before a restart."""
        try:
            found = await self.store.read(tool_lists.load_tool_lists)
            return {server: TOOLS.validate_json(tools) for server, tools in found.items()}
        except JournalError as error:
            report_failure(error)
        except ValidationError as error:  # of another version; the servers list them again
            log.warning("tool_lists_unreadable", problem=str(error))
        return {}

    def set_servers(
        self,
        lists: Mapping[str, tuple[ServerTool, ...]],
        pinned: Collection[str],
        shared: Collection[str] = (),
    ) -> None:
        """Set the servers with the tools that each of them lists, and which of them have pins.

        ``shared`` are those whose names are before the names of their tools.
        """
        self._lists, self._pinned, self._unread = dict(lists), pinned, set(lists)
        self._shared = shared
        self._find_new_tools()

    def set_tools(self, server: str, tools: tuple[ServerTool, ...]) -> None:
        self._lists[server] = tools
        self._unread.add(server)

    @property
    def has_unread_lists(self) -> bool:
        """Whether there are lists that have not been compared."""
        return bool(self._unread)

    def is_compared(self, server: str) -> bool:
        """Return whether the tools of a server's newest list can be used."""
        return server not in self._unread | self._comparing or server not in self._pinned

    def list_usable_tools(self, server: str) -> tuple[ServerTool, ...]:
        """Return the tools of a server that match their pins, or all tools without pins."""
        if server not in self._pinned:
            return self._lists[server]
        digests = self._accepted.get(server, frozenset())
        return tuple(tool for tool in self._lists[server] if tool.digest in digests)

    def list_all_tools(self) -> Mapping[str, tuple[ServerTool, ...]]:
        """Return each server's newest list, also of tools that are withheld."""
        return self._lists

    def _name_tools(self, server: str) -> dict[str, str]:
        """Return the names for models of a server's tools."""
        tools = [*self._fresh.get(server, ()), *(tool.name for tool in self._lists[server])]
        return name_tools(server, tools, self._shared)

    def _find_new_tools(self) -> None:
        names = {
            server: self._name_tools(server) for server in self._fresh if server in self._lists
        }
        found = frozenset(
            name
            for server in names
            for tool in self._fresh[server]
            if (name := names[server][tool])
        )
        if found != self.new_tools:
            self.new_tools = found

    def list_withheld_tools(self) -> dict[str, str]:
        """Return the changed tools as ``server/tool``, keyed by their names for models."""
        return {
            name: f"{server}/{tool.name}"
            for server, tools in self._lists.items()
            if server in self._pinned and self.is_compared(server)
            for names in (self._name_tools(server),)
            for tool in tools
            if tool.digest not in self._accepted.get(server, ()) and (name := names[tool.name])
        }

    def recheck_withheld(self) -> None:
        """Compare withheld tools again: the operator may have approved them."""
        self._unread |= {name.partition("/")[0] for name in self.list_withheld_tools().values()}
        self._unread |= {server for server, tools in self._fresh.items() if tools} & {*self._lists}

    async def compare_new_lists(self) -> bool:
        """Remember new lists and compare them with the pins; return whether there were any."""
        compared = False
        while self._unread:
            server = self._unread.pop()  # a list that arrives meanwhile is added again
            tools, pinned = self._lists[server], server in self._pinned
            new = _NewList(server, tools, pinned, self._name_tools(server))
            agents, now = self.agents().agents, self.clock()
            self._comparing.add(server)
            try:
                found = await self.store.transact(_compare_list, new, agents, now)
            except JournalError as error:
                report_failure(error)
                self._unread |= {server} & self._lists.keys()
                break
            finally:
                self._comparing.remove(server)
            compared = True
            self._accepted[server], changed, self._fresh[server] = found
            self._find_new_tools()
            for tool in changed:
                log.warning("mcp_tool_changed", server=server, tool=tool)
            if changed:
                self.notified()
        return compared


@dataclass(frozen=True)
class _NewList:
    """A list to compare; ``names`` are the names for models."""

    server: str
    tools: tuple[ServerTool, ...]
    pinned: bool
    names: Mapping[str, str]


def _compare_list(
    db: Database, new: _NewList, agents: tuple[AgentDefinition, ...], now: int
) -> tuple[frozenset[str], list[str], list[str]]:
    """Remember a list.

    Returns the digests that are trusted, the tools found changed, and the tools that came later.
    """
    server = new.server
    if new.tools:
        tool_lists.store_tool_list(db, server, TOOLS.dump_json(new.tools).decode(), now)
    if not new.pinned:
        return frozenset(), [], []
    tools = {tool.name: tool for tool in reversed(new.tools)}  # the first of a name wins
    listed = {name: tool.digest for name, tool in tools.items()}
    digests, changed = tool_pins.compare_with_pins(db, server, listed, now)
    keep_definitions(db, server, tools, digests)
    for tool in changed:
        _notify_of_change(db, new.names[tool], f"{server}/{tool}", agents, now)
    return digests, changed, tool_pins.list_unapproved_tools(db, server)


def _notify_of_change(
    db: Database, name: str, full_name: str, agents: tuple[AgentDefinition, ...], now: int
) -> None:
    places = {
        find_operator_chat(db, agent)
        for agent in agents
        if is_tool_allowed(name, agent.allowed_tools, agent.denied_tools)
    }
    text = chat_texts.TOOL_CHANGED.format(tool=name, name=full_name)
    for address in filter(None, places):
        outbox.add_notice(db, address, text, now)
