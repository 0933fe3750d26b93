"""Withhold tools of MCP servers whose definition is not the pinned one.

Operators are notified once of each changed tool: in the log, in `orchestrator status`, and in the
chats that the ``costControls`` of its agents name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import apsw
import structlog

from orchestrator import chat_texts
from orchestrator.agentsfile import AgentsFile
from orchestrator.errors import JournalError
from orchestrator.journal.access import tool_pins
from orchestrator.journal.db.store import Store, report_failure
from orchestrator.journal.turns import outbox, pauses
from orchestrator.toolhost.wire import ServerTool
from orchestrator.tools.mcp.mcp_tools import name_for
from orchestrator.tools.policy import allowed

log = structlog.get_logger()


@dataclass
class ToolPins:
    """Compares the tools that servers list with the pins in the journal.

    ``clock`` returns milliseconds. ``notified`` is called when the outbox has a notice about a
    changed tool.
    """

    store: Store
    agents: Callable[[], AgentsFile]
    clock: Callable[[], int]
    notified: Callable[[], None]
    _lists: dict[str, tuple[ServerTool, ...]] = field(default_factory=dict, init=False)
    _unread: set[str] = field(default_factory=set, init=False)  # servers with a list to compare
    # Digests of usable tools by server.
    _accepted: dict[str, frozenset[str]] = field(default_factory=dict, init=False)

    def set_servers(self, lists: Mapping[str, tuple[ServerTool, ...]]) -> None:
        """Set the servers with pins, and the tools that each of them lists."""
        self._lists, self._unread = dict(lists), set(lists)

    def set_tools(self, server: str, tools: tuple[ServerTool, ...]) -> None:
        self._lists[server] = tools
        self._unread.add(server)

    def compared(self, server: str) -> bool:
        """Return whether a server's newest list has been compared with the pins."""
        return server not in self._unread

    def usable(self, server: str) -> tuple[ServerTool, ...]:
        """Return the tools of a server that equal their pins."""
        digests = self._accepted.get(server, frozenset())
        return tuple(tool for tool in self._lists[server] if tool.digest in digests)

    def withheld(self) -> dict[str, str]:
        """Return the changed tools: ``server/tool`` by their names for models."""
        return {
            name_for(server, tool.name): f"{server}/{tool.name}"
            for server, tools in self._lists.items()
            if self.compared(server)
            for tool in tools
            if tool not in self.usable(server)
        }

    def recheck(self) -> None:
        """Compare withheld tools again: the operator may have approved them."""
        self._unread |= {name.partition("/")[0] for name in self.withheld().values()}

    async def compare_new(self) -> bool:
        """Compare new lists with the pins; return whether there were any."""
        compared = False
        while self._unread:
            server = self._unread.pop()  # a list that arrives meanwhile is added again
            try:
                found = await self.store.transact(self._look, server, self._lists[server])
            except JournalError as error:
                report_failure(error)
                self._unread |= {server} & self._lists.keys()
                break
            compared = True
            self._accepted[server], changed = found
            for tool in changed:
                log.warning("mcp_tool_changed", server=server, tool=tool)
            if changed:
                self.notified()
        return compared

    def _look(
        self, db: apsw.Connection, server: str, tools: tuple[ServerTool, ...]
    ) -> tuple[frozenset[str], list[str]]:
        now = self.clock()
        listed = {tool.name: tool.digest for tool in reversed(tools)}  # the first of a name wins
        digests, changed = tool_pins.compare(db, server, listed, now)
        for tool in changed:
            self._notify(db, server, tool, now)
        return digests, changed

    def _notify(self, db: apsw.Connection, server: str, tool: str, now: int) -> None:
        name = name_for(server, tool)
        places = {}
        for agent in self.agents().agents:
            controls = agent.cost_controls
            if (
                controls is not None
                and controls.notify_channel is not None
                and controls.notify_chat_id is not None
                and allowed(name, agent.allowed_tools, agent.denied_tools)
            ):
                place = (controls.notify_channel, controls.notify_chat_id)
                places[place] = pauses.address(db, agent.agent_id, *place)
        for address in places.values():
            if address is not None:
                text = chat_texts.TOOL_CHANGED.format(tool=name, name=f"{server}/{tool}")
                outbox.add_notice(db, address, text, now)
