"""Which tools of MCP servers may be used: those whose definition is the one that was pinned.

Operators hear once of each that has changed: in the log, by `orchestrator status`, and in the chats
that the ``costControls`` of its agents name.
"""

from collections.abc import Callable, Mapping

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


class ToolPins:
    """Knows what servers list and which of it may be used. ``clock`` tells milliseconds.

    ``told`` is called when the outbox has a notice about a tool that has changed.
    """

    def __init__(
        self,
        store: Store,
        agents: Callable[[], AgentsFile],
        clock: Callable[[], int],
        told: Callable[[], None],
    ) -> None:
        self._store = store
        self._agents = agents
        self._clock = clock
        self._notified = told
        self._lists: dict[str, tuple[ServerTool, ...]] = {}
        self._unread: set[str] = set()  # servers whose newest list was not compared with the pins
        self._accepted: dict[str, frozenset[str]] = {}  # digests by server

    def follow(self, lists: Mapping[str, tuple[ServerTool, ...]]) -> None:
        """These are the servers with pins, and what each of them lists now."""
        self._lists, self._unread = dict(lists), set(lists)

    def listed(self, server: str, tools: tuple[ServerTool, ...]) -> None:
        """One of them lists something else now."""
        self._lists[server] = tools
        self._unread.add(server)

    def compared(self, server: str) -> bool:
        """Whether what a server lists was compared with the pins."""
        return server not in self._unread

    def usable(self, server: str) -> tuple[ServerTool, ...]:
        """Those of a server's tools that were found to be as they were pinned."""
        digests = self._accepted.get(server, frozenset())
        return tuple(tool for tool in self._lists[server] if tool.digest in digests)

    def withheld(self) -> dict[str, str]:
        """The tools that have changed: ``server/tool`` by their names for models."""
        return {
            name_for(server, tool.name): f"{server}/{tool.name}"
            for server, tools in self._lists.items()
            if self.compared(server)
            for tool in tools
            if tool not in self.usable(server)
        }

    def recheck(self) -> None:
        """The operator may have approved tools."""
        self._unread |= {name.partition("/")[0] for name in self.withheld().values()}

    async def read(self) -> bool:
        """Compare what was not compared yet with the pins; whether anything was."""
        news = False
        while self._unread:
            server = self._unread.pop()  # a list that comes meanwhile is another one
            try:
                found = await self._store.transact(self._look, server, self._lists[server])
            except JournalError as error:
                report_failure(error)
                self._unread |= {server} & self._lists.keys()
                break
            news = True
            self._accepted[server], changed = found
            for tool in changed:
                log.warning("mcp_tool_changed", server=server, tool=tool)
            if changed:
                self._notified()
        return news

    def _look(
        self, db: apsw.Connection, server: str, tools: tuple[ServerTool, ...]
    ) -> tuple[frozenset[str], list[str]]:
        now = self._clock()
        listed = {tool.name: tool.digest for tool in reversed(tools)}  # the first of a name counts
        digests, changed = tool_pins.compare(db, server, listed, now)
        for tool in changed:
            self._tell(db, server, tool, now)
        return digests, changed

    def _tell(self, db: apsw.Connection, server: str, tool: str, now: int) -> None:
        name = name_for(server, tool)
        places = {}
        for agent in self._agents().agents:
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
